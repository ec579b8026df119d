// Vectors of 16-bit integers that stay in registers. Sums may wrap around on the way: they are
// right in the end if the result fits 16 bits.
#pragma once

#include <bit>

#include "simd.hpp"

namespace ensample::ENSAMPLE_LEVEL {

static_assert(std::endian::native == std::endian::little,
              "codes of two arms are read as one 16-bit word");

#if defined(__AVX512BW__)
inline constexpr int int16_width = 32;  // 16-bit integers in a register
#elif defined(__AVX2__)
inline constexpr int int16_width = 16;
#else
inline constexpr int int16_width = 8;
#endif

template <int N>
struct Int16Register {
  typedef std::uint16_t words __attribute__((vector_size(2 * N)));
  typedef std::int16_t signed_words __attribute__((vector_size(2 * N)));
};

/// N integers in as few registers as possible; each half is a vector of its own, as in SimdVector.
template <int N, bool Fits = (N <= int16_width)>
struct Int16Vector {
  Int16Vector<N / 2> low, high;

  static Int16Vector load(const void* from) {
    return {Int16Vector<N / 2>::load(from),
            Int16Vector<N / 2>::load(static_cast<const char*>(from) + N)};
  }
  static Int16Vector of(std::uint16_t value) {
    return {Int16Vector<N / 2>::of(value), Int16Vector<N / 2>::of(value)};
  }
  void store(std::int16_t* to) const { low.store(to), high.store(to + N / 2); }
  template <int first>
  Int16Vector code() const {
    return {low.template code<first>(), high.template code<first>()};
  }
  std::int16_t max() const { return larger(low, high).max(); }

  friend Int16Vector operator+(const Int16Vector& a, const Int16Vector& b) {
    return {a.low + b.low, a.high + b.high};
  }
  friend Int16Vector operator*(const Int16Vector& a, std::uint16_t weight) {
    return {a.low * weight, a.high * weight};
  }
  friend Int16Vector larger(const Int16Vector& a, const Int16Vector& b) {
    return {larger(a.low, b.low), larger(a.high, b.high)};
  }
};

/// A vector that fits one register. Unsigned, since signed overflow is undefined.
template <int N>
struct Int16Vector<N, true> {
  using Words = typename Int16Register<N>::words;
  using SignedWords = typename Int16Register<N>::signed_words;
  Words words;

  static Int16Vector load(const void* from) {
    Int16Vector vector;
    std::memcpy(&vector.words, from, sizeof vector.words);
    return vector;
  }
  static Int16Vector of(std::uint16_t value) { return {Words{} + value}; }
  void store(std::int16_t* to) const { std::memcpy(to, &words, sizeof words); }

  /// Bits `first` to `first + 3` of each word.
  template <int first>
  Int16Vector code() const {
    if constexpr (first == 12) return {words >> 12};
    return {(words >> first) & std::uint16_t{15}};
  }

  /// The larger half again and again; element by element it took a third of a search.
  std::int16_t max() const {
    if constexpr (N > 8) {
      Int16Vector<N / 2> halves[2];
      std::memcpy(halves, &words, sizeof words);
      return larger(halves[0], halves[1]).max();
    } else {
      return max_of_8();
    }
  }

  friend Int16Vector operator+(const Int16Vector& a, const Int16Vector& b) {
    return {a.words + b.words};
  }
  friend Int16Vector operator*(const Int16Vector& a, std::uint16_t weight) {
    return {a.words * weight};
  }
  friend Int16Vector larger(const Int16Vector& a, const Int16Vector& b) {
    const auto x = (SignedWords)a.words, y = (SignedWords)b.words;
    return {(Words)(y > x ? y : x)};
  }

 private:
  std::int16_t max_of_8() const {
#if defined(__SSE2__)
    __m128i top = (__m128i)words;
    top = _mm_max_epi16(top, _mm_srli_si128(top, 8));
    top = _mm_max_epi16(top, _mm_srli_si128(top, 4));
    top = _mm_max_epi16(top, _mm_srli_si128(top, 2));
    return static_cast<std::int16_t>(_mm_cvtsi128_si32(top));
#else
    const auto values = (SignedWords)words;
    std::int16_t top = values[0];
    for (int i = 1; i < N; ++i) top = values[i] > top ? values[i] : top;
    return top;
#endif
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
