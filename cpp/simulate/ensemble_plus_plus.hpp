// Linear Ensemble++ on finitely many arms.
#pragma once

#include <cmath>

#include "perturbations.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// theta = theta_hat + scale V^-1 S zeta with a fresh zeta ~ N(0, I_M); S += x z', z on the unit sphere of R^M.
inline void ensemble_plus_plus(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t d = run.mean.size(), size = static_cast<std::size_t>(options.size);
  const double unit = 1.0 / std::sqrt(static_cast<double>(size));
  const Law first_law{LawKind::sphere, 1, std::sqrt(run.lam) * unit}, law{LawKind::sphere, 1, unit};
  const OwnedMatrix directions(size, d, Fill::none);  // S'
  Buffer<double> z(size, Fill::none), total(d, Fill::none), theta(d, Fill::none);
  for (std::size_t i = 0; i < d; ++i) {
    draw_vector(first_law, z, rngs.perturbation);
    for (std::size_t j = 0; j < size; ++j) directions(j, i) = z[j];
  }
  const auto learn_row = [&](std::size_t row) {
    draw_vector(law, z, rngs.perturbation);
    add_outer(directions, 1.0, z, problem.features[row]);
  };
  const std::int64_t first = begin(problem, run, rngs.noise);
  for (std::size_t k = 0; k < problem.features.rows; ++k)
    for (std::int32_t n = 0; n < run.pulls[k]; ++n) learn_row(k);
  for (std::int64_t t = first; t < horizon_of(run); ++t) {
    if (is_stopped(run)) return;
    for (double& zeta : z) zeta = rngs.member.normal();
    sum_rows(total, directions, z);
    perturb_estimate(run, total, options.scale, theta);
    const std::size_t arm = greedy_arm(problem, run, theta);
    pull(problem, run, t, arm, rngs.noise);
    learn_row(arm);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
