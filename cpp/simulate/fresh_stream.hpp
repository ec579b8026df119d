// Ensemble sampling with fresh members and a generalised linear model, by the stream fit: fresh.hpp in the features sqrt(w) x.
#pragma once

#include "fresh.hpp"
#include "simulate/stream_rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// What fresh members of a simulated run are drawn from.
class FreshStream {
 public:
  FreshStream(const RunState& run, double ageing) : run(run), ageing(ageing) {}

  /// Add the observation sqrt(w) x.
  void add(ConstVector x, double w) {
    for (std::size_t i = 0; i < d; ++i) weighted[i] = std::sqrt(w) * x[i];
    add_to_roots(roots, ageing, weighted, run.counters.count, 0.0);
  }

  /// Draw S divided by the scale.
  ConstVector draw(Generator rng) {
    for (std::size_t i = 0; i < d; ++i) total[i] = std::sqrt(1.0 + roots.prior_age) * run.prior_root[i] * rng.normal();
    for (std::size_t i = 0; i < d; ++i) {
      const double g = rng.normal();
      for (std::size_t k = i; k < d; ++k) total[k] += g * roots.root(i, k);
    }
    return total;
  }

 private:
  const RunState& run;
  const double ageing;
  const std::size_t d = run.mean.size();
  Buffer<double> weighted{d}, total{d};
  OwnedRoots roots{d, ageing > 0.0};
};

/// theta = theta_hat + scale V^-1 S.
inline void fresh_stream(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t d = run.mean.size(), warm = problem.warmup.size();
  StreamRounds rounds(problem, run, options.link);
  FreshStream members(run, options.ageing);
  Buffer<double> theta(d);
  const std::int64_t first = opening_rounds(problem, run), horizon = horizon_of(run);
  for (std::size_t i = 0; i < warm + static_cast<std::size_t>(first); ++i)
    members.add(problem.features[prescribed_row(problem, i)], rounds.learn_prescribed(i, rngs.noise));
  for (std::int64_t t = first; t < horizon && !is_stopped(run); ++t) {
    perturb_estimate(run, members.draw(rngs.perturbation), options.scale, theta);
    const std::size_t arm = greedy_arm(problem, run, theta);
    members.add(problem.features[arm], rounds.pull(t, arm, rngs.noise));
  }
}

/// The same on arms that change every round, or on the unit ball.
inline void fresh_moving_stream(const ContextualProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  FreshStream members(run, options.ageing);
  ContextualRound round(problem, run);
  for (std::int64_t t = 0; t < horizon_of(run) && !is_stopped(run); ++t) {
    round.offer(problem, rngs.context);
    perturb_estimate(run, members.draw(rngs.perturbation), options.scale, round.theta);
    const double w = play_weighted(problem, run, round, options.link, t, rngs.noise);
    members.add(round.x, w);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
