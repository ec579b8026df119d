// Owned arrays, weighted sums of rows, dot products and the argmax. Every column adds its rows in
// order, so the bits do not depend on the width of the registers.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "simd.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

enum class Fill { zeros, none };

/// Array that starts at a cache line.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Buffer(Index size, Fill fill = Fill::zeros)
      : first(static_cast<T*>(::operator new(size * sizeof(T), line))), count(size) {
    if (fill == Fill::zeros) std::memset(static_cast<void*>(first), 0, size * sizeof(T));
  }
  ~Buffer() { ::operator delete(first, line); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T& operator[](Index i) { return first[i]; }
  const T& operator[](Index i) const { return first[i]; }
  T* data() { return first; }
  T* begin() { return first; }
  T* end() { return first + count; }
  const T* data() const { return first; }
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  Index size() const { return count; }

 private:
  static constexpr std::align_val_t line{64};
  T* first;
  Index count;
};

/// A matrix that owns its items.
class OwnedMatrix : public Matrix {
 public:
  OwnedMatrix(Index rows, Index columns, Fill fill = Fill::zeros)
      : Matrix{nullptr, rows, columns}, buffer(rows * columns, fill) {
    data = buffer.data();
  }

 private:
  Buffer<double> buffer;
};

inline void copy_values(ConstVector from, Vector to) {
  std::memcpy(to.data(), from.data(), from.size_bytes());
}

/// total = sum_i weights[i] rows[i], row after row, added to what there is if Keep.
template <bool Keep>
[[gnu::always_inline]] inline void weigh_rows(Vector total, ConstMatrix rows, ConstVector weights) {
  for_each_column_tile<32>(total.size(), [&]<int N>(Index start) __attribute__((always_inline)) {
    auto tile = Keep ? SimdVector<N>::load(&total[start]) : SimdVector<N>::of(0.0);
    const double* row = rows.data + start;
    for (const double weight : weights) {
      tile += weight * SimdVector<N>::load(row);
      row += rows.columns;
    }
    tile.store(&total[start]);
  });
}

inline void sum_rows(Vector total, ConstMatrix rows, ConstVector weights) {
  weigh_rows<false>(total, rows, weights);
}

/// total += sum_i weights[i] rows[indices[i]].
inline void add_some_rows(Vector total, ConstMatrix rows, ConstInts indices,
                          const double* weights) {
  for_each_column_tile<16>(total.size(), [&]<int N>(Index start) __attribute__((always_inline)) {
    auto tile = SimdVector<N>::load(&total[start]);
    for (Index i = 0; i < indices.size(); ++i)
      tile += weights[i] * SimdVector<N>::load(rows.data + indices[i] * rows.columns + start);
    tile.store(&total[start]);
  });
}

/// total += weight row.
inline void axpy(Vector total, double weight, ConstVector row) {
  double* place = total.data();
  const double* from = row.data();
  for_each_column_tile<16>(total.size(), [=]<int N>(Index start) {
    (SimdVector<N>::load(place + start) + weight * SimdVector<N>::load(from + start))
        .store(place + start);
  });
}

/// matrix += (weight left) right'.
[[gnu::always_inline]] inline void add_outer(Matrix matrix, double weight, ConstVector left,
                                             ConstVector right) {
  // Wider rows are read one after the other: tiles would jump from row to row
  constexpr Index narrow = 64;
  if (right.size() > narrow) {
    for (Index i = 0; i < left.size(); ++i) axpy(matrix[i], weight * left[i], right);
    return;
  }
  for_each_column_tile<16>(right.size(), [&]<int N>(Index start) __attribute__((always_inline)) {
    const auto tile = SimdVector<N>::load(&right[start]);
    for (Index i = 0; i < left.size(); ++i) {
      double* place = matrix.data + i * matrix.columns + start;
      (SimdVector<N>::load(place) + (weight * left[i]) * tile).store(place);
    }
  });
}

