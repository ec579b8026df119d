// Exact argmax over large arm sets, without reading all features.
//
// A feature is quantised to a code q_i of 4 bits: x_i = centre_i + step_i (q_i - 8 + r_i) with
// |r_i| <= 1/2. So, with w_i = theta_i step_i,
//
//     x'theta = centre'theta + sum_i w_i (q_i - 8) + sum_i w_i r_i.
//
// The last term is at most |w| |r|.
// An arm's |r| is stored too, rounded up to a byte: it is one more feature. With integer weights,
// w_i = unit p_i + rounding, an upper bound of every score is `unit` times an integer of 16 bits.
// One pass over the codes, a sixteenth of the features, finds the arms whose bound reaches a score
// that some arm is known to have; these are scored from their features. Scores are sums over
// coordinates in order, as everywhere: the result, the lowest index on ties, is that of scoring all
// arms, to the last bit.
#pragma once

#include <cmath>
#include <limits>

#include "int16.hpp"
#include "kernels.hpp"
#include "linalg.hpp"
#include "math.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline constexpr double max_code = 15.0, middle_code = 8.0;  // the latter is the code of the centre
inline constexpr double max_radius_code = 255.0;
inline constexpr double max_int16 = 32767.0;
// Half the distance from 1 to the next double, and a little.
inline constexpr double rounding = 1.2e-16;
inline constexpr double min_score = 1e-280;
inline constexpr double max_score = 1e280;  // between them nothing that matters under- or overflows
inline constexpr Index max_single_scores = 8;  // arms of a tile that are scored one by one

/// Number of bytes of codes in a tile, divided by `search_tile`: one for each pair of features, one
/// for the radius.
inline Index rows_of_codes(Index dim) { return (dim + 1) / 2 + 1; }

/// The unit of a code of |r|, which is at most sqrt(d) / 2; the highest code is left for roundings.
inline double radius_step(Index dim) {
  return 0.5 * std::sqrt(double(dim)) / (max_radius_code - 1.0);
}

/// Largest integer that is at most `value`, within 0 and `highest`; 0 for NaN.
inline double floor_between(double value, double highest) {
  return value >= 0.0 ? (value < highest ? std::floor(value) : highest) : 0.0;
}

// --- Quantisation --------------------------------------------------------------------------------

/// Table of features [4, d]: centre, step, error that is not in |r|, and size of each.
struct FeatureTable {
  Vector centre, step, error, size;
  explicit FeatureTable(Matrix table)
      : centre(table[0]), step(table[1]), error(table[2]), size(table[3]) {}
};

/// Set the centre and the step of every feature from its range, and return the lowest values.
inline void measure_ranges(ConstMatrix rows, FeatureTable& table, Vector lows, Vector highs) {
  for (Index i = 0; i < rows.columns; ++i) lows[i] = infinity, highs[i] = -infinity;
  for (Index k = 0; k < rows.rows; ++k)
    for (Index i = 0; i < rows.columns; ++i) {
      const double value = rows(k, i);
      lows[i] = value < lows[i] ? value : lows[i];
      highs[i] = value > highs[i] ? value : highs[i];
    }
  for (Index i = 0; i < rows.columns; ++i) {
    const double step = (highs[i] - lows[i]) / max_code;
    table.step[i] = step > min_score ? step : 0.0;
    table.centre[i] = lows[i] + middle_code * table.step[i];
    table.error[i] = 0.0;
  }
}

/// One feature of the arms of a tile: `codes`, and the squares that it adds to |r|^2.
struct TileColumn {
  double values[search_tile], codes[search_tile], squares[search_tile];

  void read(ConstMatrix rows, Index tile, Index feature) {
    for (Index place = 0; place < search_tile; ++place) {
      // The last tile is filled with copies of the last arm
      const Index arm = tile * search_tile + place;
      values[place] = rows(arm < rows.rows ? arm : rows.rows - 1, feature);
    }
  }
  void quantise(double low, double centre, double step) {
    const double inverse = 1.0 / step;
    for (Index place = 0; place < search_tile; ++place) {
      const double code = floor_between((values[place] - low) * inverse + 0.5, max_code);
      const double rest = (values[place] - (centre + step * (code - middle_code))) * inverse;
      codes[place] = code;
      squares[place] += rest * rest;
    }
  }
  /// A feature that hardly varies has the code of the centre; return the largest error of that, if
  /// it exceeds `error`.
  double encode_constant(double centre, double error) {
    for (Index place = 0; place < search_tile; ++place) {
      const double rest = std::fabs(values[place] - centre);
      codes[place] = middle_code;
      error = rest > error ? rest : error;
    }
    return error;
  }
};

