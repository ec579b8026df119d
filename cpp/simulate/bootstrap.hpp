// Recipes on finitely many arms that learn from pseudo-rewards: LinPHE and the multiplier bootstrap.
#pragma once

#include "pseudo_rewards.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// LinPHE with Bernoulli pseudo-rewards: theta = G^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2), G as in `invert_mixed`: O(K d + d^2) a round.
class KvetonPHE : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    begin();
    for (std::int64_t t = first; t < horizon && !is_stopped(run); ++t) {
      const std::int64_t waiting = unplayed(options.basis, pulls(), t);
      if (waiting >= 0)
        pull(t, static_cast<std::size_t>(waiting));
      else
        play_perturbed(t);
    }
  }

 private:
  Buffer<double> total{d}, theta{d}, gain{d}, heads{rows};
  Buffer<std::int64_t> indices{rows};
  const OwnedMatrix mixed{d, d};  // G^-1
  bool is_known = false;  // whether there is a G^-1: a basis was played, and G is not singular to working precision

  std::span<const std::int32_t> pulls() const { return {run.pulls.data(), rows}; }
  double pseudo_count_of(std::size_t arm) const {
    return static_cast<double>(pseudo_count(options.scale, run.pulls[arm]));
  }

  void play_perturbed(std::int64_t t) {
    if (!is_known || recomputation_is_due(run, t - 1))
      is_known = invert_mixed(problem.features, pulls(), options.scale, run.lam, mixed);
    draw_total();
    sum_rows(theta, is_known ? Matrix(mixed) : run.inverse, total);  // the arms' directions are in V^-1
    const std::size_t arm = greedy_arm(theta);
    const double before = pseudo_count_of(arm);
    pull(t, arm);
    if (is_known) update_mixed(problem.features[arm], 1.0 + pseudo_count_of(arm) - before);
  }

  /// Draw b + sum_k x_k U_k.
  void draw_total() {
    std::size_t count = 0;
    for (std::size_t k = 0; k < rows; ++k)
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

/// Multiplier bootstrap exploration: every replicate observes every reward, with weights N(1, spread^2); the one that acts is
/// solved for. `scale` multiplies the weights of pseudo-rewards.
class MultiplierBootstrap : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t i = 0; i < d; ++i) grams[j](i, i) = run.lam;
    for (std::int64_t i = 0; i < warm + horizon && !is_stopped(run); ++i) {
      const bool is_prescribed = i < warm + first;
      const std::size_t arm = is_prescribed ? prescribed_row(i) : choose(i - warm);
      const double y = is_prescribed ? observe_prescribed(i) : pull(i - warm, arm);
      for (std::size_t j = 0; j < size; ++j) {
        double weights[3];
        for (double& weight : weights) weight = 1.0 + options.spread * rngs.perturbation.normal();
        weigh(grams[j], targets[j], weights, options.scale, problem.features[arm], y);
      }
    }
  }

 private:
  const std::size_t size = static_cast<std::size_t>(options.size);
  Buffer<double> memory{size * d * d}, theta{d};
  const MatrixStack<double> grams{memory.data(), size, d, d};
  const OwnedMatrix targets{size, d};

  std::size_t choose(std::int64_t t) {
    const std::int64_t waiting = unplayed(options.basis, std::span<const std::int32_t>(run.pulls), t);
    if (waiting >= 0) return static_cast<std::size_t>(waiting);
    const std::size_t j = rngs.member.index(size);
    weighted_estimate(grams[j], targets[j], theta);
    return greedy_arm(theta);
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
