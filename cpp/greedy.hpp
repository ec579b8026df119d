// Exact argmax over few arms, whose features are stored by coordinate, [d, K]: every arm is scored.
#pragma once

#include <limits>

#include "buffer.hpp"
#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// argmax_k x_k'theta, the lowest index on ties.
inline std::size_t greedy_arm(ConstVector theta, ConstMatrix by_coordinate) {
  Buffer<double> scores(by_coordinate.columns, Fill::none);
  sum_rows(scores, by_coordinate, theta);
  return argmax(scores);
}

/// The same for each column of `thetas` [d, m], and its score: a product of [m, d] with [d, K], in blocks of members whose
/// scores stay in the first cache.
inline void greedy_arms(ConstMatrix thetas, ConstMatrix by_coordinate, Ints chosen, Vector scores) {
  constexpr std::size_t block = 256;
  alignas(64) double found[block];
  for (std::size_t j = 0; j < thetas.columns; ++j) chosen[j] = 0, scores[j] = -std::numeric_limits<double>::infinity();
  for (std::size_t start = 0; start < thetas.columns; start += block) {
    const std::size_t width = thetas.columns - start < block ? thetas.columns - start : block;
    for (std::size_t k = 0; k < by_coordinate.columns; ++k) {
      for (std::size_t j = 0; j < width; ++j) found[j] = 0.0;
      for (std::size_t i = 0; i < thetas.rows; ++i) axpy({found, width}, by_coordinate(i, k), {&thetas(i, start), width});
      for (std::size_t j = 0; j < width; ++j)
        if (found[j] > scores[start + j]) scores[start + j] = found[j], chosen[start + j] = static_cast<std::int64_t>(k);
    }
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