/// Byte of an arm within its tile: arms 0 to 31 are the lower bytes of 16-bit words, the others the
/// upper bytes.
inline Index byte_index(Index place) {
  return place < search_tile / 2 ? 2 * place : 2 * place + 1 - search_tile;
}

inline void encode_tile(ConstMatrix rows, FeatureTable& table, ConstVector lows, Index tile,
                        std::uint8_t* codes) {
  const Index d = rows.columns, length = rows_of_codes(d) * search_tile;
  TileColumn column{};
  for (Index byte = 0; byte < length; ++byte) codes[byte] = 0;
  for (Index i = 0; i < d; ++i) {
    column.read(rows, tile, i);
    if (table.step[i] > 0.0)
      column.quantise(lows[i], table.centre[i], table.step[i]);
    else
      table.error[i] = column.encode_constant(table.centre[i], table.error[i]);
    for (Index place = 0; place < search_tile; ++place)
      codes[i / 2 * search_tile + byte_index(place)] |=
          static_cast<std::uint8_t>(static_cast<int>(column.codes[place]) << (i % 2 * 4));
  }
  for (Index place = 0; place < search_tile; ++place) {
    const double radius =
        std::ceil(std::sqrt(column.squares[place]) * (1.0 + 1e-9) / radius_step(d));
    codes[length - search_tile + byte_index(place)] =
        static_cast<std::uint8_t>(radius < max_radius_code ? radius : max_radius_code);
  }
}

/// Fill `features` [4, d] and `codes`: tile after tile, a byte for two features and arm, and one
/// for |r|. Where d is odd, a feature that is always 0 comes last.
inline void encode_arms(ConstMatrix rows, Matrix features, std::span<std::uint8_t> codes) {
  const Index d = rows.columns, length = rows_of_codes(d) * search_tile;
  FeatureTable table(features);
  Buffer<double> lows(d), highs(d);
  measure_ranges(rows, table, lows, highs);
  for (Index tile = 0; tile < codes.size() / length; ++tile)
    encode_tile(rows, table, lows, tile, codes.data() + tile * length);
  for (Index i = 0; i < d; ++i) {
    const double low = std::fabs(lows[i]), high = std::fabs(highs[i]);
    const double size =
        (low > high ? low : high) + std::fabs(table.centre[i]) + middle_code * table.step[i];
    table.error[i] += 16.0 * rounding * size;  // of the differences above
    table.size[i] = size + table.error[i];
  }
}

// --- Scores --------------------------------------------------------------------------------------

struct Best {
  Index arm;
  double score;

  void offer(Index other, double found) {
    if (found > score || (found == score && other < arm)) arm = other, score = found;
  }
};

/// Score arms `start` to `stop`, eight at a time: their sums do not wait for each other.
inline void scan(ConstMatrix rows, ConstVector theta, Index start, Index stop, Best& best) {
  Index k = start;
  for (; k + 8 <= stop; k += 8) {
    double scores[8] = {};
    const double* row = rows.data + k * rows.columns;
    for (Index i = 0; i < theta.size(); ++i)
      for (Index place = 0; place < 8; ++place)
        scores[place] += theta[i] * row[place * rows.columns + i];
    for (Index place = 0; place < 8; ++place) best.offer(k + place, scores[place]);
  }
  for (; k < stop; ++k) {
    double score = 0.0;
    for (Index i = 0; i < theta.size(); ++i) score += theta[i] * rows(k, i);
    best.offer(k, score);
  }
}

// --- Search --------------------------------------------------------------------------------------

/// Arms with their codes.
struct EncodedArms {
  ConstMatrix rows, table;
  ConstCodes codes;

  Index dim() const { return rows.columns; }
  Index tiles() const { return (rows.rows + search_tile - 1) / search_tile; }
  Index end_of(Index tile) const {
    return (tile + 1) * search_tile < rows.rows ? (tile + 1) * search_tile : rows.rows;
  }
};

