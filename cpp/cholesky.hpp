// Triangular factors of symmetric matrices, and inverses by them.
#pragma once

#include <algorithm>
#include <cmath>

#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Cholesky factor: write the upper triangular R with R'R = matrix; return false at a pivot that is
/// not positive.
inline bool cholesky(ConstMatrix matrix, Matrix factor) {
  const Index d = matrix.rows;
  Buffer<double> row(d, Fill::none);
  for (Index i = 0; i < d; ++i) {
    std::copy_n(&matrix(i, 0), d, row.data());
    for (Index k = 0; k < i; ++k)
      for (Index j = i; j < d; ++j) row[j] -= factor(k, i) * factor(k, j);
    if (!(row[i] > 0.0)) return false;
    std::fill_n(&factor(i, 0), i, 0.0);
    for (Index j = i; j < d; ++j) factor(i, j) = row[j] / std::sqrt(row[i]);
  }
  return true;
}

/// Write matrix^-1 from its Cholesky factor.
inline void invert_factored(ConstMatrix factor, Matrix inverse) {
  const Index d = factor.rows;
  const OwnedMatrix root(d, d);
  for (Index i = d; i-- > 0;) {
    root(i, i) = 1.0;
    for (Index k = i + 1; k < d; ++k)
      for (Index j = k; j < d; ++j) root(i, j) -= factor(i, k) * root(k, j);
    for (Index j = i; j < d; ++j) root(i, j) /= factor(i, i);
  }
  for (Index i = 0; i < d; ++i)
    for (Index k = 0; k <= i; ++k)
      inverse(i, k) = inverse(k, i) =
          dot(ConstVector(root[i]).subspan(i), ConstVector(root[k]).subspan(i));
}

/// Write the inverse of a symmetric positive definite matrix; return false, and write nothing, if a
/// pivot is not positive.
inline bool invert(ConstMatrix matrix, Matrix inverse) {
  const OwnedMatrix factor(matrix.rows, matrix.rows, Fill::none);
  if (!cholesky(matrix, factor)) return false;
  invert_factored(factor, inverse);
  return true;
}

/// Replace a positive semidefinite matrix by the upper triangular R with R'R = matrix; a zero pivot
/// gives a zero row.
inline void cholesky_semidefinite(Matrix matrix) {
  // A pivot this small relative to its diagonal entry is rounding
  constexpr double negligible = 1e-10;
  const Index d = matrix.rows;
  for (Index k = 0; k < d; ++k) {
    const Vector row = matrix[k].subspan(k);
    const double size = row[0];
    for (Index j = 0; j < k; ++j) axpy(row, -matrix(j, k), matrix[j].subspan(k));
    const double inverse_pivot = row[0] > negligible * size ? 1.0 / std::sqrt(row[0]) : 0.0;
    for (double& entry : row) entry *= inverse_pivot;
    std::fill_n(matrix[k].begin(), k, 0.0);
  }
}

/// Update the upper triangular R to that of R'R + x x' by Givens rotations, O(d^2). `rest` [d] is
/// scratch.
inline void rotate(Matrix factor, ConstVector x, Vector rest) {
  const Index d = x.size();
  std::copy(x.begin(), x.end(), rest.begin());
  for (Index i = 0; i < d; ++i) {
    const double length = std::sqrt(factor(i, i) * factor(i, i) + rest[i] * rest[i]);
    if (!(length > 0.0)) continue;
    const double cosine = factor(i, i) / length, sine = rest[i] / length;
    for (Index k = i; k < d; ++k) {
      const double kept = factor(i, k);
      factor(i, k) = cosine * kept + sine * rest[k];
      rest[k] = cosine * rest[k] - sine * kept;
    }
  }
}

inline void rotate(Matrix factor, ConstVector x) {
  Buffer<double> scratch(x.size(), Fill::none);
  rotate(factor, x, scratch);
}

}  // namespace ensample::ENSAMPLE_LEVEL
