// LinPHE with Bernoulli pseudo-rewards on finitely many arms.
#pragma once

#include "pseudo_rewards.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// theta = G^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2), G as in `invert_mixed`: O(K d + d^2) a round.
class KvetonPHE : FiniteRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (std::int64_t t = begin(problem, run, rngs.noise); t < horizon_of(run); ++t) {
      if (is_stopped(run)) return;
      const std::int64_t first = unplayed(options.basis, pulls(), t);
      if (first >= 0)
        pull(problem, run, t, static_cast<std::size_t>(first), rngs.noise);
      else
        play_perturbed(t);
    }
  }

 private:
  Buffer<double> total{d}, theta{d}, gain{d}, heads{problem.features.rows};
  Buffer<std::int64_t> indices{problem.features.rows};
  const OwnedMatrix mixed{d, d};  // G^-1
  bool is_known = false;  // whether there is a G^-1: a basis was played, and G is not singular to working precision

  std::span<const std::int32_t> pulls() const { return {run.pulls.data(), problem.features.rows}; }
  double pseudo_count_of(std::size_t arm) const {
    return static_cast<double>(pseudo_count(options.scale, run.pulls[arm]));
  }

  void play_perturbed(std::int64_t t) {
    if (!is_known || recomputation_is_due(run, t - 1))
      is_known = invert_mixed(problem.features, pulls(), options.scale, run.lam, mixed);
    draw_total();
    sum_rows(theta, is_known ? Matrix(mixed) : run.inverse, total);  // the arms' directions are in V^-1
    const std::size_t arm = greedy_arm(problem, run, theta);
    const double before = pseudo_count_of(arm);
    pull(problem, run, t, arm, rngs.noise);
    if (is_known) update_mixed(problem.features[arm], 1.0 + pseudo_count_of(arm) - before);
  }

  /// Draw b + sum_k x_k U_k.
  void draw_total() {
    std::size_t count = 0;
    for (std::size_t k = 0; k < problem.features.rows; ++k)
      if (run.pulls[k] > 0) {
        indices[count] = static_cast<std::int64_t>(k);
        heads[count++] =
            static_cast<double>(rngs.perturbation.binomial_half(pseudo_count(options.scale, run.pulls[k])));
      }
    copy_values(run.target, total);
    add_some_rows(total, problem.features, {indices.data(), count}, heads.data());
  }

  /// G += weight x x'.
  void update_mixed(ConstVector x, double weight) {
    sum_rows(gain, mixed, x);
    add_outer(mixed, -weight / (1.0 + weight * dot(gain, x)), gain, gain);
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