using TileSums = Int16Vector<search_tile / 2>;

/// Buffers of a search, which are used again for the next theta.
struct SearchBuffers {
  Buffer<std::uint16_t> weights;     // of two features a row of codes
  Buffer<std::int16_t> tile_maxima;  // largest integer bound of each tile

  explicit SearchBuffers(const EncodedArms& arms)
      : weights(2 * rows_of_codes(arms.dim())), tile_maxima(arms.tiles(), Fill::none) {}
};

/// Upper bounds of scores: none, as computed, is larger than `offset` + `unit` (bias + sum of
/// integer weights times codes).
struct Bounds {
  double unit = 0.0, offset = 0.0;  // unit 0: codes say nothing about these scores
  std::uint16_t bias = 0;           // -8 sum_i p_i
};

/// Fill the integer weights. All roundings are in the offset.
inline Bounds weigh(ConstMatrix table, ConstVector theta, Buffer<std::uint16_t>& weights) {
  const Index d = theta.size();
  if (d > max_search_dim) return {};
  double centre = 0.0, size = 0.0, total = 0.0, square = 0.0, margin = 0.0;
  for (Index i = 0; i < d; ++i) {
    centre += theta[i] * table(0, i);
    margin += std::fabs(theta[i]) * table(2, i);
    size += std::fabs(theta[i]) * table(3, i);
    total += std::fabs(theta[i]) * table(1, i);
  }
  if (!(size > min_score && size < max_score && total >= min_score * rounding && total < max_score))
    return {};
  for (Index i = 0; i < d; ++i) {
    const double share = theta[i] * table(1, i) / total;
    square += share * share;
  }
  // |w|, for a code of 1
  const double radius = total * std::sqrt(square) * (1.0 + 1e-9) * radius_step(d);
  Bounds bounds;
  const double dim = double(d);
  bounds.unit = (middle_code * total + max_radius_code * radius) /
                (max_int16 - middle_code * dim - 2.0 * max_radius_code);
  int bias = 0;
  for (Index i = 0; i < d; ++i) {
    const double scaled = theta[i] * table(1, i), weight = std::rint(scaled / bounds.unit);
    if (!(std::fabs(weight) <= max_int16))
      return {};  // possible only where `table` is not of `encode_arms`
    bias -= static_cast<int>(middle_code) * static_cast<int>(weight);
    weights[i] = static_cast<std::uint16_t>(static_cast<int>(weight));
    margin += middle_code * std::fabs(scaled - bounds.unit * weight);
  }
  const int last = static_cast<int>(radius / bounds.unit) + 1;
  weights[weights.size() - 2] = static_cast<std::uint16_t>(last);
  weights[weights.size() - 1] = static_cast<std::uint16_t>(16 * last);
  bounds.bias = static_cast<std::uint16_t>(bias);
  bounds.offset = centre + margin + (16.0 * dim + 256.0) * rounding * size;
  return bounds;
}

/// Integer bounds of the arms of a tile: of its first half and of its second.
struct TileBounds {
  TileSums low, high;

  TileBounds(const std::uint8_t* codes, const Buffer<std::uint16_t>& weights, std::uint16_t bias)
      : low(TileSums::of(bias)), high(low) {
    for (Index pair = 0; pair < weights.size() / 2; ++pair) {
      const auto words = TileSums::load(codes + pair * search_tile);
      const std::uint16_t first = weights[2 * pair], second = weights[2 * pair + 1];
      low = low + words.code<0>() * first + words.code<4>() * second;
      high = high + words.code<8>() * first + words.code<12>() * second;
    }
  }
  std::int16_t max() const { return larger(low, high).max(); }
  void store(std::int16_t* to) const { low.store(to), high.store(to + search_tile / 2); }
};

/// Score the arms of a tile whose integer bound is at least `least`: the whole tile where they are
/// many.
inline void score_candidates(const EncodedArms& arms, ConstVector theta, Index tile,
                             const TileBounds& sums, double least, Best& best) {
  const Index start = tile * search_tile, stop = arms.end_of(tile);
  alignas(64) std::int16_t bounds[search_tile];
  sums.store(bounds);
  Index many = 0;
  for (Index k = start; k < stop; ++k) many += bounds[k - start] >= least;
  if (many > max_single_scores) return scan(arms.rows, theta, start, stop, best);
  for (Index k = start; k < stop; ++k)
    if (bounds[k - start] >= least) scan(arms.rows, theta, k, k + 1, best);
}