/// x'y: four sums over every fourth product, then their sum.
inline double dot(ConstVector x, ConstVector y) {
  const Index whole = x.size() - x.size() % 4;
  auto sums = SimdVector<4>::of(0.0);
  for (Index k = 0; k < whole; k += 4)
    sums += SimdVector<4>::load(&x[k]) * SimdVector<4>::load(&y[k]);
  double rest = 0.0;
  for (Index k = whole; k < x.size(); ++k) rest += x[k] * y[k];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

/// total += a x, then b y.
inline void add_two(Vector total, double a, ConstVector x, double b, ConstVector y) {
  for (Index k = 0; k < total.size(); ++k) total[k] = (total[k] + a * x[k]) + b * y[k];
}

/// out = values', in squares of 4 x 4 where there is AVX.
inline void transpose(Matrix out, ConstMatrix values) {
  Index rows = 0, columns = 0;
#if defined(__AVX__)
  rows = values.rows - values.rows % 4, columns = values.columns - values.columns % 4;
  for (Index i = 0; i < rows; i += 4)
    for (Index k = 0; k < columns; k += 4) {
      const __m256d a = _mm256_loadu_pd(&values(i, k)), b = _mm256_loadu_pd(&values(i + 1, k));
      const __m256d c = _mm256_loadu_pd(&values(i + 2, k)), d = _mm256_loadu_pd(&values(i + 3, k));
      const __m256d ab = _mm256_unpacklo_pd(a, b), ba = _mm256_unpackhi_pd(a, b);
      const __m256d cd = _mm256_unpacklo_pd(c, d), dc = _mm256_unpackhi_pd(c, d);
      _mm256_storeu_pd(&out(k, i), _mm256_permute2f128_pd(ab, cd, 0x20));
      _mm256_storeu_pd(&out(k + 1, i), _mm256_permute2f128_pd(ba, dc, 0x20));
      _mm256_storeu_pd(&out(k + 2, i), _mm256_permute2f128_pd(ab, cd, 0x31));
      _mm256_storeu_pd(&out(k + 3, i), _mm256_permute2f128_pd(ba, dc, 0x31));
    }
#endif
  for (Index i = 0; i < values.rows; ++i)
    for (Index k = i < rows ? columns : 0; k < values.columns; ++k) out(k, i) = values(i, k);
}

/// Return true if one of 8 scores is the given one. By hand: compilers compare one after the other.
inline bool has_equal(const double* scores, double value) {
#if defined(__AVX__)
  const auto wanted = _mm256_set1_pd(value);
  const auto low = _mm256_cmp_pd(_mm256_loadu_pd(scores), wanted, _CMP_EQ_OQ);
  const auto high = _mm256_cmp_pd(_mm256_loadu_pd(scores + 4), wanted, _CMP_EQ_OQ);
  return _mm256_movemask_pd(_mm256_or_pd(low, high)) != 0;
#else
  Int equal = 0;
  for (int i = 0; i < 8; ++i) equal |= -Int(scores[i] == value);
  return equal != 0;
#endif
}

/// Index of the largest score, the lowest on ties: find the maximum first, then its place.
inline Index argmax(ConstVector scores) {
  const Index whole = scores.size() - scores.size() % 8;
  auto best = SimdVector<8>::of(scores[0]);
  for (Index k = 0; k < whole; k += 8) best = larger(best, SimdVector<8>::load(&scores[k]));
  double top = best[0];
  for (int i = 1; i < 8; ++i) top = best[i] > top ? best[i] : top;
  for (Index k = whole; k < scores.size(); ++k) top = scores[k] > top ? scores[k] : top;
  Index start = 0;
  while (start < whole && !has_equal(&scores[start], top)) start += 8;
  for (Index k = start; k < scores.size(); ++k)
    if (scores[k] == top) return k;
  return 0;  // NaN
}

}  // namespace ensample::ENSAMPLE_LEVEL
