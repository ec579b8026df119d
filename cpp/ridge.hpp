// Ridge regression with rank-one updates: one implementation for live policies and simulated runs.
//
// V = prior + sum x x' and b = sum x y. V^-1 and theta_hat = V^-1 b follow by Sherman-Morrison, O(d^2) an observation, and are
// recomputed from V and b when rounding would cost digits, and at intervals. Live policies keep the sums in double-double
// (`Sums<DoubleDouble>`), so that a million observations lose nothing; simulated runs keep them in doubles (`Sums<double>`) and
// can rebuild V from whole pull counts.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.hpp"
#include "double_double.hpp"
#include "linalg.hpp"
#include "math.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// V and b. `Real` is the precision they are kept in.
template <class Real>
struct Sums;

template <>
struct Sums<double> {
  Matrix gram;    // V [d, d]
  Vector target;  // b [d]

  void add(ConstVector x, double y) const {
    add_outer(gram, 1.0, x, x);
    axpy(target, y, x);
  }
};

template <>
struct Sums<DoubleDouble> {
  Matrix gram, gram_low;
  Vector target, target_low;

  void add(ConstVector x, double y) const {
    for_each_column_tile<8>(x.size(), [&]<int N>(std::size_t start) {
      const auto tile = SimdVector<N>::load(&x[start]);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const DoubleDoubleOf<SimdVector<N>> sum{SimdVector<N>::load(&gram(i, start)), SimdVector<N>::load(&gram_low(i, start))};
        const auto more = plus_product(sum, SimdVector<N>::of(x[i]), tile);
        more.high.store(&gram(i, start));
        more.low.store(&gram_low(i, start));
      }
    });
    for (std::size_t i = 0; i < x.size(); ++i) add_product(target[i], target_low[i], x[i], y);
  }
};

/// V^-1, theta_hat and, of the last observation, V^-1 x as it was before.
struct Estimate {
  Matrix inverse;
  Vector mean, gain;

  std::size_t dim() const { return mean.size(); }
};

/// When rank-one updates cost too many digits.
struct UpdateLimits {
  double max_leverage;   // x'V^-1 x at which an update would cancel too many digits
  double max_condition;  // `condition_bound` above which V counts as ill-conditioned
};