/// argmax_k x_k'theta, the lowest index on ties, and that score. Some arm is returned where no
/// score is a number.
inline Best find_best(const EncodedArms& arms, ConstVector theta, SearchBuffers& buffers) {
  Best best{0, -infinity};
  const Bounds bounds = weigh(arms.table, theta, buffers.weights);
  if (bounds.unit == 0.0) {
    scan(arms.rows, theta, 0, arms.rows.rows, best);
    return best;
  }
  const Index length = rows_of_codes(arms.dim()) * search_tile;
  const auto bounds_of = [&](Index tile) {
    return TileBounds(arms.codes.data() + tile * length, buffers.weights, bounds.bias);
  };
  Index first = 0;
  for (Index tile = 0; tile < arms.tiles(); ++tile) {
    buffers.tile_maxima[tile] = bounds_of(tile).max();
    if (buffers.tile_maxima[tile] > buffers.tile_maxima[first]) first = tile;
  }
  best.arm = first * search_tile;
  scan(arms.rows, theta, first * search_tile, arms.end_of(first), best);
  double least = (best.score - bounds.offset) / bounds.unit;
  for (Index tile = 0; tile < arms.tiles(); ++tile) {
    if (buffers.tile_maxima[tile] < least || tile == first) continue;
    score_candidates(arms, theta, tile, bounds_of(tile), least, best);
    least = (best.score - bounds.offset) / bounds.unit;
  }
  return best;
}

inline Index find_best_arm(ConstMatrix rows, ConstMatrix table, ConstCodes codes,
                           ConstVector theta) {
  const EncodedArms arms{rows, table, codes};
  SearchBuffers buffers(arms);
  return find_best(arms, theta, buffers).arm;
}

/// The same for each column of `thetas` [d, m].
inline void find_best_arms(ConstMatrix rows, ConstMatrix table, ConstCodes codes,
                           ConstMatrix thetas, Ints chosen, Vector scores) {
  const EncodedArms arms{rows, table, codes};
  SearchBuffers buffers(arms);
  Buffer<double> theta(thetas.rows);
  for (Index j = 0; j < thetas.columns; ++j) {
    for (Index i = 0; i < thetas.rows; ++i) theta[i] = thetas(i, j);
    const Best best = find_best(arms, theta, buffers);
    chosen[j] = Int(best.arm), scores[j] = best.score;
  }
}

/// argmax_k x_k'theta by scoring all arms, the lowest index on ties.
inline Index scan_arms(ConstMatrix rows, ConstVector theta) {
  Best best{0, -infinity};
  scan(rows, theta, 0, rows.rows, best);
  return best.arm;
}

// --- Few arms, stored by coordinate [d, K]: every arm is scored ----------------------------------

/// argmax_k x_k'theta, the lowest index on ties.
inline Index greedy_arm(ConstVector theta, ConstMatrix by_coordinate) {
  Buffer<double> scores(by_coordinate.columns, Fill::none);
  sum_rows(scores, by_coordinate, theta);
  return argmax(scores);
}

/// The same for each column of `thetas` [d, m], and its score: a product of [m, d] with [d, K], in
/// blocks of members whose scores stay in the first cache.
inline void greedy_arms(ConstMatrix thetas, ConstMatrix by_coordinate, Ints chosen, Vector scores) {
  constexpr Index block = 256;
  alignas(64) double found[block];
  for (Index j = 0; j < thetas.columns; ++j)
    chosen[j] = 0, scores[j] = -std::numeric_limits<double>::infinity();
  for (Index start = 0; start < thetas.columns; start += block) {
    const Index width = thetas.columns - start < block ? thetas.columns - start : block;
    for (Index k = 0; k < by_coordinate.columns; ++k) {
      for (Index j = 0; j < width; ++j) found[j] = 0.0;
      for (Index i = 0; i < thetas.rows; ++i)
        axpy({found, width}, by_coordinate(i, k), {&thetas(i, start), width});
      for (Index j = 0; j < width; ++j)
        if (found[j] > scores[start + j]) scores[start + j] = found[j], chosen[start + j] = Int(k);
    }
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
