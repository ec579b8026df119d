// Products of small matrices. A row of a product is a sum of rows of the right matrix, which stays
// in registers; numbers of the left matrix that are 0, as half of those behind a rectifier are, are
// left out. Every element adds its terms in order, so the bits depend neither on the width of the
// registers nor on what is left out.
#pragma once

#include <algorithm>
#include <bit>

#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline constexpr Index chunk_width = 8;  // columns in a chunk, the least that is computed together
// Rows of the right matrix that are gone through at once: bits of a word
inline constexpr Index max_inner = 64;
#if defined(__AVX512F__)
// Chunks of a row in registers: 32 registers hold as many, beside a product
inline constexpr Index max_chunks = 8;
#elif defined(__AVX__)
inline constexpr Index max_chunks = 7;
#else
inline constexpr Index max_chunks = 3;
#endif
// Rows of a product: with fewer, packing takes longer than it saves
inline constexpr Index min_packed_rows = 16;

/// Bit mask of the numbers that are not 0, of at most 64.
inline std::uint64_t nonzero_bits(const double* values, Index count) {
  std::uint64_t bits = 0;
  Index k = 0;
#if defined(__AVX512F__)
  for (; k + 8 <= count; k += 8)
    bits |= static_cast<std::uint64_t>(
                _mm512_cmpneq_pd_mask(_mm512_loadu_pd(values + k), _mm512_setzero_pd()))
            << k;
#elif defined(__AVX__)
  for (; k + 4 <= count; k += 4) {
    const auto differ =
        _mm256_cmp_pd(_mm256_loadu_pd(values + k), _mm256_setzero_pd(), _CMP_NEQ_UQ);
    bits |= static_cast<std::uint64_t>(_mm256_movemask_pd(differ)) << k;
  }
#endif
  for (; k < count; ++k) bits |= static_cast<std::uint64_t>(values[k] != 0.0) << k;
  return bits;
}

/// One or more chunks of a row. The last of several may begin before the one before it ends, so
/// that a row of 50 is seven chunks; what both hold is computed twice.
template <int Chunks>
struct Tile {
  SimdVector<static_cast<int>(chunk_width) * (Chunks - 1)> body;
  SimdVector<chunk_width> last;

  static Tile load(const double* from, Index last) {
    return {decltype(body)::load(from), decltype(Tile::last)::load(from + last)};
  }
  static Tile of(double value) { return {decltype(body)::of(value), decltype(last)::of(value)}; }
  void store(double* to, Index last_offset) const { body.store(to), last.store(to + last_offset); }
  void add(double weight, const double* row, Index last_offset) {
    body += weight * decltype(body)::load(row);
    last += weight * decltype(last)::load(row + last_offset);
  }
  template <class Finish>
  void finish(const Finish& finish, Index place, Index last_offset) {
    body = finish(body, place), last = finish(last, place + last_offset);
  }
};

/// A row of N columns.
template <int N>
struct SingleTile {
  SimdVector<N> body;

  static SingleTile load(const double* from, Index) { return {SimdVector<N>::load(from)}; }
  static SingleTile of(double value) { return {SimdVector<N>::of(value)}; }
  void store(double* to, Index) const { body.store(to); }
  void add(double weight, const double* row, Index) { body += weight * SimdVector<N>::load(row); }
  template <class Finish>
  void finish(const Finish& finish, Index place, Index) {
    body = finish(body, place);
  }
};

template <>
struct Tile<1> : SingleTile<chunk_width> {
  static Tile load(const double* from, Index) { return {SingleTile<chunk_width>::load(from, 0)}; }
  static Tile of(double value) { return {SingleTile<chunk_width>::of(value)}; }
};

/// Leave a sum as it is. Other functions of this kind take a sum and the place of its first
/// element in the product.
struct Keep {
  template <int N>
  SimdVector<N> operator()(const SimdVector<N>& sum, Index) const {
    return sum;
  }
};

