// Minibatches: observations in the units of networks, and the derivatives of each member's loss.
#pragma once

#include <algorithm>
#include <cmath>

#include "math.hpp"
#include "networks/state.hpp"
#include "networks/passes.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

// Times its typical size: further out, where networks know nothing, it counts no more
inline constexpr double widest_feature = 100.0;
inline constexpr double recent_misses = 4.0;  // weight of the newest of n squared misses, times n

/// A row as networks see it. A feature that has no unit yet is its own.
inline void scale_row(ConstVector row, ConstVector sizes, Vector seen) {
  for (Index i = 0; i < row.size(); ++i) {
    const double size = sizes[i] > 0.0 ? sizes[i] : std::abs(row[i]);
    seen[i] = size > 0.0 ? std::min(std::max(row[i] / size, -widest_feature), widest_feature) : 0.0;
  }
}

inline void scale_rows(ConstMatrix rows, ConstVector sizes, Matrix seen) {
  for (Index b = 0; b < rows.rows; ++b) scale_row(rows[b], sizes, seen[b]);
}

/// Learn units of features from one more observation, number `count`. A feature is divided by the
/// root mean square of its values that are not 0, which is brought up to date whenever the number
/// of observations has doubled.
inline void learn_sizes(Matrix units, ConstVector x, Int count) {
  const Vector sizes = units[0], squares = units[1], seen = units[2];
  const bool due = (count & (count - 1)) == 0;
  for (Index i = 0; i < x.size(); ++i) {
    const bool there = x[i] != 0.0;
    squares[i] += x[i] * x[i];
    if (there) seen[i] += 1.0;
    if ((there && sizes[i] == 0.0) || (due && seen[i] > 0.0))
      sizes[i] = std::sqrt(squares[i] / seen[i]);
  }
}

/// Mean and spread of the rewards, and by how much the members' mean has missed them, each before
/// it was learned.
struct RewardUnits {
  double mean, deviations,
      misses;  // deviations: sum of squares; misses: mean of squares, the recent ones counting more

  /// The standard deviation; where all rewards are equal their size; 1 before the first that is not
  /// 0.
  double spread(Int count) const {
    const double found = std::sqrt(deviations / double(std::max<Int>(count, 1)));
    if (found > 0.0) return found;
    return mean != 0.0 ? std::abs(mean) : 1.0;
  }
  /// The standard deviation of the noise, as far as it is known: misses, which never exceed the
  /// rewards' own spread.
  double sigma(Int count) const { return std::min(std::sqrt(misses), spread(count)); }

  /// With one more reward, number `count`, that was missed by so much (Welford).
  RewardUnits after(double y, Int count, double miss) const {
    const double n = double(count), share = std::min(1.0, recent_misses / n);
    const double moved = mean + (y - mean) / n;
    return {moved, deviations + (y - mean) * (y - moved),
            (1.0 - share) * misses + share * miss * miss};
  }
};

/// Observations of a minibatch as networks see them. Equal rows are one: networks give them the
/// same outputs, and what a gradient takes from them is the sum of their slopes. Where arms stand,
/// a minibatch has few rows.
struct Minibatch {
  ConstInts places;  // [B]
  Matrix seen;       // [1 + B, d]: the different rows come first
  Vector keys;       // [1 + B]
  Vector rewards;    // [B]
  Ints indices;      // [1 + B], the row of each observation, that of the newest first
  Index rows = 0;    // how many differ

  static Index size(Index batch, Index dim) { return (1 + batch) * (dim + 3) + 32; }
  Minibatch(Workspace& space, Index batch, Index dim)
      : seen(space.take(1 + batch, dim)), keys(space.take(1 + batch)), rewards(space.take(batch)),
        indices(reinterpret_cast<Int*>(space.take(1 + batch).data()), 1 + batch) {}
};

inline bool equal(ConstVector one, ConstVector other) {
  Index i = 0;
  while (i < one.size() && one[i] == other[i]) ++i;
  return i == one.size();
}

