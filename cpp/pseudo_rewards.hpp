// Regression on rewards and pseudo-rewards together: by counts (LinPHE), or with a weight for each
// replicate (multiplier bootstrap). And which arms must be played before it can begin.
#pragma once

#include <cmath>

#include "kernels.hpp"
#include "ridge.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The arm of the basis that is to be played first, in turn among those that have no reward yet; -1
/// if there is none.
template <class Count>
Int unplayed(ConstInts basis, std::span<const Count> pulls, Int t) {
  Int waiting = 0;
  for (const auto arm : basis) waiting += pulls[Index(arm)] == 0;
  if (waiting == 0) return -1;
  Int skipped = t % waiting;
  for (const auto arm : basis)
    if (pulls[Index(arm)] == 0 && skipped-- == 0) return arm;
  return -1;
}

/// ceil(a n): the pseudo-rewards of an arm with n rewards.
inline Int pseudo_count(double a, Int n) { return Int(std::ceil(a * double(n))); }

/// Write G^-1 with G = (a + 1) lam I + sum_k (N_k + ceil(a N_k)) x_k x_k'; return false if G is
/// singular to working precision.
template <class Count>
bool invert_mixed(ConstMatrix rows, std::span<const Count> pulls, double a, double lam,
                  Matrix inverse) {
  const Index d = rows.columns;
  const OwnedMatrix gram(d, d);
  for (Index i = 0; i < d; ++i) gram(i, i) = (a + 1.0) * lam;
  for (Index k = 0; k < rows.rows; ++k)
    if (pulls[k] > 0)
      add_outer(gram, double(pulls[k] + pseudo_count(a, pulls[k])), rows[k], rows[k]);
  return invert(gram, inverse);
}

/// A replicate observes (x, y) with the first of three weights, and pseudo-rewards 0 and 1 with
/// `pseudo` times the others.
inline void weigh(Matrix gram, Vector target, ConstVector weights, double pseudo, ConstVector x,
                  double y) {
  const double real = std::max(weights[0], 0.0);
  const double low = pseudo * std::max(weights[1], 0.0), high = pseudo * std::max(weights[2], 0.0);
  add_outer(gram, real + low + high, x, x);
  axpy(target, real * y + high, x);
}

/// theta = G^-1 b; 0 where G is singular to working precision.
inline void weighted_estimate(ConstMatrix gram, ConstVector target, Vector theta) {
  const OwnedMatrix inverse(gram.rows, gram.rows, Fill::none);
  if (invert(gram, inverse))
    sum_rows(theta, inverse, target);
  else
    for (double& entry : theta) entry = 0.0;
}

}  // namespace ensample::ENSAMPLE_LEVEL
