// The units in which networks see features and rewards.
#pragma once

#include <algorithm>
#include <cmath>

#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline constexpr double widest_feature = 100.0;  // times its typical size: further out, where networks know nothing, it counts no more
inline constexpr double recent_misses = 4.0;     // weight of the newest of n squared misses, times n

/// A row as networks see it. A feature that has no unit yet is its own.
inline void scale_row(ConstVector row, ConstVector sizes, Vector seen) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double size = sizes[i] > 0.0 ? sizes[i] : std::abs(row[i]);
    seen[i] = size > 0.0 ? std::min(std::max(row[i] / size, -widest_feature), widest_feature) : 0.0;
  }
}

inline void scale_rows(ConstMatrix rows, ConstVector sizes, Matrix seen) {
  for (std::size_t b = 0; b < rows.rows; ++b) scale_row(rows[b], sizes, seen[b]);
}

/// Learn units of features from one more observation, number `count`. A feature is divided by the root mean square of its values
/// that are not 0, which is brought up to date whenever the number of observations has doubled.
inline void learn_sizes(Vector sizes, Vector squares, Vector seen, ConstVector x, std::int64_t count) {
  const bool due = (count & (count - 1)) == 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool there = x[i] != 0.0;
    squares[i] += x[i] * x[i];
    if (there) seen[i] += 1.0;
    if ((there && sizes[i] == 0.0) || (due && seen[i] > 0.0)) sizes[i] = std::sqrt(squares[i] / seen[i]);
  }
}

/// Mean and spread of the rewards, and by how much the members' mean has missed them, each before it was learned.
struct RewardUnits {
  double mean, deviations, misses;  // deviations: sum of squares; misses: mean of squares, the recent ones counting more

  /// The standard deviation; where all rewards are equal their size; 1 before the first that is not 0.
  double spread(std::int64_t count) const {
    const double found = std::sqrt(deviations / static_cast<double>(std::max<std::int64_t>(count, 1)));
    if (found > 0.0) return found;
    return mean != 0.0 ? std::abs(mean) : 1.0;
  }
  /// The standard deviation of the noise, as far as it is known: misses, which never exceed the rewards' own spread.
  double sigma(std::int64_t count) const { return std::min(std::sqrt(misses), spread(count)); }

  /// With one more reward, number `count`, that was missed by so much (Welford).
  RewardUnits after(double y, std::int64_t count, double miss) const {
    const double n = static_cast<double>(count), share = std::min(1.0, recent_misses / n), moved = mean + (y - mean) / n;
    return {moved, deviations + (y - mean) * (y - moved), (1.0 - share) * misses + share * miss * miss};
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
