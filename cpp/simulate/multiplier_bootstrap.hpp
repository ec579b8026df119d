// Multiplier bootstrap exploration on finitely many arms.
#pragma once

#include "pseudo_rewards.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Every replicate observes every reward, with weights N(1, spread^2); the one that acts is solved for. `scale`
/// multiplies the weights of pseudo-rewards.
inline void multiplier_bootstrap(const FiniteProblem& problem, RunState& run, const Rngs& rngs,
                                 const Options& options) {
  const std::size_t d = run.mean.size(), size = static_cast<std::size_t>(options.size), warm = problem.warmup.size();
  Buffer<double> grams(size * d * d), theta(d);
  const OwnedMatrix targets(size, d);
  const Replicates replicates{{grams.data(), size, d, d}, targets};
  for (std::size_t j = 0; j < size; ++j)
    for (std::size_t i = 0; i < d; ++i) replicates.grams[j](i, i) = run.lam;
  const std::size_t prescribed = warm + static_cast<std::size_t>(opening_rounds(problem, run));
  for (std::size_t i = 0; i < warm + static_cast<std::size_t>(horizon_of(run)); ++i) {
    if (is_stopped(run)) return;
    std::size_t arm;
    double y;
    if (i < prescribed) {
      arm = prescribed_row(problem, i);
      y = observe_prescribed(problem, run, i, rngs.noise);
    } else {
      const auto t = static_cast<std::int64_t>(i - warm);
      const std::int64_t first = unplayed(options.basis, std::span<const std::int32_t>(run.pulls), t);
      if (first >= 0) {
        arm = static_cast<std::size_t>(first);
      } else {
        const auto j = static_cast<std::size_t>(rngs.member.uniform() * static_cast<double>(size));
        weighted_estimate(replicates.grams[j], replicates.targets[j], theta);
        arm = greedy_arm(problem, run, theta);
      }
      y = pull(problem, run, t, arm, rngs.noise);
    }
    for (std::size_t j = 0; j < size; ++j) {
      double weights[3];
      for (double& weight : weights) weight = 1.0 + options.spread * rngs.perturbation.normal();
      weigh(replicates, j, weights, options.scale, problem.features[arm], y);
    }
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