/// Rows of the right matrix, from `inner` on: their beginning, the step between them, and the
/// offset of the last chunk of each.
struct Panel {
  const double* data;
  Index step, last;
};

/// Part of a product: columns from `column` on, the last chunk `last` after it, over `count`
/// numbers of each left row.
struct Part {
  Index column, last, inner, count;
  bool begins, ends;
};

template <class Columns, class Finish>
void multiply_part(Matrix out, ConstMatrix left, Panel right, const double* start, const Part& part,
                   const Finish& finish) {
  for (Index i = 0; i < out.rows; ++i) {
    double* place = &out(i, part.column);
    auto sum = !part.begins ? Columns::load(place, part.last)
               : start      ? Columns::load(start + part.column, part.last)
                            : Columns::of(0.0);
    const double* weights = &left(i, part.inner);
    for (std::uint64_t bits = nonzero_bits(weights, part.count); bits != 0; bits &= bits - 1) {
      const auto k = Index(std::countr_zero(bits));
      sum.add(weights[k], right.data + k * right.step, right.last);
    }
    if (part.ends) sum.finish(finish, i * out.columns + part.column, part.last);
    sum.store(place, part.last);
  }
}

/// Copy the columns of a part to rows of whole chunks, each of which begins with a cache line.
inline Panel pack(double* packed, ConstMatrix right, const Part& part, Index chunks) {
  const Index step = chunks * chunk_width, last = step - chunk_width;
  for (Index k = 0; k < part.count; ++k) {
    const double* row = &right(part.inner + k, part.column);
    double* to = packed + k * step;
    for (Index c = 0; c < last; c += chunk_width)
      SimdVector<chunk_width>::load(row + c).store(to + c);
    SimdVector<chunk_width>::load(row + part.last).store(to + last);
  }
  return {packed, step, last};
}

template <int Chunks, class Finish>
void multiply_chunks(Index chunks, Matrix out, ConstMatrix left, Panel right, const double* start,
                     const Part& part, const Finish& finish) {
  if constexpr (Chunks > 1)
    if (chunks < Chunks)
      return multiply_chunks<Chunks - 1>(chunks, out, left, right, start, part, finish);
  multiply_part<Tile<Chunks>>(out, left, right, start, part, finish);
}

/// out = finish(start + left right), for `start` a row or null; `out` is neither of the others.
template <class Finish = Keep>
void multiply(Matrix out, ConstMatrix left, ConstMatrix right, const double* start = nullptr,
              const Finish& finish = {}) {
  alignas(64) double packed[max_inner * max_chunks * chunk_width];
  const Index chunks = (out.columns + chunk_width - 1) / chunk_width;
  const Index tiles = (chunks + max_chunks - 1) / max_chunks;
  for (Index inner = 0; inner < right.rows; inner += max_inner) {
    const Index count = std::min(max_inner, right.rows - inner);
    const bool begins = inner == 0, ends = inner + count == right.rows;
    const auto direct = [&](Index column, Index last) {
      return Panel{&right(inner, column), right.columns, last};
    };
    if (out.columns < chunk_width) {
      for (Index column = 0; column < out.columns; ++column)
        multiply_part<SingleTile<1>>(out, left, direct(column, 0), start,
                                     {column, 0, inner, count, begins, ends}, finish);
      continue;
    }
    for (Index tile = 0; tile < tiles;
         ++tile) {  // of about equal widths: none but a row of 8 has a single chunk
      const Index from = tile * chunks / tiles, to = (tile + 1) * chunks / tiles;
      const Index column = from * chunk_width;
      const Index last = (to == chunks ? out.columns : to * chunk_width) - chunk_width - column;
      const Part part{column, last, inner, count, begins, ends};
      const Panel panel =
          out.rows < min_packed_rows ? direct(column, last) : pack(packed, right, part, to - from);
      multiply_chunks<max_chunks>(to - from, out, left, panel, start, part, finish);
    }
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
