// A round of training: minibatches from the memory to the steps downhill, and all else that an
// observation changes. Everything is computed in copies; the state changes at the end or, where a
// gradient is not finite, not at all.
#pragma once

#include "networks/descent.hpp"
#include "networks/minibatch.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Return how many numbers a round writes to.
inline Index network_workspace(const NetworkShape& shape, Index weight_rows, Index batch) {
  const Index rows = 1 + batch, m = shape.members;
  return (weight_rows + 1) * shape.weights() + m * (rows * shape.hidden_units() + 2 * rows + 1) +
         8 * (m + 16) + Minibatch::size(batch, shape.dim()) + BackwardBuffers::size(shape, rows);
}

/// Return the gradient [n] of a loss whose derivatives by the outputs of `rows` are `slopes` [m,
/// B].
inline void network_gradient(const NetworkShape& shape, ConstVector weights, ConstMatrix rows,
                             ConstMatrix slopes, Vector gradient) {
  Buffer<double> memory(
      rows.rows * shape.hidden_units() + rows.rows + BackwardBuffers::size(shape, rows.rows) + 16,
      Fill::none);
  Workspace space{memory.data()};
  double *units = space.take(rows.rows * shape.hidden_units()).data(),
         *outputs = space.take(rows.rows).data();
  const BackwardBuffers buffers(space, shape, rows.rows);
  for (Index j = 0; j < shape.members; ++j) {
    forward(shape, weights, j, rows, units, outputs);
    backward(shape, weights, j, rows, units, slopes[j], buffers, gradient);
  }
}

inline RewardUnits reward_units(const NetworkState& state) {
  const double* units = &state.numbers[state.numbers.size() - 3];
  return {units[0], units[1], units[2]};
}

/// Change all that an observation changes besides weights.
inline void commit(const NetworkState& state, const NetworkMemory& memory,
                   const NewObservation& now, const RewardUnits& units) {
  const Index d = now.x.size();
  std::copy_n(now.feature_units.data, 3 * d, state.numbers.data());
  std::copy_n(now.x.data(), d, &state.numbers[3 * d]);
  const double rest[] = {now.y, units.mean, units.deviations, units.misses};
  std::copy_n(rest, 4, &state.numbers[4 * d]);
  state.counts[0] += 1;
  state.counts[1] += Int(now.places.rows);
  state.counts[2] = now.round;
  state.counts[3] = now.place;
  if (now.place < 0) return;
  std::copy_n(now.x.data(), d, memory.features[now.place].data());
  memory.rewards[now.place] = now.y;
  memory.rounds[now.place] = now.round;
}

/// lam / n, what multiplies the strengths of the pull.
inline double regularization_of(const NetworkTraining& training, const RewardUnits& units,
                                Int count) {
  const double n = double(count), share = units.sigma(count) / units.spread(count);
  if (!training.learns_pull) return training.pull / n;
  return (training.loss == NetworkLoss::squared ? share * share : 1.0) /
         n;  // the noise of clicks is known
}

/// Learn an observation, or return false and change nothing: a gradient is not finite.
inline bool network_learn(const NetworkShape& shape, const NetworkTraining& training,
                          const NetworkAnchor& anchor, const NetworkState& state,
                          const NetworkMemory& memory, const NewObservation& now,
                          double* workspace) {
  const Index m = shape.members, batch_size = now.places.columns, n = shape.weights();
  const Int count = state.counts[0] + 1;
  Workspace space{workspace};
  const Vector gradient = space.take(n), expected = space.take(m);
  Minibatch batch(space, batch_size, shape.dim());
  const BackwardBuffers buffers(space, shape, 1 + batch_size);
  double* const all_units = space.take(m * (1 + batch_size) * shape.hidden_units()).data();
  double *const all_outputs = space.take(m * (1 + batch_size)).data(),
                *const all_slopes = space.take(m * (1 + batch_size)).data();

  Matrix weights = state.weights;
  const bool copies = now.places.rows > 1;  // a later minibatch may fail
  if (copies) {
    weights = space.take(state.weights.rows, n);
    std::copy_n(state.weights.data, weights.rows * n, weights.data);
  }
  RewardUnits units = reward_units(state);
  for (Index step = 0; step < now.places.rows; ++step) {
    batch.places = now.places[step];
    fetch(batch, memory, now, state.numbers.first(shape.dim()));
    const ConstMatrix rows = batch.seen.between(0, batch.rows);
    const Matrix outputs{all_outputs, m, rows.rows}, slopes{all_slopes, m, rows.rows};
    const auto units_of_member = [&](Index j) {
      return all_units + j * rows.rows * shape.hidden_units();
    };
    for (Index j = 0; j < m; ++j)
      forward(shape, weights[0], j, rows, units_of_member(j), outputs[j].data());
    if (step == 0) {
      const double miss =
          now.y - expectation(training, outputs, now.prior_outputs, units, count - 1);
      units = units.after(now.y, count, miss);
    }
    std::fill_n(slopes.data, m * rows.rows, 0.0);
    add_slopes(slopes, training, memory, batch, outputs, units, count, expected);
    for (Index j = 0; j < m; ++j)
      backward(shape, weights[0], j, rows, units_of_member(j), slopes[j], buffers, gradient);
    const AdamStep adam_step(training.rate, state.counts[1] + Int(step) + 1);
    if (!descend(weights, gradient, anchor.weights, {anchor.ends, anchor.strengths},
                 regularization_of(training, units, count), adam_step))
      return false;
  }
  if (copies) std::copy_n(weights.data, weights.rows * n, state.weights.data);
  commit(state, memory, now, units);
  return true;
}

}  // namespace ensample::ENSAMPLE_LEVEL
