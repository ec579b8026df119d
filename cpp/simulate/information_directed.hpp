// Information-directed sampling on finitely many arms.
#pragma once

#include "information.hpp"
#include "simulate/eager.hpp"
#include "simulate/history.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Draw one of a pair of arms.
inline std::size_t draw_arm(const ArmPair& pair, Generator rng) {
  return rng.uniform() < pair.share ? pair.first : pair.second;
}

/// Members as in Algorithm 1, all kept up to date; each round plays one of the two arms of `best_pair`: O(K m + K^2).
inline void informed_ensemble(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t arms = problem.by_coordinate.columns, m = static_cast<std::size_t>(options.size);
  MemberSums members(run, rngs, options);
  const std::int64_t first = begin(problem, run, rngs.noise);
  members.perturb_prescribed(problem, run, first);
  MemberScores scores(problem, m);
  GapsAndGains found(arms, m);
  scores.compute(run, members, inflation(options.factor, run, first));
  for (std::int64_t t = first; t < horizon_of(run) && !is_stopped(run); ++t) {
    found.compute(scores.scores.between(0, arms));
    const std::size_t arm = draw_arm(best_pair(found.gaps, found.gains, found.means), rngs.member);
    const double y = pull(problem, run, t, arm, rngs.noise);
    members.perturb(run, problem.features[arm]);
    scores.follow(run, members, t, arm, y, inflation(options.factor, run, t));
  }
}

/// Members are drawn anew each round, and one of the two arms of `best_pair` is played: O(m d^2 + K m d + K^2).
inline void informed_by_fresh_members(const FiniteProblem& problem, RunState& run, const Rngs& rngs,
                                      const Options& options) {
  const std::size_t d = run.mean.size(), arms = problem.by_coordinate.columns,
                    m = static_cast<std::size_t>(options.size);
  RootedHistory history(run, options);
  GapsAndGains found(arms, m);
  Buffer<double> total(d, Fill::none), theta(d, Fill::none);
  const OwnedMatrix thetas(d, m, Fill::none), scores(arms, m, Fill::none);
  const std::int64_t first = begin(problem, run, rngs.noise);
  history.begin(problem);
  for (std::int64_t t = first; t < horizon_of(run); ++t) {
    if (is_stopped(run)) return;
    const double factor = inflation(options.factor, run, t);
    for (std::size_t j = 0; j < m; ++j) {
      history.draw(total, rngs.perturbation);
      perturb_estimate(run, total, factor, theta);
      for (std::size_t i = 0; i < d; ++i) thetas(i, j) = theta[i];
    }
    score_members(thetas, problem.by_coordinate, scores);
    found.compute(scores);
    const std::size_t arm = draw_arm(best_pair(found.gaps, found.gains, found.means), rngs.member);
    pull(problem, run, t, arm, rngs.noise);
    history.add(problem.features[arm]);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
