// Double-double arithmetic: a pair (high, low) stands for high + low and carries twice the digits
// of a double. T. J. Dekker, Numerische Mathematik 18 (1971); D. E. Knuth, The Art of Computer
// Programming, vol. 2, section 4.2.2.
#pragma once

#include <cmath>

#include "math.hpp"
#include "linalg.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// `Real` is double or SimdVector.
template <class Real>
struct DoubleDoubleOf {
  Real high, low;
};

using DoubleDouble = DoubleDoubleOf<double>;

/// a + b, exactly.
template <class Real>
DoubleDoubleOf<Real> two_sum(const Real& a, const Real& b) {
  const Real total = a + b, part = total - a;
  return {total, (a - (total - part)) + (b - part)};
}

/// a b - product, exactly (Dekker): the same bits as a fused multiply-add.
template <class Real>
Real error_by_halves(const Real& a, const Real& b, const Real& product) {
  constexpr double splitter = 134217729.0;  // 2^27 + 1 cuts a double into halves of 26 bits
  const Real shifted_a = splitter * a, a_high = shifted_a - (shifted_a - a), a_low = a - a_high;
  const Real shifted_b = splitter * b, b_high = shifted_b - (shifted_b - b), b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

#if defined(__FMA__) || defined(__aarch64__)
inline double product_error(double a, double b, double product) { return std::fma(a, b, -product); }

template <int N>
SimdVector<N> product_error(const SimdVector<N>& a, const SimdVector<N>& b,
                            const SimdVector<N>& product) {
  if constexpr (N > register_width) {
    return {product_error(a.low, b.low, product.low), product_error(a.high, b.high, product.high)};
  } else if constexpr (N == 1) {
    return {std::fma(a.v, b.v, -product.v)};
#if defined(__FMA__)  // gcc 12 makes calls for single numbers of the loop below
  } else if constexpr (N == 2) {
    return {_mm_fmsub_pd(a.v, b.v, product.v)};
  } else if constexpr (N == 4) {
    return {_mm256_fmsub_pd(a.v, b.v, product.v)};
#if defined(__AVX512F__)
  } else if constexpr (N == 8) {
    return {_mm512_fmsub_pd(a.v, b.v, product.v)};
#endif
#endif
  } else {
    SimdVector<N> error;
    for (int i = 0; i < N; ++i) error.v[i] = std::fma(a.v[i], b.v[i], -product.v[i]);
    return error;
  }
}
#else
template <class Real>
Real product_error(const Real& a, const Real& b, const Real& product) {
  return error_by_halves(a, b, product);
}
#endif

/// a b, exactly (while nothing over- or underflows).
template <class Real>
DoubleDoubleOf<Real> two_product(const Real& a, const Real& b) {
  const Real product = a * b;
  return {product, product_error(a, b, product)};
}

/// sum + a b.
template <class Real>
DoubleDoubleOf<Real> plus_product(const DoubleDoubleOf<Real>& sum, const Real& a, const Real& b) {
  const auto product = two_product(a, b);
  const auto total = two_sum(sum.high, product.high);
  const Real error = total.low + (sum.low + product.low), high = total.high + error;
  return {high, error - (high - total.high)};
}

inline DoubleDouble plus_product(DoubleDouble sum, DoubleDouble a, DoubleDouble b) {
  const auto product = two_product(a.high, b.high);
  const auto total = two_sum(sum.high, product.high);
  const double error = total.low + (sum.low + (product.low + (a.high * b.low + a.low * b.high)));
  const double high = total.high + error;
  return {high, error - (high - total.high)};
}

/// (high, low) += a b.
inline void add_product(double& high, double& low, double a, double b) {
  const auto sum = plus_product(DoubleDouble{high, low}, a, b);
  high = sum.high, low = sum.low;
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

inline DoubleDouble operator/(DoubleDouble top, DoubleDouble bottom) {
  const double first = top.high / bottom.high;
  const DoubleDouble rest = plus_product(top, DoubleDouble{-first, 0.0}, bottom);
  const double second = (rest.high + rest.low) / bottom.high, high = first + second;
  return {high, second - (high - first)};
}

// --- Positive definite systems -------------------------------------------------------------------

/// Double-double factorization of a positive definite matrix: A^-1 = S M D^-1 M' S, S powers of
/// two, M unit upper triangular.
///
/// The pivots D are Schur complements of a matrix that is at least its diagonal prior: none can be
/// smaller than that (scaled alike), and one that rounding made smaller is set to it. So there is
/// an inverse for any A.
class DoubleDoubleFactor {
 public:
  DoubleDoubleFactor(ConstMatrix high, ConstMatrix low, ConstVector least)
      : d(least.size()), upper(d * d), left(d * d), pivots(d), scales(d), total(d) {
    for (Index i = 0; i < d; ++i) {
      int exponent;
      std::frexp(high(i, i), &exponent);
      scales[i] = std::ldexp(1.0, -(exponent >= 0 ? exponent / 2 : (exponent - 1) / 2));
    }
    for (Index i = 0; i < d; ++i)
      for (Index k = 0; k < d; ++k)
        left[i * d + k] = {scales[i] * high(i, k) * scales[k], scales[i] * low(i, k) * scales[k]};
    eliminate(least);
    invert_unit_triangle();
  }

  void write_inverse(Matrix inverse) {
    for (Index i = 0; i < d; ++i) {
      clear();
      for (Index k = i; k < d; ++k)
        add_row(total.data(), upper[k * d + i] / pivots[k], &upper[k * d], 0, i + 1);
      for (Index k = 0; k <= i; ++k)
        inverse(k, i) = inverse(i, k) = scales[i] * total[k].high * scales[k];
    }
  }

  void solve(ConstVector right, ConstVector right_low, Vector out) {
    clear();
    for (Index k = 0; k < d; ++k) {
      DoubleDouble sum{0.0, 0.0};
      for (Index i = 0; i <= k; ++i)
        sum = plus_product(sum, upper[k * d + i],
                           DoubleDouble{scales[i] * right[i], scales[i] * right_low[i]});
      add_row(total.data(), sum / pivots[k], &upper[k * d], 0, k + 1);
    }
    for (Index i = 0; i < d; ++i) out[i] = scales[i] * total[i].high;
  }

  /// log(det A / det of a diagonal matrix).
  double log_determinant_over(ConstVector prior) const {
    double sum = 0.0;
    for (Index i = 0; i < d; ++i) sum += log(pivots[i].high / scales[i] / scales[i] / prior[i]);
    return sum;
  }

 private:
  Index d;
  Buffer<DoubleDouble> upper, left, pivots;  // `upper` ends as M'
  Buffer<double> scales;
  Buffer<DoubleDouble> total;

  void clear() {
    for (auto& t : total) t = {0.0, 0.0};
  }

  static void add_row(DoubleDouble* sum, DoubleDouble weight, const DoubleDouble* row, Index first,
                      Index last) {
    for (Index k = first; k < last; ++k) sum[k] = plus_product(sum[k], weight, row[k]);
  }

  void eliminate(ConstVector least) {
    for (Index i = 0; i < d; ++i) {
      DoubleDouble* row = &left[i * d];
      const double floor = scales[i] * least[i] * scales[i];
      pivots[i] = row[i];
      if (!(row[i].high > floor)) {
        pivots[i] = {floor, 0.0};
        for (Index k = i + 1; k < d;
             ++k)  // beyond |a_ik|^2 <= a_ii a_kk it is rounding, which would grow every step
          if (row[k].high * row[k].high > floor * left[k * d + k].high) row[k] = {0.0, 0.0};
      }
      for (Index k = i + 1; k < d; ++k) upper[i * d + k] = row[k] / pivots[i];
      for (Index k = i + 1; k < d; ++k) add_row(&left[k * d], -upper[i * d + k], row, k, d);
    }
  }

  void invert_unit_triangle() {
    for (Index i = d; i-- > 0;) {
      DoubleDouble* row = &left[i * d];
      for (Index k = 0; k < d; ++k) row[k] = {k == i ? 1.0 : 0.0, 0.0};
      for (Index k = i + 1; k < d; ++k) add_row(row, -upper[i * d + k], &left[k * d], k, d);
    }
    for (Index i = 0; i < d; ++i)
      for (Index k = 0; k < d; ++k) upper[i * d + k] = left[k * d + i];
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
