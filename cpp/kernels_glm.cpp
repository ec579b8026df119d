// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "newton.hpp"
#include "stream.hpp"

namespace ensample::ENSAMPLE_LEVEL {
namespace {

void evaluate(MathFunction function, ConstVector values, Vector out) {
  constexpr double (*functions[])(double) = {exp, expm1, log, log1p, log2, tanh};  // in the order of MathFunction
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = functions[static_cast<int>(function)](values[i]);
}

void draw(Draw distribution, std::int64_t trials, Generator rng, Vector out) {
  if (distribution == Draw::normal)
    for (double& value : out) value = rng.normal();
  else
    for (double& value : out) value = distribution == Draw::uniform ? rng.uniform() : static_cast<double>(rng.binomial_half(trials));
}

void link_means(Link link, ConstVector predictors, Vector means) {
  for (std::size_t k = 0; k < means.size(); ++k) means[k] = link_mean(link, predictors[k]);
}

void link_slopes(Link link, ConstVector predictors, Vector slopes) {
  for (std::size_t k = 0; k < slopes.size(); ++k) slopes[k] = link_slope(link, predictors[k]);
}

}  // namespace

extern const GlmKernels glm_kernels;
const GlmKernels glm_kernels{
    .evaluate = evaluate,
    .draw = draw,
    .link_means = link_means,
    .link_slopes = link_slopes,
    .implicit_step = implicit_step,
    .predict = [](Matrix state, ConstVector x) { return predict(RidgeState(state), x); },
    .minimise = minimise,
    .newton_step = newton_step,
    .set_hessian = set_hessian,
};

}  // namespace ensample::ENSAMPLE_LEVEL
