// Weighted least squares, a weight for each replicate: the multiplier bootstrap.
#pragma once

#include "recipe_kernels.hpp"
#include "ridge.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Replicate j observes (x, y) with weight w, and pseudo-rewards 0 and 1 with `pseudo` times weights of their own:
/// weights [3].
inline void weigh(const Replicates& replicates, std::size_t j, const double* weights, double pseudo, ConstVector x,
                  double y) {
  const double real = std::max(weights[0], 0.0);
  const double low = pseudo * std::max(weights[1], 0.0), high = pseudo * std::max(weights[2], 0.0);
  add_outer(replicates.grams[j], real + low + high, x, x);
  axpy(replicates.targets[j], real * y + high, x);
}

/// theta = G^-1 b; 0 where G is singular to working precision. `inverse` [d, d] is scratch.
inline void weighted_estimate(ConstMatrix gram, ConstVector target, Matrix inverse, Vector theta) {
  if (invert(gram, inverse))
    sum_rows(theta, inverse, target);
  else
    for (double& entry : theta) entry = 0.0;
}

}  // namespace ensample::ENSAMPLE_LEVEL
