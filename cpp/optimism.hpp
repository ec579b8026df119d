// Optimism on finitely many arms: argmax_k x_k'theta_hat + beta |x_k|_{V^-1}.
//
// Equal arms have equal scores to the last bit, so that the lowest index wins.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels.hpp"
#include "linalg.hpp"
#include "ridge.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// w_k = x_k'V^-1 x_k, for the columns of `by_coordinate` [d, K].
inline void square_widths(ConstMatrix inverse, ConstMatrix by_coordinate, Vector widths) {
  for_each_column_tile<32>(widths.size(), [&]<int N>(Index start) {
    auto total = SimdVector<N>::of(0.0);
    for (Index i = 0; i < inverse.rows; ++i) {
      auto product = SimdVector<N>::of(0.0);
      for (Index j = 0; j < inverse.columns; ++j)
        product += inverse(i, j) * SimdVector<N>::load(&by_coordinate(j, start));
      total += SimdVector<N>::load(&by_coordinate(i, start)) * product;
    }
    total.store(&widths[start]);
  });
}

/// sqrt(w), 0 where rounding left less.
inline double width_of(double square) { return std::sqrt(std::max(square, 0.0)); }

/// argmax_k scores[k] + beta sqrt(w_k); changes `scores`.
inline Index optimistic_argmax(Vector scores, ConstVector widths, double beta) {
  for (Index k = 0; k < scores.size(); ++k) scores[k] += beta * width_of(widths[k]);
  return argmax(scores);
}

/// Write theta_hat + beta V^-1 x / |x|_{V^-1}, the optimistic parameter of an arm.
inline void optimistic_theta(ConstMatrix inverse, ConstVector mean, ConstVector x, double beta,
                             Vector theta) {
  Buffer<double> gain(x.size(), Fill::none);
  sum_rows(gain, inverse, x);
  const double width = width_of(dot(gain, x));
  for (Index i = 0; i < theta.size(); ++i) theta[i] = mean[i];
  if (width > 0.0) axpy(theta, beta / width, gain);
}

// --- SupLinUCB: a ridge regression for each stage ------------------------------------------------
//
// Stage s (from 1; from 0 in arrays) asks for widths of at most 2^-s. An arm that is wider is
// played for what its stage learns from it. Where all are narrow enough, arms that promise too
// little are dropped and the next stage is asked.

/// Return the largest width that a stage accepts.
inline double allowed_width(Index stage) { return std::ldexp(1.0, -static_cast<int>(stage) - 1); }

/// The choice of a round among the columns of `by_coordinate` [d, K].
inline StagedChoice choose_staged(const Stages& stages, ConstMatrix by_coordinate) {
  const Index arms = by_coordinate.columns, none = arms;
  Buffer<char> dropped(arms);
  Buffer<double> widths(arms, Fill::none), upper_bounds(arms, Fill::none);
  Index best = none;
  for (Index s = 0; s < stages.count(); ++s) {
    square_widths(stages.inverses[s], by_coordinate, widths);
    sum_rows(upper_bounds, by_coordinate, stages.means[s]);
    Index widest = none;
    best = none;
    for (Index k = 0; k < arms; ++k) {
      if (dropped[k]) continue;
      widths[k] = stages.radius * width_of(widths[k]);
      upper_bounds[k] += widths[k];
      if (best == none || upper_bounds[k] > upper_bounds[best]) best = k;
      if (widest == none || widths[k] > widths[widest]) widest = k;
    }
    if (best == none) return {0, s, false};  // only where estimates are NaN
    const double allowed = allowed_width(s);
    if (widths[widest] <= stages.floor) return {best, s, false};
    if (widths[widest] > allowed) return {widest, s, true};
    const double least = upper_bounds[best] - 2.0 * allowed;
    for (Index k = 0; k < arms; ++k) dropped[k] = dropped[k] || !(upper_bounds[k] >= least);
  }
  return {best, stages.count() - 1, false};
}

/// The first stage for which x is too wide; `stages.count()` if there is none.
inline Index first_uncertain_stage(const Stages& stages, ConstVector x) {
  Buffer<double> gain(x.size(), Fill::none);
  for (Index s = 0; s < stages.count(); ++s) {
    sum_rows(gain, stages.inverses[s], x);
    if (stages.radius * width_of(dot(gain, x)) > std::max(allowed_width(s), stages.floor)) return s;
  }
  return stages.count();
}

/// The stage that learns from an arm x that is played: the one for which it would be chosen now, or
/// else the first that needs it; `stages.count()` if none does.
inline Index learning_stage(const Stages& stages, const StagedChoice& choice, Int arm,
                            ConstVector x) {
  if (Int(choice.arm) != arm) return first_uncertain_stage(stages, x);
  return choice.learns ? choice.stage : stages.count();
}

/// One stage learns: V += x x', b += x y, and V^-1 and theta_hat follow. Where V is singular to
/// working precision the rank-one formula must do.
inline void learn_in_stage(const Stages& stages, Index s, ConstVector x, double y) {
  const Matrix inverse = stages.inverses[s];
  Buffer<double> gain(x.size(), Fill::none);
  sum_rows(gain, inverse, x);
  add_outer(inverse, -1.0 / (1.0 + dot(gain, x)), gain, gain);
  add_outer(stages.grams[s], 1.0, x, x);
  axpy(stages.targets[s], y, x);
  invert(stages.grams[s], inverse);
  sum_rows(stages.means[s], inverse, stages.targets[s]);
}

}  // namespace ensample::ENSAMPLE_LEVEL
