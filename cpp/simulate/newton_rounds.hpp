// Generalised linear recipes by the exact fit on finitely many arms: a minimisation each round, or
// two.
//
// In all of them the loss is a sum over arms, and its minimiser theta_hat is followed by Newton's
// method from the last one. What they do with theta_hat and the Hessian H is their kind. Tolerances
// are wider than a live policy's: regret does not know the ninth digit.
#pragma once

#include "newton.hpp"
#include "pseudo_rewards.hpp"
#include "simulate/one_estimate.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Values of `Options::kind`: simulation/kernels.py has the same.
enum class ExactKind : Int {
  laplace,
  perturbed_leader,
  linear_loss,
  pseudo_rewards,
  optimist,
  greedy,
  members
};
inline constexpr Int exact_kinds = 7;

class NewtonRounds : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (Index j = 0; j < sums.size() / d; ++j)
      for (Index i = 0; i < d; ++i)
        sums[j * d + i] = options.scale * run.prior_root[i] * rngs.perturbation.normal();
    for (Int seen = 0; seen < warm + horizon && !is_stopped(run); ++seen)
      observe_arm(seen - warm, seen < warm + first ? prescribed_row(seen) : choose(seen));
  }

 private:
  const ExactKind kind = static_cast<ExactKind>(options.kind);
  const Link link = options.link;
  Buffer<double> counts{rows},
      totals{rows};  // how often each row was seen, and the sum of its rewards
  Buffer<double> zero{d}, centre{d}, theta{d}, shift{d};
  Buffer<double> sums{kind == ExactKind::members ? Index(options.size) * d
                                                 : 0};  // S^j of the members [m, d]
  Buffer<double> more_counts{rows}, more_totals{rows}, slopes{rows}, matrices{3 * d * d};

  Matrix matrix(Index i) { return {&matrices[i * d * d], d, d}; }

  Loss loss_of(ConstVector n, ConstVector y, ConstVector shifted) {
    return {problem.features, n, y, run.prior, shifted};
  }

  void fit(const Loss& loss, Vector to) {
    constexpr double tolerance = 1e-7;  // of the last step, in the norm of the Hessian
    minimise(link, loss, tolerance, to);
  }

  /// Play an arm in round t, or see it in the warm-up where t < 0, and learn from it. Members add
  /// sqrt(w) x Z^j with w of the stream fit, as live policies do.
  void observe_arm(Int t, Index arm) {
    const Int round = t < 0 ? 0 : t;
    const double mean = mean_of(round, arm);
    const double y = draw_reward(problem.noise, mean, problem.spreads[arm], rngs.noise);
    counts[arm] += 1.0;
    totals[arm] += y;
    run.pulls[arm] += 1;
    if (kind == ExactKind::members) {
      const double root = std::sqrt(observe_weighted(run, link, problem.features[arm], y));
      for (Index j = 0; j < sums.size() / d; ++j)
        axpy({&sums[j * d], d}, options.scale * root * rngs.perturbation.normal(),
             problem.features[arm]);
    }
    if (t >= 0) note_loss(t, mean);
  }

  /// Return the arm of a round, after `seen` observations.
  Index choose(Int seen) {
    fit(loss_of(counts, totals, zero), centre);
    switch (kind) {
      case ExactKind::greedy:
        return explore(seen);
      case ExactKind::pseudo_rewards:
        return fit_pseudo_rewards(seen);
      case ExactKind::optimist:
        return most_optimistic();
      default:
        return perturbed_arm();
    }
  }

  /// Return the greedy arm or, now and then, any.
  Index explore(Int seen) {
    return draw_exploration(options, seen, rngs.member) ? rngs.member.index(arms)
                                                        : greedy_arm(centre);
  }

  /// Fit the rewards with pseudo-rewards among them, of a coin: ceil(a n) for n rewards of an arm.
  Index fit_pseudo_rewards(Int seen) {
    const Int waiting =
        unplayed<std::int32_t>(options.basis, {run.pulls.data(), run.pulls.size()}, seen);
    if (waiting >= 0) return Index(waiting);
    for (Index k = 0; k < rows; ++k) {
      const auto pseudo = Int(std::ceil(options.scale * counts[k]));
      more_counts[k] = counts[k] + double(pseudo);
      more_totals[k] = totals[k] + double(pseudo > 0 ? rngs.perturbation.binomial_half(pseudo) : 0);
    }
    copy_values(centre, theta);
    fit(loss_of(more_counts, more_totals, zero), theta);
    return greedy_arm(theta);
  }

  /// Write H and its inverse to the first two matrices; return false if H is singular to working
  /// precision.
  bool set_curvature() {
    for (Index k = 0; k < rows; ++k) slopes[k] = link_slope(link, dot(problem.features[k], centre));
    set_hessian(loss_of(counts, totals, zero), slopes, matrix(0));
    return invert(matrix(0), matrix(1));
  }

  Index most_optimistic() {
    if (!set_curvature()) return greedy_arm(centre);
    for (Index k = 0; k < run.scores.size(); ++k) {
      const auto x = problem.features[k];
      sum_rows(theta, matrix(1), x);
      const double square = dot(theta, x);
      run.scores[k] = dot(x, centre) + options.scale * std::sqrt(square > 0.0 ? square : 0.0);
    }
    return argmax(run.scores);
  }

  /// The greedy arm of theta_hat + H^-1 shift or, but for Laplace, of the minimiser of the loss
  /// that is perturbed by the shift.
  Index perturbed_arm() {
    if (!set_curvature()) return greedy_arm(centre);
    set_shift();
    sum_rows(theta, matrix(1), shift);
    for (Index i = 0; i < d; ++i) theta[i] = centre[i] + theta[i];
    if (kind != ExactKind::laplace) fit(loss_of(counts, totals, shift), theta);
    return greedy_arm(theta);
  }

  void set_shift() {
    const Generator rng = rngs.perturbation;
    if (kind == ExactKind::members) {
      copy_values({&sums[rngs.member.index(Index(options.size)) * d], d}, shift);
    } else if (kind == ExactKind::perturbed_leader) {
      for (Index i = 0; i < d; ++i) shift[i] = options.scale * run.prior_root[i] * rng.normal();
      for (Index k = 0; k < rows; ++k)
        if (counts[k] > 0.0)
          axpy(shift, options.scale * options.spread * std::sqrt(counts[k]) * rng.normal(),
               problem.features[k]);
    } else {  // N(0, scale^2 H)
      for (double& draw : theta) draw = options.scale * rng.normal();
      cholesky(matrix(0), matrix(2));
      sum_rows(shift, matrix(2), theta);
    }
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
