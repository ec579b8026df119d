// Simulated runs on finitely many arms: what every algorithm has, and how it plays a round.
//
// V is the prior and sum_k c_k x_k x_k' with c_k the pull count of arm k or, by the stream fit, the
// sum of the weights of its observations: it can be had again from them at any time. Where the past
// is forgotten V is recomputed every round, from a sum that fades.
#pragma once

#include <bit>

#include "simulate/learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// gram += sum_k (pulls_k - counted_k) x_k x_k'; counted = pulls.
inline void add_pulls(const FiniteProblem& problem, const RunState& run, Matrix gram,
                      std::int32_t* counted) {
  for (Index k = 0; k < problem.features.rows; ++k)
    if (run.pulls[k] != counted[k]) {
      add_outer(gram, run.pulls[k] - counted[k], problem.features[k], problem.features[k]);
      counted[k] = run.pulls[k];
    }
}

/// gram += sum_k weights_k x_k x_k'.
template <class Weights>
void add_weighted(const FiniteProblem& problem, const Weights& weights, Matrix gram) {
  for (Index k = 0; k < problem.features.rows; ++k)
    if (weights[k] > 0) add_outer(gram, weights[k], problem.features[k], problem.features[k]);
}

/// Recompute V^-1 and theta_hat from the weights of the arms and b.
template <class Weights>
void recompute(const FiniteProblem& problem, RunState& run, const Weights& weights) {
  const Index d = run.mean.size();
  const OwnedMatrix gram(d, d);
  add_weighted(problem, weights, gram);
  for (Index i = 0; i < d; ++i) gram(i, i) += run.prior[i];
  recompute(run, gram);
}

/// Learn the scales from the pull counts, b and the squares of the rewards.
inline void calibrate(const FiniteProblem& problem, RunState& run) {
  const Index d = run.mean.size();
  add_pulls(problem, run, run.gram, run.counted.data());
  const OwnedMatrix gram(d, d, Fill::none);
  copy_values(run.gram.items(), gram.items());
  calibrate(run, gram);
}

/// Ridge regression.
struct LinearFit {
  LinearFit(const FiniteProblem&, const Options&) {}

  /// Learn a reward of a row of features in round t; return it as it is learned.
  double learn(const FiniteProblem& problem, RunState& run, Int t, Index row, double reward) {
    const double y = from_origin(run, reward);
    if (forgets(run)) {
      observe_fading(run, problem.features[row], y);
      return y;
    }
    observe(run, problem.features[row], y);
    if (calibration_is_due(run))
      calibrate(problem, run);
    else if (recomputation_is_due(run, t))
      recompute(problem, run, run.pulls);
    return y;
  }
};

/// The stream fit of a generalised linear model.
struct StreamFit {
  Link link;
  Buffer<double> weights;  // c_k [K + W]

  StreamFit(const FiniteProblem& problem, const Options& options)
      : link(options.link), weights(problem.features.rows) {}

  /// Learn a reward of a row of features in round t; return the weight of the observation.
  double learn(const FiniteProblem& problem, RunState& run, Int t, Index row, double reward) {
    const double w = observe_weighted(run, link, problem.features[row], reward);
    weights[row] += w;
    if (recomputation_is_due(run, t)) recompute(problem, run, weights);
    return w;
  }
};

/// A run on finitely many arms: algorithms derive from it and `play` to the end, or until they are
/// stopped.
template <class Fit>
struct FiniteRun {
  const FiniteProblem& problem;
  RunState& run;
  const Rngs& rngs;
  const Options& options;
  Fit fit{problem, options};
  const Index d = run.mean.size(), rows = problem.features.rows;
  const Index arms = problem.by_coordinate.columns;
  const Int warm = Int(problem.warmup.size()), horizon = horizon_of(run);
  /// The first round whose arm is not prescribed.
  const Int first = std::min(Int(problem.opening.size()), horizon);

  FiniteRun(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options)
      : problem(problem), run(run), rngs(rngs), options(options) {}

  /// The row of prescribed observation i: first those of the warm-up, which are no rounds, then
  /// those of the opening.
  Index prescribed_row(Int i) const {
    return Index(i < warm ? problem.warmup[Index(i)] : problem.opening[Index(i - warm)]);
  }

  double mean_of(Int t, Index arm) const {
    return problem.period > 0 ? problem.mean_path(Index(t / problem.period), arm)
                              : problem.means[arm];
  }

  void note_loss(Int t, double mean) {
    const bool moves = problem.period > 0;
    const double best = moves ? problem.best_means[Index(t / problem.period)] : problem.best;
    note_regret(run, t, best - mean);
  }

  /// Draw the reward of a row of features in round t and learn it; return what `Fit::learn` does.
  double learn(Int t, Index row, double mean) {
    const double y = draw_reward(problem.noise, mean, problem.spreads[row], rngs.noise);
    run.pulls[row] += 1;
    return fit.learn(problem, run, t, row, y);
  }

  /// Play an arm in round t and learn from it.
  double pull(Int t, Index arm) {
    const double mean = mean_of(t, arm), learned = learn(t, arm, mean);
    note_loss(t, mean);
    return learned;
  }

  double observe_prescribed(Int i) {
    const Index row = prescribed_row(i);
    return i < warm ? learn(0, row, problem.means[row]) : pull(i - warm, row);
  }

  /// Make the observations of the warm-up and the opening.
  void begin() {
    for (Int i = 0; i < warm + first; ++i) observe_prescribed(i);
  }

  /// argmax_k x_k'theta among the arms on offer, the lowest index on ties.
  Index greedy_arm(ConstVector theta) {
    sum_rows(run.scores, problem.by_coordinate, theta);
    return argmax(run.scores);
  }

  /// total += sum_k weight(k) x_k over the arms that were pulled since the counts `since`; `seen`
  /// becomes the counts of now. Return the number of those arms. `indices` and `weights` [K + W]
  /// are scratch.
  template <class Weight>
  Index add_missed(const std::int32_t* since, std::int32_t* seen, Ints indices, Vector weights,
                   Vector total, Weight weight) {
    const Counts pulls = run.pulls;
    Index count = 0;
    for (Index start = 0; start < pulls.size(); start += count_block) {
      for (auto missed = unequal(&pulls[start], since + start); missed != 0; missed &= missed - 1) {
        const Index k = start + Index(std::countr_zero(missed));
        indices[count] = Int(k);
        weights[count++] = weight(k);
      }
    }
    std::memcpy(seen, pulls.data(), pulls.size_bytes());
    add_some_rows(total, problem.features, indices.first(count), weights.data());
    return count;
  }
};

using LinearRun = FiniteRun<LinearFit>;
using StreamRun = FiniteRun<StreamFit>;

/// Play a run by an algorithm: an entry of the table in kernels_simulation.cpp.
template <class Algorithm>
void play(const FiniteProblem& problem, const RunSettings& settings, const RunResults& results,
          const Rngs& rngs, const Options& options) {
  const Index arms = problem.by_coordinate.columns;
  const ConstMatrix features = problem.features;
  RunMemory memory(settings, results, features.columns, features.rows, arms);
  Algorithm(problem, memory.run, rngs, options).play();
  memory.store(results);
}

}  // namespace ensample::ENSAMPLE_LEVEL
