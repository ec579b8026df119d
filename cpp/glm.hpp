// Generalised linear models one observation at a time: an implicit step, and then ridge regression.
//
// With P = V^-1, q = x'P x and u = x'theta_hat, an observation (x, y) moves the centre to
//
//     theta_new = argmin_theta A(x'theta) - y x'theta + |theta - theta_hat|_V^2 / 2
//               = theta_hat - (A'(v) - y) P x,
//
// where v = x'theta_new solves v + q (A'(v) - y) = u, an equation of one variable: its left side
// grows at least as fast as v, and the root is between u and u - q (A'(u) - y). With w = A''(v),
// V_new = V + w x x' and b = V theta_hat this is
//
//     b_new = b + sqrt(w) x r,   r = sqrt(w) v - (A'(v) - y) / sqrt(w):
//
// what ridge regression does with features sqrt(w) x and reward r, the working response of iterated
// least squares. Where the past fades, V and b are those after fading.
//
// In the manner of L. Faury, M. Abeille, K.-S. Jun and C. Calauzenes, "Jointly Efficient and
// Optimal Algorithms for Logistic Bandits", AISTATS 2022.
#pragma once

#include "kernels.hpp"
#include "math.hpp"
#include "ridge_state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

// --- Canonical links, of a generalised linear model with E[Y | x] = A'(x'theta) ------------------

/// exp(-|u|), over and under 1 + exp(-|u|): of u >= 0 the chances of 0 and of 1.
struct Chances {
  double small, large;

  explicit Chances(double u) {
    const double decay = exp(-std::abs(u));
    large = 1.0 / (1.0 + decay);
    small = decay * large;
  }
};

/// A'(u), the mean of a reward with linear predictor u.
inline double link_mean(Link link, double u) {
  if (link == Link::identity) return u;
  const Chances chances(u);
  return u >= 0.0 ? chances.large : chances.small;
}

/// A''(u), its variance.
inline double link_slope(Link link, double u) {
  if (link == Link::identity) return 1.0;
  const Chances chances(u);
  return chances.small * chances.large;
}

/// A'(u) - y, A''(u) and A'''(u). The first of clicks is (1 - y) A'(u) - y A'(-u), which keeps its
/// digits where the mean is nearly y.
struct LinkValues {
  double error, slope, third;
};

inline LinkValues link_at(Link link, double u, double y) {
  if (link == Link::identity) return {u - y, 1.0, 0.0};
  const Chances chances(u);
  const double mean = u >= 0.0 ? chances.large : chances.small;
  const double other = u >= 0.0 ? chances.small : chances.large;
  const double slope = mean * other;
  return {(1.0 - y) * mean - y * other, slope, slope * (other - mean)};
}

// --- The implicit step ---------------------------------------------------------------------------

// Least weight of an observation: less would only make its working response large.
inline constexpr double min_weight = 1e-16;

/// Return v with v + q (A'(v) - y) = u: Halley's method, by halves where it would leave the
/// bracket. It takes one to three steps.
inline double implicit_step(Link link, double u, double q, double y) {
  constexpr int max_steps = 100;
  // |A'''| <= A'' of clicks makes the error less than the cube of the last step
  constexpr double tolerance = 3e-6;
  auto at = link_at(link, u, y);
  const double end = u - q * at.error;
  double v = u, excess = q * at.error, low = std::min(u, end), high = std::max(u, end);
  for (int step = 0; step < max_steps; ++step) {
    const double rise = 1.0 + q * at.slope;
    const double next = v - excess * rise / (rise * rise - 0.5 * excess * q * at.third);
    if (std::abs(next - v) <= tolerance) return next;
    v = low < next && next < high ? next : 0.5 * (low + high);
    at = link_at(link, v, y);
    excess = v - u + q * at.error;
    (excess > 0.0 ? high : low) = v;
  }
  return v;
}

/// Return x'theta_hat and x'V^-1 x: where the past fades, after fading.
inline Prediction predict(const RidgeState& ridge, ConstVector x) {
  const Index d = ridge.dim();
  Buffer<double> gain(d, Fill::none);
  if (ridge.fades()) {
    const double kept = kept_share(ridge.rate);
    const OwnedMatrix faded(d, d, Fill::none), inverse(d, d, Fill::none);
    for (Index i = 0; i < d * d; ++i) faded.data[i] = kept * ridge.sums.gram.data[i];
    for (Index i = 0; i < d; ++i) faded(i, i) += (1.0 - kept) * ridge.prior[i];
    if (invert(faded, inverse)) {
      sum_rows(gain, inverse, x);
      return {kept * dot(gain, ridge.sums.target), dot(gain, x)};
    }
  }
  sum_rows(gain, ridge.estimate.inverse, x);
  return {dot(ridge.estimate.mean, x), std::max(dot(gain, x), 0.0)};
}

/// sqrt(w) and r: (sqrt(w) x, r) is what ridge regression learns of an observation.
struct Response {
  double root_weight, reward;
};

inline Response respond(const RidgeState& ridge, Link link, ConstVector x, double y) {
  const auto [u, q] = predict(ridge, x);
  const double v = implicit_step(link, u, q, y);
  const auto at = link_at(link, v, y);
  const double root = std::sqrt(std::max(at.slope, min_weight));
  return {root, root * v - at.error / root};
}

/// Call learn(sqrt(w) x, r) with what ridge regression learns of an observation of a generalised
/// linear model.
template <class Learn>
void as_response(const RidgeState& ridge, const Observation& observed, Learn&& learn) {
  const auto response = respond(ridge, observed.link, observed.x, observed.y);
  Buffer<double> weighted(observed.x.size(), Fill::none);
  for (Index i = 0; i < observed.x.size(); ++i) weighted[i] = response.root_weight * observed.x[i];
  learn(weighted, response.reward);
}

/// Call learn(x, y) with features and reward as they are learned: with an intercept (x, 1), and y
/// less the first reward, which `origin` [1] keeps; by a link as responses; else as they are.
template <class Learn>
void as_learned(const RidgeState& ridge, const Observation& observed, Learn&& learn) {
  if (observed.link != Link::identity) return as_response(ridge, observed, learn);
  if (observed.origin.empty()) return learn(observed.x, observed.y);
  if (ridge.seen == 0.0) observed.origin[0] = observed.y;
  Buffer<double> buffer(observed.x.size() + 1, Fill::none);
  for (Index i = 0; i < observed.x.size(); ++i) buffer[i] = observed.x[i];
  buffer[observed.x.size()] = 1.0;
  learn(buffer, observed.y - observed.origin[0]);
}

}  // namespace ensample::ENSAMPLE_LEVEL
