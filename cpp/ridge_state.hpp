// State of a live ridge regression, one observation at a time and without drift.
//
// V and b are kept in double-double. V^-1 and theta_hat follow by rank-one updates as long as these
// cancel no digits; else, and at intervals, they are recomputed from V and b, as is log det V.
//
// Where the past fades, with g = 2^(-1/half-life), an observation (x, y) gives
//
//     V <- g V + (1 - g) prior + x x'        b <- g b + x y        sum y^2 <- g sum y^2 + y^2
//
// so that V = prior + sum_i g^(n-i) x_i x_i' after n of them: the prior does not fade. Without its
// part of V a direction that was not seen for long would have no weight at all, and V no inverse
// (the wind-up of plain exponential forgetting). As (1 - g) prior has full rank, V^-1 follows by no
// rank-one formula: it is computed anew, O(d^3) an observation.
#pragma once

#include "calibration.hpp"
#include "math.hpp"
#include "ridge.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Views into one array [3d + 9, d], or [3d + 11, d] where the past fades; numbers are in the first
/// entry of their row.
struct RidgeState {
  static constexpr Index vectors = 9, fading_vectors = 2;  // rows beside the three matrices

  Sums sums;  // V and b
  Estimate estimate;
  double &seen, &information;     // number of observations; log(det V / det prior)
  Vector prior;                   // diagonal of V before the first observation
  double &squares, &squares_low;  // sum y^2
  Vector lengths;                 // sum x_i^2 of all that was seen; empty unless the past fades
  double rate;                    // log 2 / half-life, or 0

  explicit RidgeState(Matrix s) : RidgeState(s, s.columns) {}

  Index dim() const { return prior.size(); }
  bool fades() const { return !lengths.empty(); }

 private:
  RidgeState(Matrix s, Index d)
      : sums{s.between(0, d), s.between(d, 2 * d), s[3 * d], s[3 * d + 1]},
        estimate{s.between(2 * d, 3 * d), s[3 * d + 2], s[3 * d + 6]}, seen(s(3 * d + 3, 0)),
        information(s(3 * d + 4, 0)), prior(s[3 * d + 5]), squares(s(3 * d + 7, 0)),
        squares_low(s(3 * d + 8, 0)) {
    const bool fading = s.rows > 3 * d + vectors;
    lengths = fading ? s[3 * d + 9] : Vector{};
    rate = fading ? s(3 * d + 10, 0) : 0.0;
  }
};

inline constexpr UpdateLimits live_limits{
    1e4, 1e7};  // an update cancels at most four digits, and loses less than a ninth

inline double condition_bound(const RidgeState& ridge) {
  return condition_bound(ridge.sums.gram, ridge.estimate.inverse);
}

/// Update V, b and sum y^2; nothing of what follows from them.
inline void add_observation(RidgeState& ridge, ConstVector x, double y) {
  ridge.sums.add(x, y);
  add_product(ridge.squares, ridge.squares_low, y, y);
  ridge.seen += 1.0;
}

/// V <- g V + (1 - g) prior, b <- g b and sum y^2 alike. 1 - g is not rounded, so that the prior's
/// part stays what it is.
inline void fade(RidgeState& ridge) {
  const double kept = kept_share(ridge.rate);
  const auto shrink = [kept](double& high, double& low) {
    const auto product = plus_product(DoubleDouble{kept * low, 0.0}, high, kept);
    high = product.high, low = product.low;
  };
  const Index d = ridge.dim();
  auto& sums = ridge.sums;
  for (Index i = 0; i < d; ++i) {
    for (Index k = 0; k < d; ++k) shrink(sums.gram(i, k), sums.gram_low(i, k));
    add_product(sums.gram(i, i), sums.gram_low(i, i), 1.0 - kept, ridge.prior[i]);
    shrink(sums.target[i], sums.target_low[i]);
  }
  shrink(ridge.squares, ridge.squares_low);
}

/// Recompute V^-1, theta_hat and log det V in doubles; return false where that costs too many
/// digits.
inline bool recompute_in_doubles(RidgeState& ridge) {
  const Index d = ridge.dim();
  const OwnedMatrix factor(d, d, Fill::none);
  if (!cholesky(ridge.sums.gram, factor)) return false;
  invert_factored(factor, ridge.estimate.inverse);
  double total = 0.0;
  for (Index i = 0; i < d; ++i) total += 2.0 * log(factor(i, i)) - log(ridge.prior[i]);
  sum_rows(ridge.estimate.mean, ridge.estimate.inverse, ridge.sums.target);
  ridge.information = std::max(total, 0.0);  // rounding may leave less where everything has faded
  return !(condition_bound(ridge) > live_limits.max_condition);
}

inline bool observe_fading(RidgeState& ridge, ConstVector x, double y) {
  fade(ridge);
  add_observation(ridge, x, y);
  for (Index i = 0; i < x.size(); ++i) ridge.lengths[i] += x[i] * x[i];
  return recompute_in_doubles(ridge);
}

