// Recipes on finitely many arms that learn from pseudo-rewards: LinPHE and the multiplier
// bootstrap.
#pragma once

#include "pseudo_rewards.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// LinPHE with Bernoulli pseudo-rewards: theta = G^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a
/// N_k), 1/2), G as in `invert_mixed`: O(K d + d^2) a round.
class KvetonPHE : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    begin();
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      const Int waiting = unplayed(options.basis, pulls(), t);
      if (waiting >= 0)
        pull(t, Index(waiting));
      else
        play_perturbed(t);
    }
  }

 private:
  Buffer<double> total{d}, theta{d}, gain{d}, heads{rows};
  Buffer<Int> indices{rows};
  const OwnedMatrix mixed{d, d};  // G^-1
  bool is_known = false;  // whether there is a G^-1: a basis was played, and G is not singular to
                          // working precision

  std::span<const std::int32_t> pulls() const { return {run.pulls.data(), rows}; }
  double pseudo_count_of(Index arm) const {
    return double(pseudo_count(options.scale, run.pulls[arm]));
  }

  void play_perturbed(Int t) {
    if (!is_known || recomputation_is_due(run, t - 1))
      is_known = invert_mixed(problem.features, pulls(), options.scale, run.lam, mixed);
    draw_total();
    sum_rows(theta, is_known ? Matrix(mixed) : run.inverse,
             total);  // the arms' directions are in V^-1
    const Index arm = greedy_arm(theta);
    const double before = pseudo_count_of(arm);
    pull(t, arm);
    if (is_known) update_mixed(problem.features[arm], 1.0 + pseudo_count_of(arm) - before);
  }

  /// Draw b + sum_k x_k U_k.
  void draw_total() {
    Index count = 0;
    for (Index k = 0; k < rows; ++k)
      if (run.pulls[k] > 0) {
        indices[count] = Int(k);
        heads[count++] =
            double(rngs.perturbation.binomial_half(pseudo_count(options.scale, run.pulls[k])));
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

/// Multiplier bootstrap exploration: every replicate observes every reward, with weights N(1,
/// spread^2); the one that acts is solved for. `scale` multiplies the weights of pseudo-rewards.
class MultiplierBootstrap : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (Index j = 0; j < size; ++j)
      for (Index i = 0; i < d; ++i) grams[j](i, i) = run.lam;
    for (Int i = 0; i < warm + horizon && !is_stopped(run); ++i) {
      const bool is_prescribed = i < warm + first;
      const Index arm = is_prescribed ? prescribed_row(i) : choose(i - warm);
      const double y = is_prescribed ? observe_prescribed(i) : pull(i - warm, arm);
      for (Index j = 0; j < size; ++j) {
        double weights[3];
        for (double& weight : weights) weight = 1.0 + options.spread * rngs.perturbation.normal();
        weigh(grams[j], targets[j], weights, options.scale, problem.features[arm], y);
      }
    }
  }

 private:
  const Index size = Index(options.size);
  Buffer<double> memory{size * d * d}, theta{d};
  const MatrixStack<double> grams{memory.data(), size, d, d};
  const OwnedMatrix targets{size, d};

  Index choose(Int t) {
    const Int waiting = unplayed(options.basis, std::span<const std::int32_t>(run.pulls), t);
    if (waiting >= 0) return Index(waiting);
    const Index j = rngs.member.index(size);
    weighted_estimate(grams[j], targets[j], theta);
    return greedy_arm(theta);
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
