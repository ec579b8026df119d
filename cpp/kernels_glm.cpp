// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "glm_kernels.hpp"

#include "math.hpp"

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

}  // namespace

extern const GlmKernels glm_kernels;
const GlmKernels glm_kernels{evaluate, draw};

}  // namespace ensample::ENSAMPLE_LEVEL
