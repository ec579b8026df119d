// Updates of linear models by one observation: their own sums, then V and b, then calibration and
// recomputation.
#pragma once

#include "ensemble.hpp"
#include "fresh.hpp"
#include "glm.hpp"
#include "optimism.hpp"
#include "pseudo_rewards.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Ridge regression alone.
inline void learn_ridge(Matrix state, const Observation& observed, const ScaleLearning& learning) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    finish_update(ridge, learning, !observe(ridge, x, y));
  });
}

/// Update R with R'R = sum x x'; where the past fades it does in R too.
inline void add_to_root(const RidgeState& ridge, Matrix root, ConstVector x) {
  if (ridge.fades()) scale_triangle(root, std::sqrt(kept_share(ridge.rate)));
  rotate(root, x);
}

/// Count a pull of an arm, unless that is -1. Whatever the count was, it does not overflow.
inline void count_pull(Ints pulls, Int arm) {
  if (arm < 0) return;
  auto& count = pulls[Index(arm)];
  count = Int(static_cast<std::uint64_t>(count) + 1);
}

/// One round of Algorithm 1: perturb member j by x z_j. `fresh` [d, m] are draws of W where the
/// past fades, else empty; `root` is one of sum x x', or empty.
inline void learn_members(Matrix state, Matrix sums, ConstVector z, ConstMatrix fresh, Matrix root,
                          const Observation& observed, const ScaleLearning& learning) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    if (root.rows > 0) add_to_root(ridge, root, x);
    if (ridge.fades()) fade_members(ridge, sums, fresh);
    const bool is_fresh = observe(ridge, x, y);
    perturb(ridge, sums, x, z);
    finish_update(ridge, learning, !is_fresh);
  });
}

/// Keep a root of sum x x', and pull counts; arm -1 is none that is counted.
inline void learn_history(Matrix state, Matrix root, Ints pulls, Int arm, ConstVector x, double y,
                          const ScaleLearning& learning) {
  RidgeState ridge(state);
  add_to_root(ridge, root, x);
  count_pull(pulls, arm);
  finish_update(ridge, learning, !observe(ridge, x, y));
}

/// Keep a root R of sum f f', with f = `rooted` or, if that is empty, what is learned of x.
inline void learn_rooted(Matrix state, Matrix root, ConstVector rooted,
                         const Observation& observed) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    add_to_root(ridge, root, rooted.empty() ? x : rooted);
    observe_and_recompute(ridge, x, y);
  });
}

/// Keep a root of V, and number, mean and sum of squared deviations of the rewards [3] (Welford).
inline void learn_posterior(Matrix state, Matrix root, Vector rewards, ConstVector x, double y) {
  RidgeState ridge(state);
  add_to_root(ridge, root, x);
  const double deviation = y - rewards[1], step = deviation / (rewards[0] + 1.0);
  rewards[2] += deviation * (deviation - step);
  rewards[1] += step;
  rewards[0] += 1.0;
  observe_and_recompute(ridge, x, y);
}

/// Keep the roots that fresh members are drawn from.
inline void learn_fresh(Matrix state, Matrix root, Matrix gram_root, Vector ages,
                        double ageing_rate, const Observation& observed,
                        const ScaleLearning& learning) {
  RidgeState ridge(state);
  FreshRoots roots(root, gram_root, ages);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    if (ridge.fades()) fade_roots(roots, ridge.rate);
    const bool is_fresh = observe(ridge, x, y);
    add_to_roots(roots, ageing_rate, x, ridge.seen, ridge.rate);
    finish_update(ridge, learning, !is_fresh);
  });
}

/// Note the largest |theta_hat| so far, before scales are learned anew.
inline void learn_optimist(Matrix state, Vector largest, const Observation& observed,
                           const ScaleLearning& learning) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    observe_and_recompute(ridge, x, y);
    largest[0] = std::max(largest[0], std::sqrt(dot(ridge.estimate.mean, ridge.estimate.mean)));
    finish_update(ridge, learning, false);
  });
}