/// Enter observation b, whose features are in the row after the different ones.
inline void merge_row(Minibatch& batch, Index b) {
  const Vector row = batch.seen[batch.rows];
  double key = 0.0;
  for (Index i = 0; i < row.size(); ++i) key += double(i + 1) * row[i];
  Index g = 0;
  while (g < batch.rows && !(batch.keys[g] == key && equal(batch.seen[g], row))) ++g;
  if (g == batch.rows) batch.keys[batch.rows++] = key;
  batch.indices[b] = Int(g);
}

/// Fetch observations from memory, the newest taken to be in its place. Before them comes the
/// newest itself, in the units that there were before it: what members expected of it tells the
/// noise.
inline void fetch(Minibatch& batch, const NetworkMemory& memory, const NewObservation& now,
                  ConstVector sizes_before) {
  batch.rows = 0;
  scale_row(now.x, sizes_before, batch.seen[0]);
  merge_row(batch, 0);
  for (Index b = 0; b < batch.places.size(); ++b) {
    const Int place = batch.places[b];
    const bool is_newest = place == now.place;
    batch.rewards[b] = is_newest ? now.y : memory.rewards[place];
    scale_row(is_newest ? now.x : ConstVector(memory.features[place]), now.feature_units[0],
              batch.seen[batch.rows]);
    merge_row(batch, 1 + b);
  }
}

/// 1 / (1 + e^-u), without overflow.
inline double sigmoid(double u) { return 0.5 * (1.0 + tanh(0.5 * u)); }

/// Sum of the outputs of a member and of its prior network.
inline double combined(const NetworkTraining& training, double output, ConstVector prior_outputs,
                       Index member) {
  return prior_outputs.empty() ? output : output + training.prior * prior_outputs[member];
}

/// Mean of the members' predictions of the newest reward, when rewards had these units.
inline double expectation(const NetworkTraining& training, ConstMatrix outputs,
                          ConstVector prior_outputs, const RewardUnits& units, Int count) {
  double total = 0.0;
  for (Index j = 0; j < outputs.rows; ++j) {
    const double u = combined(training, outputs(j, 0), prior_outputs, j);
    total += training.loss == NetworkLoss::squared ? u : sigmoid(u);
  }
  const double mean = total / double(outputs.rows);
  return training.loss == NetworkLoss::squared ? units.mean + units.spread(count) * mean : mean;
}

/// Add the derivatives of the mean loss by the outputs: slopes [m, G], of outputs [m, G], in the
/// columns of the batch's rows.
inline void add_slopes(Matrix slopes, const NetworkTraining& training, const NetworkMemory& memory,
                       const Minibatch& batch, ConstMatrix outputs, const RewardUnits& units,
                       Int count, Vector expected) {
  const double share = 1.0 / double(batch.places.size()), spread = units.spread(count);
  const double noise = training.learns_scale ? training.scale * units.sigma(count) : training.scale;
  for (Index b = 0; b < batch.places.size(); ++b) {
    const Int place = batch.places[b], row = batch.indices[1 + b];
    const auto prior_outputs = memory.prior_outputs[place], z = memory.perturbations[place];
    const double y = batch.rewards[b];
    double total = 0.0;
    for (Index j = 0; j < outputs.rows; ++j) {
      expected[j] = combined(training, outputs(j, row), prior_outputs, j);
      total += expected[j];
    }
    double target = (y - units.mean) / spread, scale = noise / spread;
    if (training.loss == NetworkLoss::logistic) {
      const double centre = sigmoid(total / double(outputs.rows));
      target = y;
      scale = training.scale * std::sqrt(centre * (1.0 - centre));
      for (double& value : expected) value = sigmoid(value);
    }
    for (Index j = 0; j < outputs.rows; ++j)
      slopes(j, row) += share * (expected[j] - target - scale * z[j]);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
