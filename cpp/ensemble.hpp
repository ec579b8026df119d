// Stored members of a linear ensemble.
//
// `sums` [2d, m] holds S^j = W^j + sum_i X_i Z_i^j, a column a member, so that rows are contiguous:
// older terms in its first d rows, newer ones in the others (`carry_over`). Where the prior is
// learned W^j changes with it: it is sqrt(prior) times what d more rows hold. theta^j = theta_hat +
// factor V^-1 S^j, the factor being 1 but for inflated and calibrated recipes.
#pragma once

#include "ridge_state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Write theta^j of one member. `total` [d] is scratch.
inline void member_theta(const RidgeState& ridge, ConstMatrix sums, double factor, Index member,
                         Vector total, Vector theta) {
  const Index d = ridge.dim();
  for (Index i = 0; i < d; ++i) total[i] = sums(i, member) + sums(d + i, member);
  if (sums.rows > 2 * d)
    for (Index i = 0; i < d; ++i) total[i] += std::sqrt(ridge.prior[i]) * sums(2 * d + i, member);
  for (double& entry : total) entry *= factor;
  shift_mean(ridge.estimate, total, theta);
}

/// Greedy arm of one member among the columns of `by_coordinate` [d, K], or [d - 1, K] where the
/// last feature is a constant.
inline Index best_arm_of_member(Matrix state, ConstMatrix sums, double factor, Index member,
                                ConstMatrix by_coordinate) {
  const RidgeState ridge(state);
  const Index d = ridge.dim(), arms = by_coordinate.columns;
  Buffer<double> buffer(2 * d + arms, Fill::none);
  const Vector total{buffer.data(), d}, theta{buffer.data() + d, d};
  const Vector scores{buffer.data() + 2 * d, arms};
  member_theta(ridge, sums, factor, member, total, theta);
  sum_rows(scores, by_coordinate, theta.first(by_coordinate.rows));
  return argmax(scores);
}

/// Write row i of the sums S^j of all members [m], before the factor.
inline void member_sums(const RidgeState& ridge, ConstMatrix sums, Index i, Vector total) {
  const Index d = ridge.dim();
  const auto older = sums[i], newer = sums[d + i];
  for (Index j = 0; j < total.size(); ++j) total[j] = older[j] + newer[j];
  if (sums.rows > 2 * d) axpy(total, std::sqrt(ridge.prior[i]), sums[2 * d + i]);
}

/// Write theta^j of every member [d, m].
inline void member_thetas(Matrix state, ConstMatrix sums, double factor, Matrix thetas) {
  const RidgeState ridge(state);
  const Index d = ridge.dim(), m = sums.columns;
  Buffer<double> buffer(d * m + d, Fill::none);
  const Matrix totals{buffer.data(), d, m};
  const Vector weights{buffer.data() + d * m, d};
  for (Index i = 0; i < d; ++i) {
    member_sums(ridge, sums, i, totals[i]);
    for (double& total : totals[i]) total *= factor;
  }
  for (Index i = 0; i < d; ++i) {
    for (Index k = 0; k < d; ++k) weights[k] = ridge.estimate.inverse(k, i);
    sum_rows(thetas[i], totals, weights);
    for (double& entry : thetas[i]) entry += ridge.estimate.mean[i];
  }
}

/// Best arm of each member so far. Arms come in order, and the first of equal ones wins.
class Votes {
 public:
  explicit Votes(Index members) : best(members, Fill::none), arms(members, Fill::none) {}

  void compare(ConstVector scores, Index arm) {
    for_each_column_tile<8>(scores.size(), [&]<int N>(Index start) {
      const auto score = SimdVector<N>::load(&scores[start]);
      const auto number = SimdVector<N>::of(double(arm));
      const auto top = arm == 0 ? score : SimdVector<N>::load(&best[start]);
      const auto place = arm == 0 ? number : SimdVector<N>::load(&arms[start]);
      where_greater(score, top, score, top).store(&best[start]);
      where_greater(score, top, number, place).store(&arms[start]);
    });
  }

  void write(Ints chosen) const {
    for (Index j = 0; j < chosen.size(); ++j) chosen[j] = Int(arms[j]);
  }

 private:
  Buffer<double> best, arms;
};

/// Features of the arms on offer, and V^-1 x of each, as columns.
class OfferedArms {
 public:
  /// Features without a size were never played: they are divided by their root mean square on
  /// offer.
  OfferedArms(const RidgeState& ridge, ConstMatrix by_coordinate, ConstVector sizes)
      : d(ridge.dim()), arms(by_coordinate.columns), buffer(2 * d * arms + d, Fill::none) {
    for (Index i = 0; i < d; ++i) {
      const auto from = by_coordinate[i];
      double unit = 1.0;
      if (sizes[i] == 0.0) unit = std::sqrt(dot(from, from) / double(arms));
      for (Index k = 0; k < arms; ++k)
        features()(i, k) = sizes[i] == 0.0 && from[k] != 0.0 ? from[k] / unit : from[k];
    }
    if (is_sparse())
      for (Index k = 0; k < arms; ++k) add_gain(ridge.estimate.inverse, k);
    else
      write_gains(ridge.estimate.inverse);
  }

  Matrix features() { return {buffer.data(), d, arms}; }
  Matrix gains() { return {buffer.data() + d * arms, d, arms}; }

