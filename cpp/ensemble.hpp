// A live ensemble: `sums` [2d, m] holds S^j = W^j + sum_i X_i Z_i^j, one column a member: older terms in its first d rows, newer
// ones in the others; d more rows hold W^j / sqrt(prior) where the prior is learned. theta^j = theta_hat + factor V^-1 S^j.
#pragma once

#include "ridge.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The greedy arm of one member, among the columns of `by_coordinate` [d, K].
inline std::size_t choose(const Ridge& ridge, ConstMatrix sums, double factor, std::size_t member, ConstMatrix by_coordinate) {
  const std::size_t d = ridge.dim(), arms = by_coordinate.columns;
  Buffer<double> room(2 * d + arms);
  const Vector total{room.data(), d}, theta{room.data() + d, d}, scores{room.data() + 2 * d, arms};
  for (std::size_t i = 0; i < d; ++i) total[i] = sums(i, member) + sums(d + i, member);
  if (sums.rows > 2 * d)
    for (std::size_t i = 0; i < d; ++i) total[i] += std::sqrt(ridge.prior[i]) * sums(2 * d + i, member);
  for (double& entry : total) entry *= factor;
  sum_rows(theta, ridge.inverse, total);
  for (std::size_t i = 0; i < d; ++i) theta[i] += ridge.mean[i];
  sum_rows(scores, by_coordinate, theta.first(by_coordinate.rows));
  return argmax(scores);
}

/// One round of Algorithm 1: perturb member j by x z_j and observe (x, y), exactly.
inline void learn(Ridge& ridge, Matrix sums, ConstVector x, double y, ConstVector z) {
  constexpr double carry = 64.0;  // observations between two times that newer sums are added to older ones
  const std::size_t d = x.size();
  const bool smooth = observe(ridge, x, y);
  add_outer(sums.between(d, 2 * d), 1.0, x, z);
  if (std::fmod(ridge.seen, carry) == 0.0)  // what does not fit in the older stays in the newer
    for (std::size_t i = 0; i < d * sums.columns; ++i) {
      const auto sum = two_sum(sums.data[i], sums.data[d * sums.columns + i]);
      sums.data[i] = sum.high, sums.data[d * sums.columns + i] = sum.low;
    }
  if (!smooth) recompute(ridge);
}

}  // namespace ensample::ENSAMPLE_LEVEL
