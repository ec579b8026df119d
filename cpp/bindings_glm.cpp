#include "bindings.hpp"

namespace ensample {
namespace {

// Functions of math.hpp and random.hpp by themselves, for tests/core/test_math.py and test_random.py.

template <MathFunction function>
void evaluate(Array1<const double> values, Array1<double> out) {
  require(out.size() == values.size(), "out", "an array of the same size as `values`");
  KernelScope scope;
  kernels->glm.evaluate(function, span_of(values), span_of(out));
}

template <Draw distribution>
void draw(nb::object rng, Array1<double> out) {
  const Generator generator = generator_of(rng);
  require(generator.bits != nullptr, "rng", "a numpy.random.Generator");
  KernelScope scope;
  kernels->glm.draw(distribution, 0, generator, span_of(out));
}

void draw_binomial(nb::object rng, std::int64_t trials, Array1<double> out) {
  require(trials >= 0 && trials < std::int64_t{1} << 52, "trials", "a number from 0 to 2^52");
  const Generator generator = generator_of(rng);
  require(generator.bits != nullptr, "rng", "a numpy.random.Generator");
  KernelScope scope;
  kernels->glm.draw(Draw::binomial_half, trials, generator, span_of(out));
}

}  // namespace

void bind_glm(nb::module_& module) {
  module.def("exp", &evaluate<MathFunction::exp>, "values"_a, "out"_a);
  module.def("expm1", &evaluate<MathFunction::expm1>, "values"_a, "out"_a);
  module.def("log", &evaluate<MathFunction::log>, "values"_a, "out"_a);
  module.def("log1p", &evaluate<MathFunction::log1p>, "values"_a, "out"_a);
  module.def("log2", &evaluate<MathFunction::log2>, "values"_a, "out"_a);
  module.def("tanh", &evaluate<MathFunction::tanh>, "values"_a, "out"_a);
  module.def("draw_uniform", &draw<Draw::uniform>, "rng"_a, "out"_a, "Draw numbers of [0, 1).");
  module.def("draw_normal", &draw<Draw::normal>, "rng"_a, "out"_a, "Draw standard normal numbers.");
  module.def("draw_binomial", &draw_binomial, "rng"_a, "trials"_a, "out"_a, "Draw heads among `trials` of a coin.");
}

}  // namespace ensample