 private:
  Index d, arms;
  Buffer<double> buffer;

  bool is_sparse() {
    Index zeros = 0;
    for (Index i = 0; i < d * arms; ++i) zeros += buffer[i] == 0.0;
    return 4 * zeros > 3 * d * arms;
  }

  void write_gains(ConstMatrix inverse) {
    const Vector weights{buffer.data() + 2 * d * arms, d};
    for (Index i = 0; i < d; ++i) {
      for (Index k = 0; k < d; ++k) weights[k] = inverse(k, i);
      sum_rows(gains()[i], features(), weights);
    }
  }

  void add_gain(ConstMatrix inverse, Index arm) {
    const Vector gain{buffer.data() + 2 * d * arms, d};
    for (double& entry : gain) entry = 0.0;
    for (Index i = 0; i < d; ++i)
      if (features()(i, arm) != 0.0) axpy(gain, features()(i, arm), inverse[i]);
    for (Index i = 0; i < d; ++i) gains()(i, arm) = gain[i];
  }
};

/// Add to each total the product of x and its column, in the order of `dot`.
inline void add_dots(Vector totals, ConstMatrix columns, ConstVector x) {
  const Index whole = x.size() - x.size() % 4;
  for_each_column_tile<8>(totals.size(), [&]<int N>(Index start) {
    const auto at = [&](Index i) { return x[i] * SimdVector<N>::load(&columns(i, start)); };
    auto first = SimdVector<N>::of(0.0), second = first, third = first, fourth = first,
         rest = first;
    for (Index i = 0; i < whole; i += 4)
      first += at(i), second += at(i + 1), third += at(i + 2), fourth += at(i + 3);
    for (Index i = whole; i < x.size(); ++i) rest += at(i);
    const auto product = ((first + second) + (third + fourth)) + rest;
    (SimdVector<N>::load(&totals[start]) + product).store(&totals[start]);
  });
}

inline void read_column(ConstMatrix matrix, Index k, Vector column) {
  for (Index i = 0; i < column.size(); ++i) column[i] = matrix(i, k);
}

/// Greedy arm of every member, without its theta: x'theta^j = x'theta_hat + (V^-1 x)'S^j takes K
/// d^2 + K d m steps, instead of d^2 m + K d m. As from `member_thetas`, but for rounding.
inline void vote(Matrix state, ConstMatrix sums, double factor, ConstMatrix by_coordinate,
                 ConstVector sizes, Ints chosen) {
  const RidgeState ridge(state);
  const Index d = ridge.dim(), m = sums.columns, arms = by_coordinate.columns;
  Buffer<double> buffer(d * m + m + arms + d, Fill::none);
  const Matrix totals{buffer.data(), d, m};
  const Vector scores{totals.data + d * m, m}, centres{scores.data() + m, arms};
  const Vector gain{centres.data() + arms, d};
  OfferedArms offered(ridge, by_coordinate, sizes);
  Votes votes(m);
  for (Index i = 0; i < d; ++i) member_sums(ridge, sums, i, totals[i]);
  for (double& centre : centres) centre = 0.0;
  add_dots(centres, offered.features(), ridge.estimate.mean);
  for (Index k = 0; k < arms; ++k) {
    read_column(offered.gains(), k, gain);
    sum_rows(scores, totals, gain);
    for (double& score : scores) score = centres[k] + factor * score;
    votes.compare(scores, k);
  }
  votes.write(chosen);
}

/// At intervals add the newer half of the rows to the older, exactly: what does not fit stays in
/// the newer. So a sum of a million terms is as exact as one of 64 terms, at the price of plain
/// additions.
inline void carry_over(const RidgeState& ridge, Matrix sums) {
  constexpr double interval = 64.0;
  if (std::fmod(ridge.seen, interval) != 0.0) return;
  const Index half = sums.rows / 2 * sums.columns;
  double *older = sums.data, *newer = sums.data + half;
  for_each_column_tile<register_width>(half, [=]<int N>(Index start) {
    const auto sum =
        two_sum(SimdVector<N>::load(older + start), SimdVector<N>::load(newer + start));
    sum.high.store(older + start);
    sum.low.store(newer + start);
  });
}

/// S^j += x z_j.
inline void perturb(const RidgeState& ridge, Matrix sums, ConstVector x, ConstVector z) {
  const Index d = ridge.dim();
  add_outer(sums.between(d, 2 * d), 1.0, x, z);
  carry_over(ridge, sums.between(0, 2 * d));
}

/// S^j <- sqrt(g) S^j + sqrt(1 - g) W'^j with W'^j drawn `fresh` [d, m] as W^j was, so that the
/// covariance of S^j follows V. Where the prior is learned W'^j joins W^j in its own rows.
inline void fade_members(const RidgeState& ridge, Matrix sums, ConstMatrix fresh) {
  const double kept = kept_share(ridge.rate), shrink = std::sqrt(kept);
  const double weight = std::sqrt(1.0 - kept);
  for (Index i = 0; i < sums.rows * sums.columns; ++i) sums.data[i] *= shrink;
  const Index first = sums.rows - ridge.dim();
  for (Index i = 0; i < ridge.dim(); ++i) axpy(sums[first + i], weight, fresh[i]);
}

}  // namespace ensample::ENSAMPLE_LEVEL