/// Take in (x, y). Return false if V^-1, theta_hat and log det V are stale: then `recompute` comes
/// next.
[[nodiscard]] inline bool observe(RidgeState& ridge, ConstVector x, double y) {
  // Observations between two recomputations, or d if that is more: O(d^3) once in d
  constexpr Index interval = 256;
  if (ridge.fades()) return observe_fading(ridge, x, y);
  const bool was_ill_conditioned = condition_bound(ridge) > live_limits.max_condition;
  add_observation(ridge, x, y);
  const double leverage = set_gain(ridge.estimate, x);
  if (!(leverage >= 0.0 && leverage <= live_limits.max_leverage)) return false;  // NaN too
  rank_one_update(ridge.estimate, x, y, leverage);
  ridge.information += log1p(leverage);
  if (was_ill_conditioned || std::fmod(ridge.seen, double(std::max(interval, x.size()))) == 0.0)
    return false;
  return condition_bound(ridge) <= live_limits.max_condition;
}

/// Recompute V^-1, theta_hat and log det V from V and b in double-double arithmetic, rounded once.
inline void recompute(RidgeState& ridge) {
  DoubleDoubleFactor factor(ridge.sums.gram, ridge.sums.gram_low, ridge.prior);
  factor.write_inverse(ridge.estimate.inverse);
  factor.solve(ridge.sums.target, ridge.sums.target_low, ridge.estimate.mean);
  ridge.information = factor.log_determinant_over(ridge.prior);
}

/// Learn (x, y) where nothing is calibrated.
inline void observe_and_recompute(RidgeState& ridge, ConstVector x, double y) {
  if (!observe(ridge, x, y)) recompute(ridge);
}

/// Write theta_hat + V^-1 total.
inline void shift_mean(const Estimate& estimate, ConstVector total, Vector theta) {
  sum_rows(theta, estimate.inverse, total);
  for (Index i = 0; i < theta.size(); ++i) theta[i] += estimate.mean[i];
}

/// Take one prior off a diagonal entry (high, low) of V and put another on it.
inline void replace_prior(double& high, double& low, double old_prior, double new_prior) {
  const auto rest = two_sum(high, -old_prior);
  const auto total = two_sum(rest.high, new_prior);
  const double error = total.low + (rest.low + low);
  high = total.high + error;
  low = error - (high - total.high);
}

/// Learn the scales from what a ridge regression has seen, and give it the prior that follows. Then
/// it is stale.
inline void calibrate(RidgeState& ridge, Scales& scales, const ScaleLearning& learning) {
  const Index d = ridge.dim();
  const double count = effective_count(ridge.seen, ridge.rate);
  const OwnedMatrix G(d, d, Fill::none);
  Buffer<double> b(d, Fill::none);
  copy_values(ridge.sums.gram.items(), G.items());
  copy_values(ridge.sums.target, b);
  for (Index i = 0; i < d; ++i) {
    G(i, i) = (ridge.sums.gram(i, i) - ridge.prior[i]) + ridge.sums.gram_low(i, i);
    if (learning.sizes_given) continue;
    // Units are not forgotten: where the past fades they are those of all that was seen.
    scales.sizes[i] = ridge.fades() ? std::sqrt(ridge.lengths[i] / ridge.seen)
                                    : std::sqrt(std::max(G(i, i), 0.0) / count);
  }
  learn_scales(scales, G, b, ridge.squares, count, learning.strength, learning.intercept);
  scales.calibrated_at = ridge.seen;
  for (Index i = 0; i < d; ++i) {
    const double prior = prior_of(scales, i, learning.intercept);
    replace_prior(ridge.sums.gram(i, i), ridge.sums.gram_low(i, i), ridge.prior[i], prior);
    ridge.prior[i] = prior;
  }
}

/// Return true if a feature without a size has been seen.
inline bool has_new_feature(const RidgeState& ridge, const Scales& scales) {
  for (Index i = 0; i < ridge.dim(); ++i)
    if (scales.sizes[i] == 0.0 && ridge.sums.gram(i, i) != ridge.prior[i]) return true;
  return false;
}

inline bool is_calibration_due(const RidgeState& ridge, const Scales& scales,
                               const ScaleLearning& learning) {
  if (ridge.seen > scales.calibrated_at &&
      ridge.seen >= next_calibration(scales.calibrated_at, ridge.rate))
    return true;
  return !learning.sizes_given && has_new_feature(ridge, scales);
}

/// Calibrate and recompute where that is due after an observation. A second call changes nothing.
inline void finish_update(RidgeState& ridge, const ScaleLearning& learning, bool is_stale) {
  if (learning.scales.data != nullptr) {
    Scales scales(learning.scales);
    if (is_calibration_due(ridge, scales, learning)) {
      calibrate(ridge, scales, learning);
      is_stale = true;
    }
  }
  if (is_stale) recompute(ridge);
}

}  // namespace ensample::ENSAMPLE_LEVEL
