// One round of a simulated generalised linear model that learns by the stream fit (stream.hpp).
//
// On finitely many arms V is prior + sum_k c_k x_k x_k' with c_k the sum of the weights of arm k's observations, from which it can be had again at any
// time.
#pragma once

#include "simulate/contextual.hpp"
#include "simulate/rounds.hpp"
#include "stream.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// An implicit step of theta_hat, V += w x x' and V^-1 by Sherman-Morrison; return w.
inline double observe_weighted(RunState& run, Link link, ConstVector x, double y) {
  const double q = set_gain(estimate_of(run), x);
  const double v = implicit_step(link, dot(run.mean, x), q, y);
  const auto at = link_at(link, v, y);
  const double w = at.slope > min_weight ? at.slope : min_weight;
  axpy(run.mean, -at.error, run.gain);
  axpy(run.target, w * v - at.error, x);
  add_outer(run.inverse, -w / (1.0 + w * q), run.gain, run.gain);
  count_observation(run.counters, y, w * q);
  return w;
}

/// Rounds on finitely many arms. `weights` [K + W] are the c_k.
struct StreamRounds {
  const FiniteProblem& problem;
  RunState& run;
  Link link;
  Buffer<double> weights;

  StreamRounds(const FiniteProblem& problem, RunState& run, Link link)
      : problem(problem), run(run), link(link), weights(problem.features.rows) {}

  /// V += sum_k c_k x_k x_k'.
  void add_weighted(Matrix gram) const {
    for (std::size_t k = 0; k < weights.size(); ++k)
      if (weights[k] > 0.0) add_outer(gram, weights[k], problem.features[k], problem.features[k]);
  }

  /// Draw the reward of a row of features in round t and learn from it; return the weight of the observation.
  double learn(std::int64_t t, std::size_t row, double mean, Generator rng) {
    const double y = draw_reward(problem.noise, mean, problem.spreads[row], rng);
    run.pulls[row] += 1;
    const double w = observe_weighted(run, link, problem.features[row], y);
    weights[row] += w;
    if (recomputation_is_due(run, t)) recompute();
    return w;
  }

  /// Play an arm in round t and learn from it; return the weight of the observation.
  double pull(std::int64_t t, std::size_t arm, Generator rng) {
    const double mean = mean_of(problem, t, arm), w = learn(t, arm, mean, rng);
    note_regret(run, t, best_mean(problem, t) - mean);
    return w;
  }

  /// Make prescribed observation i (`observe_prescribed`); return its weight.
  double learn_prescribed(std::size_t i, Generator rng) {
    const std::size_t warm = problem.warmup.size(), row = prescribed_row(problem, i);
    return i < warm ? learn(0, row, problem.means[row], rng) : pull(static_cast<std::int64_t>(i - warm), row, rng);
  }

 private:
  /// Recompute V^-1 and theta_hat from the weights and b.
  void recompute() {
    const std::size_t d = run.mean.size();
    const OwnedMatrix gram(d, d);
    add_weighted(gram);
    for (std::size_t i = 0; i < d; ++i) gram(i, i) += run.prior[i];
    ENSAMPLE_LEVEL::recompute(run, gram);
  }
};

/// Play the best x for the model that acts in round t, on arms that change, and learn from it; return the weight.
inline double play_weighted(const ContextualProblem& problem, RunState& run, ContextualRound& round, Link link, std::int64_t t,
                            Generator rng) {
  const double best = round.choose(problem, run), mean = mean_of(problem, round.x);
  const double w = observe_weighted(run, link, round.x, draw_reward(problem, mean, rng));
  add_outer(round.gram, w, round.x, round.x);
  if (recomputation_is_due(run, t)) recompute(run, round.gram);
  note_regret(run, t, link_mean(problem.link, best) - mean);
  return w;
}

}  // namespace ensample::ENSAMPLE_LEVEL
