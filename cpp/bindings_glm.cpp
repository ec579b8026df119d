#include "bindings_linear.hpp"

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

using Floats1 = Array1<const double>;
using Floats2 = Array2<const double>;

template <class Kernel>
nb::object each_of(std::int64_t code, const Floats1& predictors, Kernel kernel) {
  const Link link = link_of(code);
  NewArray<double, 1> out(predictors.shape[0]);
  {
    KernelScope scope;
    kernel(link, span_of(predictors), span_of(out.view));
  }
  return out.object;
}

nb::object link_means(std::int64_t link, Floats1 predictors) { return each_of(link, predictors, kernels->glm.link_means); }
nb::object link_slopes(std::int64_t link, Floats1 predictors) { return each_of(link, predictors, kernels->glm.link_slopes); }

double implicit_step(std::int64_t link, double predictor, double leverage, double y) {
  // A few operations on numbers: this keeps the GIL.
  return kernels->glm.implicit_step(link_of(link), predictor, leverage, y);
}

nb::tuple predict(Array2<double> state, Floats1 x) {
  require(x.shape[0] == dim_of_state(state), "x", "one number for each feature of the state");
  double predictor, leverage;
  {
    KernelScope scope;
    kernels->glm.predict(view_of(state), span_of(x), predictor, leverage);
  }
  return nb::make_tuple(predictor, leverage);
}

Loss loss_of(const Floats2& rows, const Floats1& counts, const Floats1& totals, const Floats1& prior, const Floats1& shift) {
  const std::size_t n = rows.shape[0], d = rows.shape[1];
  require(d > 0, "rows", "features [n, d]");
  require(counts.shape[0] == n, "counts", "one number for each row");
  require(totals.shape[0] == n, "totals", "one number for each row");
  require(prior.shape[0] == d, "prior", "one number for each feature");
  require(shift.shape[0] == d, "shift", "one number for each feature");
  return {view_of(rows), span_of(counts), span_of(totals), span_of(prior), span_of(shift)};
}

bool minimise(std::int64_t code, Floats2 rows, Floats1 counts, Floats1 totals, Floats1 prior, Floats1 shift, double tolerance,
              Array1<double> theta) {
  const Link link = link_of(code);
  const Loss loss = loss_of(rows, counts, totals, prior, shift);
  require(theta.shape[0] == rows.shape[1], "theta", "one number for each feature");
  KernelScope scope;
  return kernels->glm.minimise(link, loss, tolerance, span_of(theta));
}

double newton_step(Floats2 rows, Floats1 counts, Floats1 totals, Floats1 prior, Floats1 shift, Floats1 theta, Floats1 means,
                   Floats1 slopes, Array1<double> step) {
  const Loss loss = loss_of(rows, counts, totals, prior, shift);
  require(theta.shape[0] == rows.shape[1], "theta", "one number for each feature");
  require(means.shape[0] == rows.shape[0], "means", "one number for each row");
  require(slopes.shape[0] == rows.shape[0], "slopes", "one number for each row");
  require(step.shape[0] == rows.shape[1], "step", "one number for each feature");
  KernelScope scope;
  return kernels->glm.newton_step(loss, span_of(theta), span_of(means), span_of(slopes), span_of(step));
}

nb::object hessian(Floats2 rows, Floats1 counts, Floats1 slopes, Floats1 prior) {
  const Loss loss = loss_of(rows, counts, counts, prior, prior);
  require(slopes.shape[0] == rows.shape[0], "slopes", "one number for each row");
  NewArray<double, 2> out(rows.shape[1], rows.shape[1]);
  {
    KernelScope scope;
    kernels->glm.set_hessian(loss, span_of(slopes), view_of(out.view));
  }
  return out.object;
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

  module.def("link_means", &link_means, "link"_a, "predictors"_a, "Return A' at linear predictors [n]: the means of rewards.");
  module.def("link_slopes", &link_slopes, "link"_a, "predictors"_a, "Return A'' at linear predictors [n]: their variances.");
  module.def("implicit_step", &implicit_step, "link"_a, "predictor"_a, "leverage"_a, "y"_a,
             "Return the linear predictor of features after an observation of them.");
  module.def("predict", &predict, "state"_a, "x"_a, "Return x'theta_hat and x'V^-1 x, after fading where the past fades.");
  module.def("minimise", &minimise, "link"_a, "rows"_a, "counts"_a, "totals"_a, "prior"_a, "shift"_a, "tolerance"_a, "theta"_a,
             "Replace theta by the minimiser of a linearly perturbed loss; return whether the last step was short enough.");
  module.def("newton_step", &newton_step, "rows"_a, "counts"_a, "totals"_a, "prior"_a, "shift"_a, "theta"_a, "means"_a, "slopes"_a,
             "step"_a, "Write a step of Newton's method, and return its length: infinite where the Hessian is singular.");
  module.def("hessian", &hessian, "rows"_a, "counts"_a, "slopes"_a, "prior"_a, "Return the Hessian of a loss [d, d].");
}

}  // namespace ensample
