// One round of a simulated run on arms that change every round, or on the unit ball.
#pragma once

#include "links.hpp"
#include "simulate/learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// What changes from round to round, besides the state of the run.
struct ContextualRound {
  const std::size_t d, arms;
  OwnedMatrix gram{d, d}, features{arms, d};  // V; the arms on offer [K, d]
  Buffer<double> theta{d}, x{d};              // the model that acts; what was played

  ContextualRound(const ContextualProblem& problem, const RunState& run)
      : d(problem.theta.size()), arms(static_cast<std::size_t>(problem.offered)) {
    for (std::size_t i = 0; i < d; ++i) gram(i, i) = run.prior[i];
  }

  /// Draw the arms of a round.
  void offer(const ContextualProblem& problem, Generator rng) {
    const std::size_t free = problem.constant ? d - 1 : d;
    for (std::size_t k = 0; k < arms; ++k) {
      const Vector row = features[k];
      double squares = 0.0;
      for (std::size_t i = 0; i < free; ++i) {
        row[i] = rng.normal();
        squares += row[i] * row[i];
      }
      for (std::size_t i = 0; i < free; ++i) row[i] /= std::sqrt(squares);
      if (problem.constant) row[free] = 1.0;
    }
  }

  /// Write the best x on offer for `theta` to `x`; return the largest linear predictor on offer.
  double choose(const ContextualProblem& problem, const RunState& run) {
    if (arms == 0) return choose_direction(problem);
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < arms; ++k) {
      const Vector row = features[k];
      double score = 0.0, value = 0.0;
      for (std::size_t i = 0; i < d; ++i) {
        score += row[i] * theta[i];
        value += row[i] * problem.theta[i];
      }
      run.scores[k] = score;
      if (value > best) best = value;
    }
    copy_values(features[argmax(run.scores)], x);
    return best;
  }

 private:
  /// `choose` on the unit ball.
  double choose_direction(const ContextualProblem& problem) {
    const double length = norm(theta);
    for (std::size_t i = 0; i < d; ++i) x[i] = length > 0.0 ? theta[i] / length : i == 0 ? 1.0 : 0.0;
    return norm(problem.theta);
  }

  static double norm(ConstVector values) {
    double squares = 0.0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares);
  }
};

/// Return E[Y | x].
inline double mean_of(const ContextualProblem& problem, ConstVector x) {
  double predictor = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) predictor += x[i] * problem.theta[i];
  return link_mean(problem.link, predictor);
}

/// Draw a reward with this mean.
inline double draw_reward(const ContextualProblem& problem, double mean, Generator rng) {
  const double size = std::abs(mean), share = size > 1.0 ? 1.0 : size;
  return draw_reward(problem.noise, mean, problem.low + (problem.high - problem.low) * share, rng);
}

/// Learn the scales anew; replace the prior in V by the one that follows.
inline void replace_prior(RunState& run, Matrix V) {
  const std::size_t d = run.mean.size();
  const OwnedMatrix gram(d, d, Fill::none);
  for (std::size_t i = 0; i < d; ++i) V(i, i) -= run.prior[i];
  copy_values(V.items(), gram.items());
  calibrate(run, gram);
  for (std::size_t i = 0; i < d; ++i) V(i, i) += run.prior[i];
}

/// Play the best x for the model that acts in round t and learn from it.
inline void play(const ContextualProblem& problem, RunState& run, ContextualRound& round, std::int64_t t, Generator rng) {
  const double best = round.choose(problem, run), mean = mean_of(problem, round.x);
  observe(run, round.x, draw_reward(problem, mean, rng));
  add_outer(round.gram, 1.0, round.x, round.x);
  if (calibration_is_due(run))
    replace_prior(run, round.gram);
  else if (recomputation_is_due(run, t))
    recompute(run, round.gram);
  note_regret(run, t, link_mean(problem.link, best) - mean);
}

}  // namespace ensample::ENSAMPLE_LEVEL
