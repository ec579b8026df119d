// Models drawn anew each round: LinPHE, Thompson sampling and ensemble sampling with fresh members.
//
// The first of a round's exchangeable members acts, so that only it is drawn: a round costs the
// same for every size.
#pragma once

#include "fresh.hpp"
#include "simulate/contextual.hpp"
#include "simulate/members.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Draw W, for the prior of the moment where that is learned.
inline void draw_initial(const RunState& run, const Law& law, Vector total, Generator rng) {
  draw_vector(law, total, rng);
  if (learns_scales(run))
    for (Index i = 0; i < total.size(); ++i) total[i] *= run.prior_root[i];
}

/// Draws of W + scale R'g, g ~ N(0, I), R'R = sum x x'. With ageing (fresh.hpp) R'R is larger for
/// old observations, and W with it.
class RootedHistory {
 public:
  RootedHistory(const RunState& run, const Options& options) : run(run), options(options) {}

  /// Start from the observations so far, which do not age: an aged sum has to see them in their
  /// order.
  void begin(const FiniteProblem& problem) {
    if (forgets(run)) {
      copy_values(run.gram.items(), roots.root.items());
      cholesky_semidefinite(roots.root);
      return;
    }
    for (Index k = 0; k < problem.features.rows; ++k)
      for (std::int32_t n = 0; n < run.pulls[k]; ++n) rotate(roots.root, problem.features[k]);
  }

  /// Add the last observation.
  void add(ConstVector x) {
    if (forgets(run)) fade_roots(roots, run.forgetting_rate);
    add_to_roots(roots, options.ageing, x, run.counters.count, run.forgetting_rate);
  }

  void draw(Vector total, Generator rng) {
    draw_initial(run, options.initial, total, rng);
    if (roots.prior_age > 0.0)
      for (double& entry : total) entry *= std::sqrt(1.0 + roots.prior_age);
    for (double& weight : weights) weight = options.reward.scale * rng.normal();
    weigh_rows<true>(total, roots.root, weights);
  }

 private:
  const RunState& run;
  const Options& options;
  const Index d = run.mean.size();
  Buffer<double> weights{d};
  OwnedRoots roots{d, options.ageing > 0.0};
};

/// theta = theta_hat + factor_t V^-1 (W + scale R'g): O(d^2) a round. The t of factor_t is the
/// number of observations, the warm-up's included; `adaptive` multiplies it by the standard
/// deviation of the rewards so far.
struct GaussianHistory : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    RootedHistory history(run, options);
    Buffer<double> total(d, Fill::none), theta(d, Fill::none);
    for (Int i = 0; i < warm + first; ++i) {
      observe_prescribed(i);
      if (options.ageing > 0.0) history.add(problem.features[prescribed_row(i)]);
    }
    if (!(options.ageing > 0.0)) history.begin(problem);
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      history.draw(total, rngs.perturbation);
      const double factor = inflation(options.factor, run, warm + t);
      perturb_estimate(run, total, options.adaptive ? factor * reward_deviation(warm + t) : factor,
                       theta);
      const Index arm = greedy_arm(theta);
      pull(t, arm);
      history.add(problem.features[arm]);
    }
  }

 private:
  /// Standard deviation of the n rewards so far, n in its denominator; 0 for none.
  double reward_deviation(Int n) const {
    if (n == 0) return 0.0;
    const auto count = double(n);
    const double mean = run.counters.rewards / count;
    const double variance = run.counters.squares / count - mean * mean;
    return std::sqrt(variance > 0.0 ? variance : 0.0);
  }
};

/// theta = theta_hat + factor_t V^-1 (W + sum_k x_k G_k), G_k the sum of N_k draws: O(K d) a round
/// where that sum is one step.
struct SummedHistory : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    Buffer<double> total(d, Fill::none), theta(d, Fill::none), sums(rows, Fill::none);
    Buffer<Int> indices(rows, Fill::none);
    begin();
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      draw_initial(run, options.initial, total, rngs.perturbation);
      Index count = 0;
      for (Index k = 0; k < rows; ++k)
        if (run.pulls[k] > 0) {
          indices[count] = Int(k);
          sums[count++] = draw_sum(options.reward, run.pulls[k], rngs.perturbation);
        }
      add_some_rows(total, problem.features, {indices.data(), count}, sums.data());
      perturb_estimate(run, total, inflation(options.factor, run, t), theta);
      pull(t, greedy_arm(theta));
    }
  }
};

/// `GaussianHistory` on arms that change every round, or on the unit ball.
inline void moving_history(const ContextualProblem& problem, RunState& run, const Rngs& rngs,
                           const Options& options) {
  ContextualRun contextual(problem, run, rngs, options, false);
  RootedHistory history(run, options);
  Buffer<double> total(contextual.d, Fill::none);
  const auto act = [&](Int t) {
    history.draw(total, rngs.perturbation);
    perturb_estimate(run, total, inflation(options.factor, run, t), contextual.theta);
  };
  contextual.play(act, [&](double) { history.add(contextual.x); });
}

// --- By the stream fit: the same in the features sqrt(w) x ---------------------------------------

/// Roots that fresh members of a simulated run are drawn from.
class FreshStream {
 public:
  FreshStream(const RunState& run, double ageing) : run(run), ageing(ageing) {}

  /// Add the observation sqrt(w) x.
  void add(ConstVector x, double w) {
    for (Index i = 0; i < d; ++i) weighted[i] = std::sqrt(w) * x[i];
    add_to_roots(roots, ageing, weighted, run.counters.count, 0.0);
  }

  /// Draw S divided by the scale.
  ConstVector draw(Generator rng) {
    for (Index i = 0; i < d; ++i)
      total[i] = std::sqrt(1.0 + roots.prior_age) * run.prior_root[i] * rng.normal();
    for (Index i = 0; i < d; ++i) {
      const double g = rng.normal();
      for (Index k = i; k < d; ++k) total[k] += g * roots.root(i, k);
    }
    return total;
  }

 private:
  const RunState& run;
  const double ageing;
  const Index d = run.mean.size();
  Buffer<double> weighted{d}, total{d};
  OwnedRoots roots{d, ageing > 0.0};
};

/// theta = theta_hat + scale V^-1 S.
struct FreshStreamRun : StreamRun {
  using FiniteRun::FiniteRun;

  void play() {
    FreshStream members(run, options.ageing);
    Buffer<double> theta(d);
    for (Int i = 0; i < warm + first; ++i)
      members.add(problem.features[prescribed_row(i)], observe_prescribed(i));
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      perturb_estimate(run, members.draw(rngs.perturbation), options.scale, theta);
      const Index arm = greedy_arm(theta);
      members.add(problem.features[arm], pull(t, arm));
    }
  }
};

/// The same on arms that change every round, or on the unit ball.
inline void fresh_moving_stream(const ContextualProblem& problem, RunState& run, const Rngs& rngs,
                                const Options& options) {
  ContextualRun contextual(problem, run, rngs, options, true);
  FreshStream members(run, options.ageing);
  const auto act = [&](Int) {
    perturb_estimate(run, members.draw(rngs.perturbation), options.scale, contextual.theta);
  };
  contextual.play(act, [&](double w) { members.add(contextual.x, w); });
}

}  // namespace ensample::ENSAMPLE_LEVEL
