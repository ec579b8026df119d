// Recipes on finitely many arms that act on the ridge estimate alone: greedy, LinUCB and SupLinUCB.
#pragma once

#include "optimism.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// eps_t: `epsilon` or, where `decay` is not 0, decay / (decay + t).
inline double exploration(const Options& options, Int t) {
  return options.decay == 0.0 ? options.epsilon : options.decay / (options.decay + double(t));
}

/// True with probability eps_t. The warm-up's observations count as rounds.
inline bool draw_exploration(const Options& options, Int seen, Generator rng) {
  const double chance = exploration(options, seen);
  return chance > 0.0 && rng.uniform() < chance;
}

/// With probability eps_t any arm, else argmax_k x_k'theta_hat.
struct EpsilonGreedy : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    begin();
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      const bool explores = draw_exploration(options, warm + t, rngs.member);
      pull(t, explores ? rngs.member.index(arms) : greedy_arm(run.mean));
    }
  }
};

/// beta_t = factor_t or, with `watch_norm`, factor_t + sqrt(lam) times the largest |theta_hat| so
/// far.
///
/// A run keeps the squared widths w_k = x_k'V^-1 x_k up to date by the rank-one formula, O(K d) a
/// round, and recomputes them whenever V^-1 is.
class LinUCB : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (Int i = 0; i < warm + first; ++i) {
      observe_prescribed(i);
      watch();
    }
    square_widths(run.inverse, problem.by_coordinate, widths);
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      const double beta = inflation(options.factor, run, warm + t) + std::sqrt(run.lam * largest);
      sum_rows(run.scores, problem.by_coordinate, run.mean);
      pull(t, optimistic_argmax(run.scores, widths, beta));
      watch();
      if (recomputation_is_due(run, t) || is_replaced(run))
        square_widths(run.inverse, problem.by_coordinate, widths);
      else
        update_widths();
    }
  }

 private:
  Buffer<double> widths{arms}, projections{arms};
  double largest = 0.0;  // |theta_hat|^2 so far, if it is watched

  void watch() {
    if (options.watch_norm) largest = std::max(largest, dot(run.mean, run.mean));
  }

  /// w_k -= (x_k'g)^2 / (1 + leverage), with g and the leverage of the last observation.
  void update_widths() {
    sum_rows(projections, problem.by_coordinate, run.gain);
    const double growth = 1.0 + run.counters.leverage;
    for (Index k = 0; k < arms; ++k) widths[k] -= projections[k] * projections[k] / growth;
  }
};

/// SupLinUCB. A prescribed arm goes to the stage that would have asked for it, or to the first that
/// needs it, as in live policies.
struct SupLinUCB : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    const Index count = Index(options.stages);
    Buffer<double> grams(count * d * d), inverses(count * d * d);
    const OwnedMatrix targets(count, d), means(count, d);
    const Stages stages{{grams.data(), count, d, d},
                        {inverses.data(), count, d, d},
                        targets,
                        means,
                        options.radius,
                        options.floor};
    for (Index s = 0; s < count; ++s)
      for (Index i = 0; i < d; ++i) {
        stages.grams[s](i, i) = run.lam;
        stages.inverses[s](i, i) = 1.0 / run.lam;
      }
    for (Int i = 0; i < warm + horizon && !is_stopped(run); ++i) {
      const bool is_prescribed = i < warm + first;
      const StagedChoice choice = choose_staged(stages, problem.by_coordinate);
      const Index arm = is_prescribed ? prescribed_row(i) : choice.arm;
      const ConstVector x = problem.features[arm];
      const Index stage = learning_stage(stages, choice, Int(arm), x);
      const double y = is_prescribed ? observe_prescribed(i) : pull(i - warm, arm);
      if (stage < stages.count()) learn_in_stage(stages, stage, x, y);
    }
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
