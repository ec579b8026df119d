// Table of the search kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

inline constexpr std::size_t search_tile = 64;  // arms whose codes are stored together
inline constexpr std::size_t max_search_dim = 2048;  // columns whose bounds fit 16 bits

struct SearchKernels {
  std::size_t (*greedy_arm)(ConstVector theta, ConstMatrix by_coordinate);
  void (*greedy_arms)(ConstMatrix thetas, ConstMatrix by_coordinate, Ints chosen, Vector scores);
  std::size_t (*scan_arms)(ConstMatrix rows, ConstVector theta);
  void (*encode_arms)(ConstMatrix rows, Matrix table, std::span<std::uint8_t> codes);
  std::size_t (*find_best_arm)(ConstMatrix rows, ConstMatrix table, const std::uint8_t* codes, ConstVector theta);
  void (*find_best_arms)(ConstMatrix rows, ConstMatrix table, const std::uint8_t* codes, ConstMatrix thetas,
                         Ints chosen, Vector scores);
};

}  // namespace ensample
