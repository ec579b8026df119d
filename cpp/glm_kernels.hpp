// Table of the glm kernels, one for each instruction-set level.
#pragma once

#include "random.hpp"
#include "views.hpp"

namespace ensample {

enum class MathFunction { exp, expm1, log, log1p, log2, tanh };
enum class Draw { uniform, normal, binomial_half };

/// Canonical links: identity of linear models, logistic of clicks.
enum class Link : std::int64_t { identity = -1, logistic = 0 };

/// Loss of a generalised linear model, perturbed linearly (newton.hpp).
struct Loss {
  ConstMatrix rows;             // x_k [n, d]
  ConstVector counts, totals;   // how often each was seen, and the sum of its rewards [n]
  ConstVector prior, shift;     // [d]
};

/// x'theta_hat and x'V^-1 x.
struct Prediction {
  double predictor, leverage;
};

struct GlmKernels {
  void (*evaluate)(MathFunction function, ConstVector values, Vector out);
  void (*draw)(Draw distribution, std::int64_t trials, Generator rng, Vector out);

  void (*link_means)(Link link, ConstVector predictors, Vector means);
  void (*link_slopes)(Link link, ConstVector predictors, Vector slopes);
  double (*implicit_step)(Link link, double predictor, double leverage, double y);
  Prediction (*predict)(Matrix state, ConstVector x);

  bool (*minimise)(Link link, const Loss& loss, double tolerance, Vector theta);
  double (*newton_step)(const Loss& loss, ConstVector theta, ConstVector means, ConstVector slopes, Vector step);
  void (*set_hessian)(const Loss& loss, ConstVector slopes, Matrix hessian);
};

}  // namespace ensample
