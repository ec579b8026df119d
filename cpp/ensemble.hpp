// Stored members of a linear ensemble.
//
// `sums` [2d, m] holds S^j = W^j + sum_i X_i Z_i^j, a column a member, so that rows are contiguous: older terms in its first d
// rows, newer ones in the others (`carry_over`). Where the prior is learned W^j changes with it: it is sqrt(prior) times what d
// more rows hold. theta^j = theta_hat + factor V^-1 S^j, the factor being 1 but for inflated and calibrated recipes.
#pragma once

#include "ridge_state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Write theta^j of one member. `total` [d] is scratch.
inline void member_theta(const RidgeState& ridge, ConstMatrix sums, double factor, std::size_t member, Vector total, Vector theta) {
  const std::size_t d = ridge.dim();
  for (std::size_t i = 0; i < d; ++i) total[i] = sums(i, member) + sums(d + i, member);
  if (sums.rows > 2 * d)
    for (std::size_t i = 0; i < d; ++i) total[i] += std::sqrt(ridge.prior[i]) * sums(2 * d + i, member);
  for (double& entry : total) entry *= factor;
  shift_mean(ridge.estimate, total, theta);
}

/// Greedy arm of one member among the columns of `by_coordinate` [d, K], or [d - 1, K] where the last feature is a constant.
inline std::size_t best_arm_of_member(const RidgeState& ridge, ConstMatrix sums, double factor, std::size_t member,
                                      ConstMatrix by_coordinate) {
  const std::size_t d = ridge.dim(), arms = by_coordinate.columns;
  Buffer<double> buffer(2 * d + arms, Fill::none);
  const Vector total{buffer.data(), d}, theta{buffer.data() + d, d}, scores{buffer.data() + 2 * d, arms};
  member_theta(ridge, sums, factor, member, total, theta);
  sum_rows(scores, by_coordinate, theta.first(by_coordinate.rows));
  return argmax(scores);
}

/// Write row i of the sums S^j of all members [m], before the factor.
inline void member_sums(const RidgeState& ridge, ConstMatrix sums, std::size_t i, Vector total) {
  const std::size_t d = ridge.dim();
  const auto older = sums[i], newer = sums[d + i];
  for (std::size_t j = 0; j < total.size(); ++j) total[j] = older[j] + newer[j];
  if (sums.rows > 2 * d) axpy(total, std::sqrt(ridge.prior[i]), sums[2 * d + i]);
}

/// Write theta^j of every member [d, m].
inline void member_thetas(const RidgeState& ridge, ConstMatrix sums, double factor, Matrix thetas) {
  const std::size_t d = ridge.dim(), m = sums.columns;
  Buffer<double> buffer(d * m + d, Fill::none);
  const Matrix totals{buffer.data(), d, m};
  const Vector weights{buffer.data() + d * m, d};
  for (std::size_t i = 0; i < d; ++i) {
    member_sums(ridge, sums, i, totals[i]);
    for (double& total : totals[i]) total *= factor;
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t k = 0; k < d; ++k) weights[k] = ridge.estimate.inverse(k, i);
    sum_rows(thetas[i], totals, weights);
    for (double& entry : thetas[i]) entry += ridge.estimate.mean[i];
  }
}

/// Read an arm's features, those without a size (which were never played) in units of their root mean square on offer.
inline void read_features(ConstMatrix by_coordinate, ConstVector sizes, std::size_t arm, Vector x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = by_coordinate(i, arm);
    if (sizes[i] == 0.0 && x[i] != 0.0)
      x[i] /= std::sqrt(dot(by_coordinate[i], by_coordinate[i]) / static_cast<double>(by_coordinate.columns));
  }
}

/// Keep the best score of each member and the arm it belongs to; scores are centre + factor scores[j].
inline void keep_best(ConstVector scores, double centre, double factor, std::size_t arm, std::span<std::int64_t> chosen, Vector best) {
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double score = centre + factor * scores[j];
    if (arm == 0 || score > best[j]) best[j] = score, chosen[j] = static_cast<std::int64_t>(arm);
  }
}

/// Greedy arm of every member, without its theta: x'theta^j = x'theta_hat + (V^-1 x)'S^j takes K d^2 + K d m steps, instead of
/// d^2 m + K d m, and less where features are mostly 0. As from `member_thetas`, but for rounding.
inline void vote(const RidgeState& ridge, ConstMatrix sums, double factor, ConstMatrix by_coordinate, ConstVector sizes,
                 std::span<std::int64_t> chosen) {
  const std::size_t d = ridge.dim(), m = sums.columns;
  Buffer<double> buffer(d * m + 2 * m + 2 * d, Fill::none);
  const Matrix totals{buffer.data(), d, m};
  const Vector best{totals.data + d * m, m}, scores{best.data() + m, m}, x{scores.data() + m, d}, weights{x.data() + d, d};
  for (std::size_t i = 0; i < d; ++i) member_sums(ridge, sums, i, totals[i]);
  for (std::size_t k = 0; k < by_coordinate.columns; ++k) {
    read_features(by_coordinate, sizes, k, x);
    for (double& weight : weights) weight = 0.0;
    for (std::size_t i = 0; i < d; ++i)
      if (x[i] != 0.0) axpy(weights, x[i], ridge.estimate.inverse[i]);
    sum_rows(scores, totals, weights);
    keep_best(scores, dot(x, ridge.estimate.mean), factor, k, chosen, best);
  }
}

/// At intervals add the newer half of the rows to the older, exactly: what does not fit stays in the newer. So a sum of a million
/// terms is as exact as one of 64 terms, at the price of plain additions.
inline void carry_over(const RidgeState& ridge, Matrix sums) {
  constexpr double interval = 64.0;
  if (std::fmod(ridge.seen, interval) != 0.0) return;
  const std::size_t half = sums.rows / 2 * sums.columns;
  for (std::size_t i = 0; i < half; ++i) {
    const auto sum = two_sum(sums.data[i], sums.data[half + i]);
    sums.data[i] = sum.high, sums.data[half + i] = sum.low;
  }
}

/// S^j += x z_j.
inline void perturb(const RidgeState& ridge, Matrix sums, ConstVector x, ConstVector z) {
  const std::size_t d = ridge.dim();
  add_outer(sums.between(d, 2 * d), 1.0, x, z);
  carry_over(ridge, sums.between(0, 2 * d));
}

/// S^j <- sqrt(g) S^j + sqrt(1 - g) W'^j with W'^j drawn `fresh` [d, m] as W^j was, so that the covariance of S^j follows V. Where
/// the prior is learned W'^j joins W^j in its own rows.
inline void fade_members(const RidgeState& ridge, Matrix sums, ConstMatrix fresh) {
  const double kept = kept_share(ridge.rate), shrink = std::sqrt(kept), weight = std::sqrt(1.0 - kept);
  for (std::size_t i = 0; i < sums.rows * sums.columns; ++i) sums.data[i] *= shrink;
  const std::size_t first = sums.rows - ridge.dim();
  for (std::size_t i = 0; i < ridge.dim(); ++i) axpy(sums[first + i], weight, fresh[i]);
}

}  // namespace ensample::ENSAMPLE_LEVEL
