// Updates of linear models by one observation: their own sums, then V and b, then calibration and recomputation.
#pragma once

#include "ensemble.hpp"
#include "fresh.hpp"
#include "kernels.hpp"
#include "ridge_state.hpp"
#include "stream.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Ridge regression alone.
inline void learn_ridge(Matrix state, const Observation& observed, const ScaleLearning& learning) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) { finish_update(ridge, learning, !observe(ridge, x, y)); });
}

/// Update R with R'R = sum x x'; where the past fades it does in R too.
inline void add_to_root(const RidgeState& ridge, Matrix root, ConstVector x) {
  if (ridge.fades()) scale_triangle(root, std::sqrt(kept_share(ridge.rate)));
  rotate(root, x);
}

/// One round of Algorithm 1: perturb member j by x z_j. `fresh` [d, m] are draws of W where the past fades, else empty; `root` is
/// one of sum x x', or empty.
inline void learn_members(Matrix state, Matrix sums, ConstVector z, ConstMatrix fresh, Matrix root, const Observation& observed,
                          const ScaleLearning& learning) {
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
inline void learn_history(Matrix state, Matrix root, Ints pulls, std::int64_t arm, const Observation& observed,
                          const ScaleLearning& learning) {
  RidgeState ridge(state);
  add_to_root(ridge, root, observed.x);
  if (arm >= 0) ++pulls[static_cast<std::size_t>(arm)];
  finish_update(ridge, learning, !observe(ridge, observed.x, observed.y));
}

/// Keep a root R of sum f f', with f = `rooted` or, if that is empty, what is learned of x.
inline void learn_rooted(Matrix state, Matrix root, ConstVector rooted, const Observation& observed) {
  RidgeState ridge(state);
  as_learned(ridge, observed, [&](ConstVector x, double y) {
    add_to_root(ridge, root, rooted.empty() ? x : rooted);
    observe_and_recompute(ridge, x, y);
  });
}

/// Keep a root of V, and number, mean and sum of squared deviations of the rewards [3] (Welford).
inline void learn_posterior(Matrix state, Matrix root, Vector rewards, const Observation& observed) {
  RidgeState ridge(state);
  add_to_root(ridge, root, observed.x);
  const double deviation = observed.y - rewards[1], step = deviation / (rewards[0] + 1.0);
  rewards[2] += deviation * (deviation - step);
  rewards[1] += step;
  rewards[0] += 1.0;
  observe_and_recompute(ridge, observed.x, observed.y);
}

/// Keep the roots that fresh members are drawn from.
inline void learn_fresh(Matrix state, Matrix root, Matrix gram_root, Vector ages, double ageing_rate, const Observation& observed,
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

}  // namespace ensample::ENSAMPLE_LEVEL
