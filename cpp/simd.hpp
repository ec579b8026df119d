// Vectors of doubles that stay in registers. Every element is computed in the order of the source,
// each product and each sum rounded by itself (-ffp-contract=off), so that the bits are the same
// for every register width.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef ENSAMPLE_LEVEL
#error \
    "compile with -DENSAMPLE_LEVEL=<name of an instruction set>: each level has its own namespace"
#endif

namespace ensample::ENSAMPLE_LEVEL {

#if defined(__AVX512F__)
inline constexpr int register_width = 8;  // doubles in a register
#elif defined(__AVX__)
inline constexpr int register_width = 4;
#else
inline constexpr int register_width = 2;
#endif

template <int N>
struct Register {
  typedef double type __attribute__((vector_size(8 * N)));
};

template <>
struct Register<1> {
  using type = double;
};

/// N doubles in as few registers as possible. Each part is a vector of its own: gcc 12 keeps an
/// array of registers in memory (rounds took two to six times as long).
template <int N, bool Fits = (N <= register_width)>
struct SimdVector {
  // N / 2 for a power of two
  static constexpr int M = std::bit_floor(static_cast<unsigned>(N - 1));
  SimdVector<M> low;
  SimdVector<N - M> high;

  static SimdVector load(const double* from) {
    return {SimdVector<M>::load(from), SimdVector<N - M>::load(from + M)};
  }
  static SimdVector of(double value) {
    return {SimdVector<M>::of(value), SimdVector<N - M>::of(value)};
  }
  void store(double* to) const { low.store(to), high.store(to + M); }
  double operator[](int i) const { return i < M ? low[i] : high[i - M]; }

  friend SimdVector operator+(const SimdVector& a, const SimdVector& b) {
    return {a.low + b.low, a.high + b.high};
  }
  friend SimdVector operator-(const SimdVector& a, const SimdVector& b) {
    return {a.low - b.low, a.high - b.high};
  }
  friend SimdVector operator*(const SimdVector& a, const SimdVector& b) {
    return {a.low * b.low, a.high * b.high};
  }
  friend SimdVector operator*(double weight, const SimdVector& a) {
    return {weight * a.low, weight * a.high};
  }
  friend SimdVector larger(const SimdVector& a, const SimdVector& b) {
    return {larger(a.low, b.low), larger(a.high, b.high)};
  }
  friend SimdVector where_positive(const SimdVector& a, const SimdVector& yes,
                                   const SimdVector& no) {
    return {where_positive(a.low, yes.low, no.low), where_positive(a.high, yes.high, no.high)};
  }
  /// `chosen` where a > b, `other` elsewhere.
  friend SimdVector where_greater(const SimdVector& a, const SimdVector& b,
                                  const SimdVector& chosen, const SimdVector& other) {
    return {where_greater(a.low, b.low, chosen.low, other.low),
            where_greater(a.high, b.high, chosen.high, other.high)};
  }
  SimdVector& operator+=(const SimdVector& other) { return *this = *this + other; }
};

/// A vector that fits one register.
template <int N>
struct SimdVector<N, true> {
  using Vec = typename Register<N>::type;
  Vec v;

  static SimdVector load(const double* from) {
    SimdVector vector;
    std::memcpy(&vector.v, from, sizeof vector.v);
    return vector;
  }
  static SimdVector of(double value) { return {value - Vec{}}; }
  void store(double* to) const { std::memcpy(to, &v, sizeof v); }
  double operator[](int i) const {
    if constexpr (N == 1)
      return v;
    else
      return v[i];
  }

  friend SimdVector operator+(const SimdVector& a, const SimdVector& b) { return {a.v + b.v}; }
  friend SimdVector operator-(const SimdVector& a, const SimdVector& b) { return {a.v - b.v}; }
  friend SimdVector operator*(const SimdVector& a, const SimdVector& b) { return {a.v * b.v}; }
  friend SimdVector operator*(double weight, const SimdVector& a) { return {weight * a.v}; }
  friend SimdVector larger(const SimdVector& a, const SimdVector& b) {
    return {b.v > a.v ? b.v : a.v};
  }
  friend SimdVector where_positive(const SimdVector& a, const SimdVector& yes,
                                   const SimdVector& no) {
    return {a.v > Vec{} ? yes.v : no.v};
  }
  friend SimdVector where_greater(const SimdVector& a, const SimdVector& b,
                                  const SimdVector& chosen, const SimdVector& other) {
    return {a.v > b.v ? chosen.v : other.v};
  }
  SimdVector& operator+=(const SimdVector& other) { return *this = *this + other; }
};

/// Call body<N>(start) for tiles of N columns that cover `width`: up to 3 single columns, then 4, 8
/// ... and the widest (2 or more) repeatedly.
template <int Widest, class Body>
[[gnu::always_inline]] inline void for_each_column_tile(Index width, Body&& body) {
  Index start = width % 4;
  for (Index k = 0; k < start; ++k) body.template operator()<1>(k);
  if constexpr (Widest > 4) {
    if (width & 4) body.template operator()<4>(start), start += 4;
  }
  if constexpr (Widest > 8) {
    if (width & 8) body.template operator()<8>(start), start += 8;
  }
  if constexpr (Widest > 16) {
    if (width & 16) body.template operator()<16>(start), start += 16;
  }
  for (; start < width; start += Widest) body.template operator()<Widest>(start);
}

inline constexpr Index count_block = 16;  // counts that `unequal` compares together

/// Bit mask of the places where `count_block` counts differ from others.
inline std::uint32_t unequal(const std::int32_t* counts, const std::int32_t* others) {
#if defined(__AVX2__)  // with AVX-512 too: gcc 12 spills a mask of 16 bits as 2 bytes and reads 4
  std::uint32_t same = 0;
  for (int half = 0; half < 2; ++half) {
    const auto a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counts) + half);
    const auto b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(others) + half);
    same |= static_cast<std::uint32_t>(
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))))
            << (8 * half);
  }
  return same ^ 0xFFFFu;
#else
  std::uint32_t differ = 0;
  for (Index k = 0; k < count_block; ++k)
    differ |= static_cast<std::uint32_t>(counts[k] != others[k]) << k;
  return differ;
#endif
}

}  // namespace ensample::ENSAMPLE_LEVEL
