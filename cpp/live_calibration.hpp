// Calibration of a live ridge regression: when it is due, and what follows from it.
#pragma once

#include "calibration.hpp"
#include "ridge_state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Take one prior off a diagonal entry (high, low) of V and put another on it.
inline void replace_prior(double& high, double& low, double old_prior, double new_prior) {
  const auto rest = two_sum(high, -old_prior);
  const auto total = two_sum(rest.high, new_prior);
  const double error = total.low + (rest.low + low);
  high = total.high + error;
  low = error - (high - total.high);
}

/// Learn the scales from what a ridge regression has seen, and give it the prior that follows. Then it is stale.
inline void calibrate(RidgeState& ridge, Scales& known, const ScaleLearning& learning) {
  const std::size_t d = ridge.dim();
  const double count = effective_count(ridge.seen, ridge.rate);
  Buffer<double> buffer(d * d + d, Fill::none);
  const Matrix G{buffer.data(), d, d};
  const Vector b{buffer.data() + d * d, d};
  std::copy_n(ridge.sums.gram.data, d * d, G.data);
  std::copy_n(ridge.sums.target.data(), d, b.data());
  for (std::size_t i = 0; i < d; ++i) {
    G(i, i) = (ridge.sums.gram(i, i) - ridge.prior[i]) + ridge.sums.gram_low(i, i);
    if (learning.sizes_given) continue;
    // Units are not forgotten: where the past fades they are those of all that was seen.
    known.sizes[i] = ridge.fades() ? std::sqrt(ridge.lengths[i] / ridge.seen) : std::sqrt(std::max(G(i, i), 0.0) / count);
  }
  learn_scales(known, G, b, ridge.squares, count, learning.strength, learning.intercept);
  known.calibrated_at = ridge.seen;
  for (std::size_t i = 0; i < d; ++i) {
    const double prior = prior_of(known, i, learning.intercept);
    replace_prior(ridge.sums.gram(i, i), ridge.sums.gram_low(i, i), ridge.prior[i], prior);
    ridge.prior[i] = prior;
  }
}

/// Return true if a feature without a size has been seen.
inline bool has_new_feature(const RidgeState& ridge, const Scales& known) {
  for (std::size_t i = 0; i < ridge.dim(); ++i)
    if (known.sizes[i] == 0.0 && ridge.sums.gram(i, i) != ridge.prior[i]) return true;
  return false;
}

inline bool is_calibration_due(const RidgeState& ridge, const Scales& known, const ScaleLearning& learning) {
  if (ridge.seen > known.calibrated_at && ridge.seen >= next_calibration(known.calibrated_at, ridge.rate)) return true;
  return !learning.sizes_given && has_new_feature(ridge, known);
}

/// Do what is due after an observation. Doing it twice changes nothing.
inline void settle(RidgeState& ridge, const ScaleLearning& learning, bool is_stale) {
  if (learning.scales.data != nullptr) {
    Scales known(learning.scales);
    if (is_calibration_due(ridge, known, learning)) {
      calibrate(ridge, known, learning);
      is_stale = true;
    }
  }
  if (is_stale) recompute(ridge);
}

}  // namespace ensample::ENSAMPLE_LEVEL
