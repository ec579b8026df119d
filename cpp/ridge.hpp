// Ridge regression with rank-one updates: one implementation for live policies and simulated runs.
//
// V = prior + sum x x' and b = sum x y. V^-1 and theta_hat = V^-1 b follow by Sherman-Morrison,
// O(d^2) an observation, and are recomputed from V and b when rounding would cost digits, and at
// intervals. Live policies keep the sums in double-double, so that a million observations lose
// nothing; simulated runs keep them in doubles and can rebuild V from whole pull counts.
#pragma once

#include <algorithm>
#include <cmath>

#include "cholesky.hpp"
#include "double_double.hpp"
#include "linalg.hpp"
#include "math.hpp"

namespace ensample::ENSAMPLE_LEVEL {

// An observation counts half as much after every half-life. The rate is log 2 / half-life, 0 if
// nothing is forgotten.

/// g = 2^(-1 / half-life), the weight that an observation keeps after one more.
inline double kept_share(double rate) { return exp(-rate); }

/// 1 + g + ... + g^(count - 1): the effective number of `count` observations.
inline double effective_count(double count, double rate) {
  return rate > 0.0 ? expm1(-rate * count) / expm1(-rate) : count;
}

/// V [d, d] and b [d] in double-double.
struct Sums {
  Matrix gram, gram_low;
  Vector target, target_low;

  void add(ConstVector x, double y) const {
    const Index d = x.size();
    const double* weights = x.data();
    double *high = gram.data, *low = gram_low.data;
    // One register each: gcc 12 keeps pairs of wider vectors in memory.
    for_each_column_tile<register_width>(d, [=]<int N>(Index start) {
      const auto tile = SimdVector<N>::load(weights + start);
      for (Index i = 0; i < d; ++i) {
        const Index place = i * d + start;
        const DoubleDoubleOf<SimdVector<N>> sum{SimdVector<N>::load(high + place),
                                                SimdVector<N>::load(low + place)};
        const auto more = plus_product(sum, SimdVector<N>::of(weights[i]), tile);
        more.high.store(high + place);
        more.low.store(low + place);
      }
    });
    for (Index i = 0; i < x.size(); ++i) add_product(target[i], target_low[i], x[i], y);
  }
};

/// V^-1, theta_hat and, of the last observation, V^-1 x as it was before.
struct Estimate {
  Matrix inverse;
  Vector mean, gain;

  Index dim() const { return mean.size(); }
};

/// When rank-one updates cost too many digits.
struct UpdateLimits {
  double max_leverage;   // x'V^-1 x at which an update would cancel too many digits
  double max_condition;  // `condition_bound` above which V counts as ill-conditioned
};

/// max diag V * max diag V^-1: a lower bound of the condition number of V, and at least its d^2-th
/// part.
inline double condition_bound(ConstMatrix gram, ConstMatrix inverse) {
  double largest = 0.0, largest_inverse = 0.0;
  for (Index i = 0; i < gram.rows; ++i) {
    largest = std::max(largest, gram(i, i));
    largest_inverse = std::max(largest_inverse, inverse(i, i));
  }
  return largest * largest_inverse;
}

/// Write V^-1 x to `gain` and return the leverage x'V^-1 x.
inline double set_gain(const Estimate& estimate, ConstVector x) {
  sum_rows(estimate.gain, estimate.inverse, x);
  return dot(estimate.gain, x);
}

/// Update V^-1 and theta_hat by (x, y), given `gain` and the leverage (Sherman-Morrison).
inline void rank_one_update(const Estimate& estimate, ConstVector x, double y, double leverage) {
  const double weight = 1.0 / (1.0 + leverage);
  axpy(estimate.mean, weight * (y - dot(estimate.mean, x)), estimate.gain);
  add_outer(estimate.inverse, -weight, estimate.gain, estimate.gain);
}

/// Recompute V^-1 and theta_hat from V and b in doubles, with two steps of refinement if V is
/// ill-conditioned. Return the condition bound, or 0 if V is singular to working precision: then
/// nothing changes.
inline double recompute(const Estimate& estimate, ConstMatrix gram, ConstVector target,
                        double max_condition) {
  if (!invert(gram, estimate.inverse)) return 0.0;
  const Index d = estimate.dim();
  sum_rows(estimate.mean, estimate.inverse, target);
  const double condition = condition_bound(gram, estimate.inverse);
  if (!(condition > max_condition)) return condition;
  Buffer<double> rest(d, Fill::none), step(d, Fill::none);
  for (int twice = 0; twice < 2; ++twice) {  // theta_hat += V^-1 (b - V theta_hat)
    sum_rows(rest, gram, estimate.mean);
    for (Index i = 0; i < d; ++i) rest[i] = target[i] - rest[i];
    sum_rows(step, estimate.inverse, rest);
    axpy(estimate.mean, 1.0, step);
  }
  return condition;
}

}  // namespace ensample::ENSAMPLE_LEVEL
