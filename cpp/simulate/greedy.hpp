// The ridge estimate alone on finitely many arms, with or without rounds of blind exploration.
#pragma once

#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// eps_t: `epsilon` or, where `decay` is not 0, decay / (decay + t).
inline double exploration(double epsilon, double decay, std::int64_t t) {
  return decay == 0.0 ? epsilon : decay / (decay + static_cast<double>(t));
}

/// With probability eps_t any arm, else argmax_k x_k'theta_hat; observations of the warm-up count as rounds.
inline void epsilon_greedy(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const auto arms = static_cast<double>(problem.by_coordinate.columns);
  const auto warm = static_cast<std::int64_t>(problem.warmup.size());
  for (std::int64_t t = begin(problem, run, rngs.noise); t < horizon_of(run); ++t) {
    if (is_stopped(run)) return;
    const double chance = exploration(options.epsilon, options.decay, warm + t);
    const bool explores = chance > 0.0 && rngs.member.uniform() < chance;
    const std::size_t arm =
        explores ? static_cast<std::size_t>(rngs.member.uniform() * arms) : greedy_arm(problem, run, run.mean);
    pull(problem, run, t, arm, rngs.noise);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