/// An observation goes to the stage for which its arm would be played now, or to the first that
/// needs it; arm -1 is none.
inline void learn_staged(Matrix state, const Stages& stages, ConstMatrix by_coordinate, Int arm,
                         ConstVector x, double y) {
  RidgeState ridge(state);
  const Index stage = learning_stage(stages, choose_staged(stages, by_coordinate), arm, x);
  if (stage < stages.count()) learn_in_stage(stages, stage, x, y);
  observe_and_recompute(ridge, x, y);
}

/// Every replicate observes (x, y) with weights of its own [B, 3].
inline void learn_replicates(Matrix state, MatrixStack<double> grams, Matrix targets, Ints pulls,
                             ConstMatrix weights, double pseudo, Index arm, ConstVector x,
                             double y) {
  RidgeState ridge(state);
  for (Index j = 0; j < targets.rows; ++j) weigh(grams[j], targets[j], weights[j], pseudo, x, y);
  count_pull(pulls, Int(arm));
  observe_and_recompute(ridge, x, y);
}

/// S += x z', kept transposed as [2M, d], older terms first.
inline void learn_directions(Matrix state, Matrix directions, ConstVector x, double y,
                             ConstVector z) {
  RidgeState ridge(state);
  const bool is_fresh = observe(ridge, x, y);
  add_outer(directions.between(z.size(), 2 * z.size()), 1.0, z, x);
  carry_over(ridge, directions);
  if (!is_fresh) recompute(ridge);
}

/// Count the arm, unless it is -1.
inline void learn_pull(Matrix state, Ints pulls, Int arm, ConstVector x, double y) {
  RidgeState ridge(state);
  count_pull(pulls, arm);
  observe_and_recompute(ridge, x, y);
}

/// total = sum_j weights[j] (older[j] + newer[j]), for `directions` [2M, d] whose first half holds
/// older terms.
inline void combine_directions(ConstMatrix directions, ConstVector weights, Vector total) {
  const ConstMatrix older = directions.between(0, weights.size());
  const ConstMatrix newer = directions.between(weights.size(), 2 * weights.size());
  for_each_column_tile<16>(total.size(), [&]<int N>(Index start) {
    auto tile = SimdVector<N>::of(0.0);
    for (Index j = 0; j < weights.size(); ++j)
      tile += weights[j] *
              (SimdVector<N>::load(&older(j, start)) + SimdVector<N>::load(&newer(j, start)));
    tile.store(&total[start]);
  });
}

/// Write theta_hat + V^-1 S weights, of the directions S.
inline void theta_of_directions(Matrix state, ConstMatrix directions, ConstVector weights,
                                Vector theta) {
  Buffer<double> total(theta.size(), Fill::none);
  combine_directions(directions, weights, total);
  shift_mean(RidgeState(state).estimate, total, theta);
}

/// Draw the pseudo-rewards of every arm and write theta = G^-1 (b + sum_k x_k U_k), G as in
/// `invert_mixed`.
inline void theta_of_pseudo_rewards(Matrix state, ConstMatrix rows, ConstInts pulls, double a,
                                    double lam, Generator rng, Vector theta) {
  const RidgeState ridge(state);
  const Index d = theta.size();
  const OwnedMatrix inverse(d, d);
  Buffer<double> total(d), heads(rows.rows, Fill::none);
  for (Index k = 0; k < rows.rows; ++k)
    heads[k] = double(rng.binomial_half(pseudo_count(a, pulls[k])));
  sum_rows(total, rows, heads);
  if (invert_mixed(rows, pulls, a, lam, inverse)) {
    for (Index i = 0; i < d; ++i) total[i] = ridge.sums.target[i] + total[i];
    sum_rows(theta, inverse, total);
  } else {  // singular to working precision: the arms' directions are in V^-1, which has twice the
            // digits
    shift_mean(ridge.estimate, total, theta);
    for (double& entry : theta) entry /= a + 1.0;
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
