// Linear Ensemble++: directions S' [M, d], one row a direction, of which each round draws a Gaussian combination.
#pragma once

#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// S += x z'.
inline void add_directions(Matrix directions, ConstVector x, ConstVector z) { add_outer(directions, 1.0, z, x); }

/// total = sum_j weights[j] (older[j] + newer[j]), for `directions` [2M, d] whose first half holds older terms.
inline void combine_directions(ConstMatrix directions, ConstVector weights, Vector total) {
  const ConstMatrix older = directions.between(0, weights.size());
  const ConstMatrix newer = directions.between(weights.size(), 2 * weights.size());
  for_each_column_tile<16>(total.size(), [&]<int N>(std::size_t start) {
    auto tile = SimdVector<N>::of(0.0);
    for (std::size_t j = 0; j < weights.size(); ++j)
      tile += weights[j] * (SimdVector<N>::load(&older(j, start)) + SimdVector<N>::load(&newer(j, start)));
    tile.store(&total[start]);
  });
}

}  // namespace ensample::ENSAMPLE_LEVEL