/// max diag V * max diag V^-1: a lower bound of the condition number of V, and at least its d^2-th part.
inline double condition_bound(ConstMatrix gram, ConstMatrix inverse) {
  double largest = 0.0, largest_inverse = 0.0;
  for (std::size_t i = 0; i < gram.rows; ++i) {
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

/// Cholesky factor: write the upper triangular R with R'R = matrix; return false at a pivot that is not positive.
inline bool cholesky(ConstMatrix matrix, Matrix factor) {
  const std::size_t d = matrix.rows;
  Buffer<double> row(d, Fill::none);
  for (std::size_t i = 0; i < d; ++i) {
    std::copy_n(&matrix(i, 0), d, row.data());
    for (std::size_t k = 0; k < i; ++k)
      for (std::size_t j = i; j < d; ++j) row[j] -= factor(k, i) * factor(k, j);
    if (!(row[i] > 0.0)) return false;
    std::fill_n(&factor(i, 0), i, 0.0);
    for (std::size_t j = i; j < d; ++j) factor(i, j) = row[j] / std::sqrt(row[i]);
  }
  return true;
}

/// Write matrix^-1 from its Cholesky factor.
inline void invert_factored(ConstMatrix factor, Matrix inverse) {
  const std::size_t d = factor.rows;
  Buffer<double> root_buffer(d * d);
  const Matrix root{root_buffer.data(), d, d};
  for (std::size_t i = d; i-- > 0;) {
    root(i, i) = 1.0;
    for (std::size_t k = i + 1; k < d; ++k)
      for (std::size_t j = k; j < d; ++j) root(i, j) -= factor(i, k) * root(k, j);
    for (std::size_t j = i; j < d; ++j) root(i, j) /= factor(i, i);
  }
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t k = 0; k <= i; ++k)
      inverse(i, k) = inverse(k, i) = dot(ConstVector(root[i]).subspan(i), ConstVector(root[k]).subspan(i));
}

/// Write the inverse of a symmetric positive definite matrix; return false, and write nothing, if a pivot is not positive.
inline bool invert(ConstMatrix matrix, Matrix inverse) {
  const std::size_t d = matrix.rows;
  Buffer<double> factor_buffer(d * d, Fill::none);
  const Matrix factor{factor_buffer.data(), d, d};
  if (!cholesky(matrix, factor)) return false;
  invert_factored(factor, inverse);
  return true;
}

/// Replace a positive semidefinite matrix by the upper triangular R with R'R = matrix; a zero pivot gives a zero row.
inline void take_root(Matrix matrix) {
  constexpr double negligible = 1e-10;  // a pivot this small relative to its diagonal entry is rounding
  const std::size_t d = matrix.rows;
  for (std::size_t k = 0; k < d; ++k) {
    const Vector row = matrix[k].subspan(k);
    const double size = row[0];
    for (std::size_t j = 0; j < k; ++j) axpy(row, -matrix(j, k), matrix[j].subspan(k));
    const double inverse_pivot = row[0] > negligible * size ? 1.0 / std::sqrt(row[0]) : 0.0;
    for (double& entry : row) entry *= inverse_pivot;
    std::fill_n(matrix[k].begin(), k, 0.0);
  }
}

/// Update the upper triangular R to that of R'R + x x' by Givens rotations, O(d^2). `rest` [d] is scratch.
inline void rotate(Matrix factor, ConstVector x, Vector rest) {
  const std::size_t d = x.size();
  std::copy(x.begin(), x.end(), rest.begin());
  for (std::size_t i = 0; i < d; ++i) {
    const double length = std::sqrt(factor(i, i) * factor(i, i) + rest[i] * rest[i]);
    if (!(length > 0.0)) continue;
    const double cosine = factor(i, i) / length, sine = rest[i] / length;
    for (std::size_t k = i; k < d; ++k) {
      const double kept = factor(i, k);
      factor(i, k) = cosine * kept + sine * rest[k];
      rest[k] = cosine * rest[k] - sine * kept;
    }
  }
}

/// Recompute V^-1 and theta_hat from V and b in doubles, with two steps of refinement if V is ill-conditioned. Return the
/// condition bound, or 0 if V is singular to working precision: then nothing changes.
inline double recompute(const Estimate& estimate, ConstMatrix gram, ConstVector target, double max_condition) {
  if (!invert(gram, estimate.inverse)) return 0.0;
  const std::size_t d = estimate.dim();
  sum_rows(estimate.mean, estimate.inverse, target);
  const double condition = condition_bound(gram, estimate.inverse);
  if (!(condition > max_condition)) return condition;
  Buffer<double> buffer(2 * d, Fill::none);
  const Vector rest{buffer.data(), d}, step{buffer.data() + d, d};
  for (int twice = 0; twice < 2; ++twice) {  // theta_hat += V^-1 (b - V theta_hat)
    sum_rows(rest, gram, estimate.mean);
    for (std::size_t i = 0; i < d; ++i) rest[i] = target[i] - rest[i];
    sum_rows(step, estimate.inverse, rest);
    axpy(estimate.mean, 1.0, step);
  }
  return condition;
}

/// Double-double factorization of a positive definite matrix: A^-1 = S M D^-1 M' S, S powers of two, M unit upper triangular.
///
/// The pivots D are Schur complements of a matrix that is at least its diagonal prior: none can be smaller than that (scaled
/// alike), and one that rounding made smaller is set to it. So there is an inverse for any A.
class DoubleDoubleFactor {
 public:
  DoubleDoubleFactor(ConstMatrix high, ConstMatrix low, ConstVector least)
      : d(least.size()), upper(d * d), left(d * d), pivots(d), scales(d), total(d) {
    for (std::size_t i = 0; i < d; ++i) {
      int exponent;
      std::frexp(high(i, i), &exponent);
      scales[i] = std::ldexp(1.0, -(exponent >= 0 ? exponent / 2 : (exponent - 1) / 2));
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k)
        left[i * d + k] = {scales[i] * high(i, k) * scales[k], scales[i] * low(i, k) * scales[k]};
    eliminate(least);
    invert_unit_triangle();
  }

  void write_inverse(Matrix inverse) {
    for (std::size_t i = 0; i < d; ++i) {
      clear();
      for (std::size_t k = i; k < d; ++k) add_row(total.data(), upper[k * d + i] / pivots[k], &upper[k * d], 0, i + 1);
      for (std::size_t k = 0; k <= i; ++k) inverse(k, i) = inverse(i, k) = scales[i] * total[k].high * scales[k];
    }
  }

  void solve(ConstVector right, ConstVector right_low, Vector out) {
    clear();
    for (std::size_t k = 0; k < d; ++k) {
      DoubleDouble sum{0.0, 0.0};
      for (std::size_t i = 0; i <= k; ++i)
        sum = plus_product(sum, upper[k * d + i], DoubleDouble{scales[i] * right[i], scales[i] * right_low[i]});
      add_row(total.data(), sum / pivots[k], &upper[k * d], 0, k + 1);
    }
    for (std::size_t i = 0; i < d; ++i) out[i] = scales[i] * total[i].high;
  }

  /// log(det A / det of a diagonal matrix).
  double log_determinant_over(ConstVector prior) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < d; ++i) sum += log(pivots[i].high / scales[i] / scales[i] / prior[i]);
    return sum;
  }

 private:
  std::size_t d;
  Buffer<DoubleDouble> upper, left, pivots;  // `upper` ends as M'
  Buffer<double> scales;
  Buffer<DoubleDouble> total;

  void clear() {
    for (auto& t : total) t = {0.0, 0.0};
  }

  static void add_row(DoubleDouble* sum, DoubleDouble weight, const DoubleDouble* row, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) sum[k] = plus_product(sum[k], weight, row[k]);
  }

  void eliminate(ConstVector least) {
    for (std::size_t i = 0; i < d; ++i) {
      DoubleDouble* row = &left[i * d];
      const double floor = scales[i] * least[i] * scales[i];
      pivots[i] = row[i];
      if (!(row[i].high > floor)) {
        pivots[i] = {floor, 0.0};
        for (std::size_t k = i + 1; k < d; ++k)  // beyond |a_ik|^2 <= a_ii a_kk it is rounding, which would grow every step
          if (row[k].high * row[k].high > floor * left[k * d + k].high) row[k] = {0.0, 0.0};
      }
      for (std::size_t k = i + 1; k < d; ++k) upper[i * d + k] = row[k] / pivots[i];
      for (std::size_t k = i + 1; k < d; ++k) add_row(&left[k * d], -upper[i * d + k], row, k, d);
    }
  }

  void invert_unit_triangle() {
    for (std::size_t i = d; i-- > 0;) {
      DoubleDouble* row = &left[i * d];
      for (std::size_t k = 0; k < d; ++k) row[k] = {k == i ? 1.0 : 0.0, 0.0};
      for (std::size_t k = i + 1; k < d; ++k) add_row(row, -upper[i * d + k], &left[k * d], k, d);
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k) upper[i * d + k] = left[k * d + i];
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
