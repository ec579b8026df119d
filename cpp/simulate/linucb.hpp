// LinUCB on finitely many arms.
//
// A run keeps the squared widths w_k = x_k'V^-1 x_k up to date by the rank-one formula, O(K d) a round, and recomputes
// them whenever V^-1 is.
#pragma once

#include "optimism.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// w_k -= (x_k'g)^2 / (1 + leverage), with g and the leverage of the last observation. `projections` [K] is scratch.
inline void update_widths(const FiniteProblem& problem, const RunState& run, Vector projections, Vector widths) {
  sum_rows(projections, problem.by_coordinate, run.gain);
  const double growth = 1.0 + run.counters.leverage;
  for (std::size_t k = 0; k < widths.size(); ++k) widths[k] -= projections[k] * projections[k] / growth;
}

/// beta_t = factor_t or, with `watch_norm`, factor_t + sqrt(lam) times the largest |theta_hat| so far.
class LinUCB : FiniteRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    const auto warm = static_cast<std::int64_t>(problem.warmup.size());
    const std::int64_t first = opening_rounds(problem, run);
    for (std::size_t i = 0; i < static_cast<std::size_t>(warm + first); ++i) {
      observe_prescribed(problem, run, i, rngs.noise);
      watch();
    }
    square_widths(run.inverse, problem.by_coordinate, widths);
    for (std::int64_t t = first; t < horizon_of(run); ++t) {
      if (is_stopped(run)) return;
      const double beta = inflation(options.factor, run, warm + t) + std::sqrt(run.lam * largest);
      sum_rows(run.scores, problem.by_coordinate, run.mean);
      pull(problem, run, t, optimistic_argmax(run.scores, widths, beta), rngs.noise);
      watch();
      if (recomputation_is_due(run, t) || is_replaced(run))
        square_widths(run.inverse, problem.by_coordinate, widths);
      else
        update_widths(problem, run, projections, widths);
    }
  }

 private:
  Buffer<double> widths{problem.by_coordinate.columns}, projections{problem.by_coordinate.columns};
  double largest = 0.0;  // |theta_hat|^2 so far, if it is watched

  void watch() {
    if (!options.watch_norm) return;
    const double square = dot(run.mean, run.mean);
    if (square > largest) largest = square;
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
