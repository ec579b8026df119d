// Updates of the other recipes by one observation: their own statistics, then V and b, then calibration and recomputation.
#pragma once

#include "ensemble.hpp"
#include "ridge_state.hpp"
#include "stream.hpp"
#include "pseudo_rewards.hpp"
#include "kernels.hpp"
#include "optimism.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Note the largest |theta_hat| so far, before scales are learned anew.
inline void learn_optimist(Matrix state, double& largest, const Observation& observed, const ScaleLearning& learning) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    observe_and_recompute(ridge, x, y);
    largest = std::max(largest, std::sqrt(dot(ridge.estimate.mean, ridge.estimate.mean)));
    finish_update(ridge, learning, false);
  });
}

/// An observation goes to the stage for which its arm would be played now, or to the first that needs it; arm -1 is
/// none.
inline void learn_staged(Matrix state, const Stages& stages, ConstMatrix by_coordinate, std::int64_t arm,
                         const Observation& observed) {
  RidgeState ridge(state);
  const std::size_t stage = learning_stage(stages, choose_staged(stages, by_coordinate), arm, observed.x);
  if (stage < stages.count()) learn_in_stage(stages, stage, observed.x, observed.y);
  observe_and_recompute(ridge, observed.x, observed.y);
}

/// Every replicate observes (x, y) with weights of its own [B, 3].
inline void learn_replicates(Matrix state, const Replicates& replicates, ConstMatrix weights, double pseudo,
                             std::int64_t& pulls, const Observation& observed) {
  RidgeState ridge(state);
  for (std::size_t j = 0; j < replicates.count(); ++j)
    weigh(replicates, j, &weights(j, 0), pseudo, observed.x, observed.y);
  ++pulls;
  observe_and_recompute(ridge, observed.x, observed.y);
}

/// S += x z', kept transposed as [2M, d], older terms first.
inline void learn_directions(Matrix state, Matrix directions, ConstVector z, const Observation& observed) {
  RidgeState ridge(state);
  const bool is_fresh = observe(ridge, observed.x, observed.y);
  add_outer(directions.between(z.size(), 2 * z.size()), 1.0, z, observed.x);
  carry_over(ridge, directions);
  if (!is_fresh) recompute(ridge);
}

/// Count the arm, unless it is -1.
inline void learn_pull(Matrix state, Ints pulls, std::int64_t arm, const Observation& observed) {
  RidgeState ridge(state);
  if (arm >= 0) ++pulls[static_cast<std::size_t>(arm)];
  observe_and_recompute(ridge, observed.x, observed.y);
}

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

/// Write theta_hat + V^-1 S weights, of the directions S.
inline void theta_of_directions(Matrix state, ConstMatrix directions, ConstVector weights, Vector theta) {
  const RidgeState ridge(state);
  Buffer<double> total(theta.size(), Fill::none);
  combine_directions(directions, weights, total);
  shift_mean(ridge.estimate, total, theta);
}

/// Draw the pseudo-rewards of every arm and write theta = G^-1 (b + sum_k x_k U_k), G as in `invert_mixed`.
inline void theta_of_pseudo_rewards(Matrix state, ConstMatrix rows, ConstInts pulls, double a, double lam,
                                    Generator rng, Vector theta) {
  const RidgeState ridge(state);
  const std::size_t d = theta.size();
  const OwnedMatrix inverse(d, d);
  Buffer<double> total(d), heads(rows.rows, Fill::none);
  for (std::size_t k = 0; k < rows.rows; ++k)
    heads[k] = static_cast<double>(rng.binomial_half(pseudo_count(a, pulls[k])));
  sum_rows(total, rows, heads);
  if (invert_mixed(rows, pulls, a, lam, inverse)) {
    for (std::size_t i = 0; i < d; ++i) total[i] = ridge.sums.target[i] + total[i];
    sum_rows(theta, inverse, total);
  } else {  // singular to working precision: the arms' directions are in V^-1, which has twice the digits
    shift_mean(ridge.estimate, total, theta);
    for (double& entry : theta) entry /= a + 1.0;
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
