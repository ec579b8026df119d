// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "newton.hpp"
#include "stream.hpp"

namespace ensample::ENSAMPLE_LEVEL {
namespace {

template <class Function>
void apply(Function function, ConstVector values, Vector out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(values[i]);
}

void evaluate(MathFunction function, ConstVector values, Vector out) {
  switch (function) {
    case MathFunction::exp:
      return apply([](double x) { return exp(x); }, values, out);
    case MathFunction::expm1:
      return apply([](double x) { return expm1(x); }, values, out);
    case MathFunction::log:
      return apply([](double x) { return log(x); }, values, out);
    case MathFunction::log1p:
      return apply([](double x) { return log1p(x); }, values, out);
    case MathFunction::log2:
      return apply([](double x) { return log2(x); }, values, out);
    case MathFunction::tanh:
      return apply([](double x) { return tanh(x); }, values, out);
  }
}

void draw(Draw distribution, std::int64_t trials, Generator rng, Vector out) {
  switch (distribution) {
    case Draw::uniform:
      for (double& value : out) value = rng.uniform();
      return;
    case Draw::normal:
      for (double& value : out) value = rng.normal();
      return;
    case Draw::binomial_half:
      for (double& value : out) value = static_cast<double>(rng.binomial_half(trials));
      return;
  }
}

void link_means(Link link, ConstVector predictors, Vector means) {
  for (std::size_t k = 0; k < means.size(); ++k) means[k] = link_mean(link, predictors[k]);
}

void link_slopes(Link link, ConstVector predictors, Vector slopes) {
  for (std::size_t k = 0; k < slopes.size(); ++k) slopes[k] = link_slope(link, predictors[k]);
}

void predict_alone(Matrix state, ConstVector x, double& predictor, double& leverage) {
  const auto found = predict(RidgeState(state), x);
  predictor = found.predictor, leverage = found.leverage;
}

}  // namespace

extern const GlmKernels glm_kernels;
const GlmKernels glm_kernels{
    .evaluate = evaluate,
    .draw = draw,
    .link_means = link_means,
    .link_slopes = link_slopes,
    .implicit_step = implicit_step,
    .predict = predict_alone,
    .minimise = minimise,
    .newton_step = newton_step,
    .set_hessian = set_hessian,
};

}  // namespace ensample::ENSAMPLE_LEVEL
