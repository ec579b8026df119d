// Double-double arithmetic: a pair (high, low) stands for high + low and carries twice the digits of a double.
// T. J. Dekker, Numerische Mathematik 18 (1971); D. E. Knuth, The Art of Computer Programming, vol. 2, section 4.2.2.
#pragma once

#include <cmath>

#include "simd.hpp"

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
SimdVector<N> product_error(const SimdVector<N>& a, const SimdVector<N>& b, const SimdVector<N>& product) {
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

}  // namespace ensample::ENSAMPLE_LEVEL
