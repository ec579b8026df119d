// A step downhill: all weights, against the pull to where they began.
#pragma once

#include <cmath>

#include "simd.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline constexpr double largest_gradient = 1e150;  // beyond it squares may not be finite
// A square beyond it may be no number in single precision
inline constexpr double largest_single = 1e36;

/// Strengths of the pull of weights to where they began, by runs of equal strengths.
struct Regularizer {
  ConstInts ends;         // the last being n
  ConstVector strengths;  // where lam / n is 1
};

/// Length of step `number` of Adam. Both moments begin at 0; 1 - 0.9^number and 1 - 0.999^number
/// make up for it.
struct AdamStep {
  double rate, first, tiny;

  AdamStep(double rate, Int number) : rate(rate) {
    const double root = std::sqrt(1.0 - power(0.999, number));
    first = rate * root / (1.0 - power(0.9, number));
    tiny = 1e-8 * root;  // keeps the quotient finite where a weight has no gradient
  }

 private:
  static double power(double base, Int exponent) {  // by squaring: the same bits everywhere
    double result = 1.0;
    for (; exponent > 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return result;
  }
};

inline bool is_large(double second) { return second > largest_single; }

/// m / (sqrt(v) + tiny) in single precision, 0 where v is large. Both operations are rounded as
/// IEEE 754 says.
inline SimdVector<1> over_root(SimdVector<1> m, SimdVector<1> v, double tiny) {
  const float quotient =
      static_cast<float>(m.v) / (std::sqrt(static_cast<float>(v.v)) + static_cast<float>(tiny));
  return {is_large(v.v) ? 0.0 : double(quotient)};
}

inline SimdVector<8> over_root(const SimdVector<8>& m, const SimdVector<8>& v, double tiny) {
#if defined(__AVX512F__)
  const __m256 root = _mm256_sqrt_ps(__builtin_convertvector(v.v, __m256));
  const __m256 more = _mm256_set1_ps(static_cast<float>(tiny));
  const __m256 quotient = __builtin_convertvector(m.v, __m256) / (root + more);
  return {v.v > largest_single ? __m512d{} : __builtin_convertvector(quotient, __m512d)};
#elif defined(__AVX__)
  const auto halves = [&](__m256d m, __m256d v) {
    const __m128 root = _mm_sqrt_ps(_mm256_cvtpd_ps(v));
    const __m128 more = _mm_set1_ps(static_cast<float>(tiny));
    const __m256d quotient =
        _mm256_cvtps_pd(_mm_div_ps(_mm256_cvtpd_ps(m), _mm_add_ps(root, more)));
    return _mm256_andnot_pd(_mm256_cmp_pd(v, _mm256_set1_pd(largest_single), _CMP_GT_OQ), quotient);
  };
  return {{halves(m.low.v, v.low.v)}, {halves(m.high.v, v.high.v)}};
#else
  double quotients[8];
  for (int i = 0; i < 8; ++i)
    quotients[i] = over_root(SimdVector<1>{m[i]}, SimdVector<1>{v[i]}, tiny).v;
  return SimdVector<8>::load(quotients);
#endif
}

/// Weights that are pulled alike, their moments and gradient, and where they began: [n] each.
struct WeightRun {
  double *w, *m, *v;
  const double *gradient, *anchor;
  Index size;
};

/// One step of Adam on sum_i loss_i + strength |w - anchor|^2 / 2, in place: beta = (0.9, 0.999).
///
/// w <- w - first m / (sqrt(v) + tiny), in the order of the end of the paper's Section 2. Moments
/// and weights are doubles; root and quotient, which it would take most of its time for, are taken
/// in single precision: a step is off by 1e-7 of its length, while the minibatch that it follows is
/// a sample. Where v is too large for single precision they are doubles too.
///
/// Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
inline void adam(const WeightRun& run, double strength, const AdamStep& adam_step) {
  const auto step = [&]<int N>(Index i) {
    using Simd = SimdVector<N>;
    const auto w = Simd::load(run.w + i);
    const auto g = Simd::load(run.gradient + i) + strength * (w - Simd::load(run.anchor + i));
    const auto m = 0.1 * g + 0.9 * Simd::load(run.m + i);
    const auto v = 0.001 * (g * g) + 0.999 * Simd::load(run.v + i);
    m.store(run.m + i), v.store(run.v + i);
    (w - adam_step.first * over_root(m, v, adam_step.tiny)).store(run.w + i);
    return v;
  };
  const Index whole = run.size - run.size % 8;
  auto top = SimdVector<8>::of(0.0);
  for (Index i = 0; i < whole; i += 8) top = larger(top, step.template operator()<8>(i));
  bool large = false;
  for (int i = 0; i < 8; ++i) large |= is_large(top[i]);
  for (Index i = whole; i < run.size; ++i) large |= is_large(step.template operator()<1>(i).v);
  for (Index i = 0; large && i < run.size; ++i)
    if (is_large(run.v[i]))
      run.w[i] -= adam_step.first * (run.m[i] / (std::sqrt(run.v[i]) + adam_step.tiny));
}

/// One step of all weights [3, n] with the moments of Adam, or [1, n] of gradient descent; `by`
/// multiplies the pull's strengths. Where the gradient [n] is not finite, false, and no step.
inline bool descend(Matrix weights, ConstVector gradient, ConstVector anchor,
                    const Regularizer& regularizer, double by, const AdamStep& adam_step) {
  Index invalid = 0;
  for (const double entry : gradient) invalid += !(std::abs(entry) < largest_gradient);
  if (invalid > 0) return false;
  Index begin = 0;
  for (Index run = 0; run < regularizer.ends.size(); ++run) {
    const auto end = Index(regularizer.ends[run]);
    const double strength = by * regularizer.strengths[run];
    double* w = weights.data + begin;
    if (weights.rows == 3)
      adam({w, w + weights.columns, w + 2 * weights.columns, &gradient[begin], &anchor[begin],
            end - begin},
           strength, adam_step);
    else
      for (Index i = begin; i < end; ++i)
        weights.data[i] -=
            adam_step.rate * (gradient[i] + strength * (weights.data[i] - anchor[i]));
    begin = end;
  }
  return true;
}

}  // namespace ensample::ENSAMPLE_LEVEL
