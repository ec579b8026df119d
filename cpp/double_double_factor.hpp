// Solving positive definite systems in double-double arithmetic.
#pragma once

#include <cmath>

#include "buffer.hpp"
#include "double_double.hpp"
#include "math.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

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
