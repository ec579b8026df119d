// SupLinUCB on finitely many arms.
#pragma once

#include "simulate/rounds.hpp"
#include "optimism.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// What is prescribed goes to the stage that would have asked for it, or to the first that needs it, as in live
/// policies.
inline void sup_linucb(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t count = static_cast<std::size_t>(options.stages), d = run.mean.size();
  Buffer<double> grams(count * d * d), inverses(count * d * d);
  const OwnedMatrix targets(count, d), means(count, d);
  const Stages stages{{grams.data(), count, d, d}, {inverses.data(), count, d, d}, targets, means, options.radius, options.floor};
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = 0; i < d; ++i) {
      stages.grams[s](i, i) = run.lam;
      stages.inverses[s](i, i) = 1.0 / run.lam;
    }
  const std::size_t warm = problem.warmup.size();
  const std::size_t prescribed = warm + static_cast<std::size_t>(opening_rounds(problem, run));
  for (std::size_t i = 0; i < warm + static_cast<std::size_t>(horizon_of(run)); ++i) {
    if (is_stopped(run)) return;
    const StagedChoice choice = choose_staged(stages, problem.by_coordinate);
    const std::size_t arm = i < prescribed ? prescribed_row(problem, i) : choice.arm;
    const ConstVector x = problem.features[arm];
    const std::size_t stage = learning_stage(stages, choice, static_cast<std::int64_t>(arm), x);
    const double y = i < prescribed ? observe_prescribed(problem, run, i, rngs.noise)
                                    : pull(problem, run, static_cast<std::int64_t>(i - warm), arm, rngs.noise);
    if (stage < stages.count()) learn_in_stage(stages, stage, x, y);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
