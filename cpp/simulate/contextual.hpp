// Simulated runs on arms that change every round, or on the unit ball.
#pragma once

#include "simulate/learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// A run without standing arms, by ridge regression or by the stream fit.
struct ContextualRun {
  const ContextualProblem& problem;
  RunState& run;
  const Rngs& rngs;
  const Options& options;
  const bool is_stream;  // whether the model is fitted by the stream fit
  const Index d = problem.theta.size(), arms = Index(problem.offered);
  const Int horizon = horizon_of(run);
  OwnedMatrix gram{d, d}, features{arms, d};  // V; the arms on offer [K, d]
  Buffer<double> theta{d}, x{d};              // the model that acts; what was played

  ContextualRun(const ContextualProblem& problem, RunState& run, const Rngs& rngs,
                const Options& options, bool is_stream)
      : problem(problem), run(run), rngs(rngs), options(options), is_stream(is_stream) {
    for (Index i = 0; i < d; ++i) gram(i, i) = run.prior[i];
  }

  /// Play to the end, or until the run is stopped: act(t) writes the model of round t to `theta`,
  /// and learn(w) follows the observation of `x`, whose weight is w.
  template <class Act, class Learn>
  void play(Act act, Learn learn) {
    for (Int t = 0; t < horizon && !is_stopped(run); ++t) {
      offer();
      act(t);
      learn(play_best(t));
    }
  }

 private:
  /// Draw the arms of a round.
  void offer() {
    const Index free = problem.constant ? d - 1 : d;
    for (Index k = 0; k < arms; ++k) {
      const Vector row = features[k];
      double squares = 0.0;
      for (Index i = 0; i < free; ++i) {
        row[i] = rngs.context.normal();
        squares += row[i] * row[i];
      }
      for (Index i = 0; i < free; ++i) row[i] /= std::sqrt(squares);
      if (problem.constant) row[free] = 1.0;
    }
  }

  /// Play the best x for `theta` and learn from it; return the weight of the observation.
  double play_best(Int t) {
    const double best = choose(), mean = link_mean(problem.link, product(x, problem.theta));
    const double y = draw(mean);
    double w = 1.0;
    if (is_stream)
      w = observe_weighted(run, options.link, x, y);
    else
      observe(run, x, y);
    add_outer(gram, w, x, x);
    if (!is_stream && calibration_is_due(run))
      replace_prior();
    else if (recomputation_is_due(run, t))
      recompute(run, gram);
    note_regret(run, t, link_mean(problem.link, best) - mean);
    return w;
  }

  /// Write the best x on offer for `theta` to `x`; return the largest linear predictor on offer.
  double choose() {
    if (arms == 0) return choose_direction();
    double best = -infinity;
    for (Index k = 0; k < arms; ++k) {
      run.scores[k] = product(features[k], theta);
      best = std::max(best, product(features[k], problem.theta));
    }
    copy_values(features[argmax(run.scores)], x);
    return best;
  }

  /// `choose` on the unit ball.
  double choose_direction() {
    const double length = std::sqrt(product(theta, theta));
    for (Index i = 0; i < d; ++i) x[i] = length > 0.0 ? theta[i] / length : i == 0 ? 1.0 : 0.0;
    return std::sqrt(product(problem.theta, problem.theta));
  }

  /// x'y, one product after the other: `dot` has four sums.
  static double product(ConstVector x, ConstVector y) {
    double sum = 0.0;
    for (Index i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  }

  double draw(double mean) {
    const double share = std::min(std::abs(mean), 1.0);
    return draw_reward(problem.noise, mean, problem.low + (problem.high - problem.low) * share,
                       rngs.noise);
  }

  /// Learn the scales anew; replace the prior in V by the one that follows.
  void replace_prior() {
    const OwnedMatrix sums(d, d, Fill::none);
    for (Index i = 0; i < d; ++i) gram(i, i) -= run.prior[i];
    copy_values(gram.items(), sums.items());
    calibrate(run, sums);
    for (Index i = 0; i < d; ++i) gram(i, i) += run.prior[i];
  }
};

/// Play a run by an algorithm: an entry of the table in kernels_simulation.cpp.
template <void (*algorithm)(const ContextualProblem&, RunState&, const Rngs&, const Options&)>
void play_contextual(const ContextualProblem& problem, const RunSettings& settings,
                     const RunResults& results, const Rngs& rngs, const Options& options) {
  RunMemory memory(settings, results, problem.theta.size(), 0, Index(problem.offered));
  algorithm(problem, memory.run, rngs, options);
  memory.store(results);
}

}  // namespace ensample::ENSAMPLE_LEVEL
