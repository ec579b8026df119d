#include <nanobind/stl/pair.h>

#include "bindings.hpp"

namespace ensample {
namespace {

// Functions of math.hpp and random.hpp by themselves, for tests/core/test_math.py and test_random.py.

template <MathFunction function>
void evaluate(ConstVector values, Vector out) {
  require(out.size() == values.size(), "out", "an array of the same size as `values`");
  run(kernels->glm.evaluate, function, values, out);
}

template <Draw distribution>
void draw(Generator rng, Vector out) {
  run(kernels->glm.draw, distribution, 0, rng, out);
}

void draw_binomial(Generator rng, std::int64_t trials, Vector out) {
  require(trials >= 0 && trials < std::int64_t{1} << 52, "trials", "a number from 0 to 2^52");
  run(kernels->glm.draw, Draw::binomial_half, trials, rng, out);
}

nb::object link_means(std::int64_t link, ConstVector predictors) {
  return new_vector(predictors.size(), kernels->glm.link_means, link_of(link), predictors);
}

nb::object link_slopes(std::int64_t link, ConstVector predictors) {
  return new_vector(predictors.size(), kernels->glm.link_slopes, link_of(link), predictors);
}

double implicit_step(std::int64_t link, double predictor, double leverage, double y) {
  return kernels->glm.implicit_step(link_of(link), predictor, leverage, y);  // keeps the GIL: a few operations
}

std::pair<double, double> predict(Matrix state, ConstVector x) {
  require(x.size() == dim_of_state(state), "x", "one number for each feature of the state");
  const Prediction found = run(kernels->glm.predict, state, x);
  return {found.predictor, found.leverage};
}

Loss loss_of(ConstMatrix rows, ConstVector counts, ConstVector totals, ConstVector prior, ConstVector shift) {
  require(rows.columns > 0, "rows", "features [n, d]");
  require(counts.size() == rows.rows, "counts", "one number for each row");
  require(totals.size() == rows.rows, "totals", "one number for each row");
  require(prior.size() == rows.columns, "prior", "one number for each feature");
  require(shift.size() == rows.columns, "shift", "one number for each feature");
  return {rows, counts, totals, prior, shift};
}

bool minimise(std::int64_t link, ConstMatrix rows, ConstVector counts, ConstVector totals, ConstVector prior, ConstVector shift,
              double tolerance, Vector theta) {
  const Loss loss = loss_of(rows, counts, totals, prior, shift);
  require(theta.size() == rows.columns, "theta", "one number for each feature");
  return run(kernels->glm.minimise, link_of(link), loss, tolerance, theta);
}

double newton_step(ConstMatrix rows, ConstVector counts, ConstVector totals, ConstVector prior, ConstVector shift, ConstVector theta,
                   ConstVector means, ConstVector slopes, Vector step) {
  const Loss loss = loss_of(rows, counts, totals, prior, shift);
  require(theta.size() == rows.columns, "theta", "one number for each feature");
  require(means.size() == rows.rows, "means", "one number for each row");
  require(slopes.size() == rows.rows, "slopes", "one number for each row");
  require(step.size() == rows.columns, "step", "one number for each feature");
  return run(kernels->glm.newton_step, loss, theta, means, slopes, step);
}

nb::object hessian(ConstMatrix rows, ConstVector counts, ConstVector slopes, ConstVector prior) {
  const Loss loss = loss_of(rows, counts, counts, prior, prior);
  require(slopes.size() == rows.rows, "slopes", "one number for each row");
  return new_matrix(rows.columns, rows.columns, kernels->glm.set_hessian, loss, slopes);
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
