// One round of a simulated run on finitely many arms.
//
// V is the prior and sum_k N_k x_k x_k' with whole pull counts N_k, from which it can be had again at any time. Where the past
// is forgotten it is recomputed every round, from a sum that fades.
#pragma once

#include <bit>

#include "simulate/learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// An algorithm on finitely many arms: derived classes `play` a run to its end, or until it is stopped.
struct FiniteRun {
  const FiniteProblem& problem;
  RunState& run;
  const Rngs& rngs;
  const Options& options;
  const std::size_t d = run.mean.size();

  FiniteRun(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options)
      : problem(problem), run(run), rngs(rngs), options(options) {}
};

/// Play a run by an algorithm: an entry of the table in kernels_simulation.cpp.
template <class Algorithm>
void play(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  Algorithm(problem, run, rngs, options).play();
}

/// gram += sum_k (pulls_k - counted_k) x_k x_k'; counted = pulls.
inline void add_pulls(const FiniteProblem& problem, const RunState& run, Matrix gram, std::int32_t* counted) {
  for (std::size_t k = 0; k < problem.features.rows; ++k)
    if (run.pulls[k] != counted[k]) {
      add_outer(gram, run.pulls[k] - counted[k], problem.features[k], problem.features[k]);
      counted[k] = run.pulls[k];
    }
}

/// Recompute V^-1 and theta_hat from the pull counts and b.
inline void recompute(const FiniteProblem& problem, RunState& run) {
  const std::size_t d = run.mean.size();
  const OwnedMatrix gram(d, d);
  for (std::size_t k = 0; k < problem.features.rows; ++k)
    if (run.pulls[k] > 0) add_outer(gram, run.pulls[k], problem.features[k], problem.features[k]);
  for (std::size_t i = 0; i < d; ++i) gram(i, i) += run.prior[i];
  recompute(run, gram);
}

/// Learn the scales from the pull counts, b and the squares of the rewards.
inline void calibrate(const FiniteProblem& problem, RunState& run) {
  const std::size_t d = run.mean.size();
  add_pulls(problem, run, run.gram, run.counted.data());
  const OwnedMatrix gram(d, d, Fill::none);
  copy_values(run.gram.items(), gram.items());
  calibrate(run, gram);
}

inline double mean_of(const FiniteProblem& problem, std::int64_t t, std::size_t arm) {
  return problem.period > 0 ? problem.mean_path(static_cast<std::size_t>(t / problem.period), arm) : problem.means[arm];
}

/// The largest mean on offer.
inline double best_mean(const FiniteProblem& problem, std::int64_t t) {
  return problem.period > 0 ? problem.best_means[static_cast<std::size_t>(t / problem.period)] : problem.best;
}

/// Draw the reward of a row of features in round t and learn from it; return it as it was learned.
inline double learn(const FiniteProblem& problem, RunState& run, std::int64_t t, std::size_t row, double mean, Generator rng) {
  const double y = from_origin(run, draw_reward(problem.noise, mean, problem.spreads[row], rng));
  run.pulls[row] += 1;
  if (forgets(run)) {
    observe_fading(run, problem.features[row], y);
    return y;
  }
  observe(run, problem.features[row], y);
  if (calibration_is_due(run))
    calibrate(problem, run);
  else if (recomputation_is_due(run, t))
    recompute(problem, run);
  return y;
}

/// Play an arm in round t and learn from it; return the reward as it was learned.
inline double pull(const FiniteProblem& problem, RunState& run, std::int64_t t, std::size_t arm, Generator rng) {
  const double mean = mean_of(problem, t, arm), y = learn(problem, run, t, arm, mean, rng);
  note_regret(run, t, best_mean(problem, t) - mean);
  return y;
}

/// Return how many rounds have their arm prescribed.
inline std::int64_t opening_rounds(const FiniteProblem& problem, const RunState& run) {
  const auto rounds = static_cast<std::int64_t>(problem.opening.size());
  return rounds < horizon_of(run) ? rounds : horizon_of(run);
}

/// Return the row of prescribed observation i: first those of the warm-up, which are no rounds, then those of the opening.
inline std::size_t prescribed_row(const FiniteProblem& problem, std::size_t i) {
  const std::size_t warm = problem.warmup.size();
  return static_cast<std::size_t>(i < warm ? problem.warmup[i] : problem.opening[i - warm]);
}

/// Make prescribed observation i; return the reward as it was learned.
inline double observe_prescribed(const FiniteProblem& problem, RunState& run, std::size_t i, Generator rng) {
  const std::size_t warm = problem.warmup.size(), row = prescribed_row(problem, i);
  if (i < warm) return learn(problem, run, 0, row, problem.means[row], rng);
  return pull(problem, run, static_cast<std::int64_t>(i - warm), row, rng);
}

/// Make the observations of the warm-up and the opening; return the first round in which the algorithm may choose.
inline std::int64_t begin(const FiniteProblem& problem, RunState& run, Generator rng) {
  const std::int64_t first = opening_rounds(problem, run);
  const std::size_t prescribed = problem.warmup.size() + static_cast<std::size_t>(first);
  for (std::size_t i = 0; i < prescribed; ++i) observe_prescribed(problem, run, i, rng);
  return first;
}

/// total += sum_k weight(k) x_k over the arms that were pulled since the counts `since`; `seen` becomes the counts of now. Return
/// of how many arms. `indices` and `weights` [K + W] are scratch.
template <class Weight>
std::size_t add_missed(const FiniteProblem& problem, Counts pulls, const std::int32_t* since, std::int32_t* seen, Ints indices,
                       Vector weights, Vector total, Weight weight) {
  std::size_t count = 0;
  for (std::size_t start = 0; start < pulls.size(); start += count_block) {
    for (auto missed = unequal(&pulls[start], since + start); missed != 0; missed &= missed - 1) {
      const std::size_t k = start + static_cast<std::size_t>(std::countr_zero(missed));
      indices[count] = static_cast<std::int64_t>(k);
      weights[count++] = weight(k);
    }
  }
  std::memcpy(seen, pulls.data(), pulls.size_bytes());
  add_some_rows(total, problem.features, indices.first(count), weights.data());
  return count;
}

/// Return argmax_k x_k'theta among the arms on offer, the lowest index on ties.
inline std::size_t greedy_arm(const FiniteProblem& problem, const RunState& run, ConstVector theta) {
  sum_rows(run.scores, problem.by_coordinate, theta);
  return argmax(run.scores);
}

}  // namespace ensample::ENSAMPLE_LEVEL
