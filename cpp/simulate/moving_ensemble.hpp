// Ensemble sampling on arms that change every round, or on the unit ball.
//
// The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0, scale^2 (V_now - V_then)). V_then
// is kept for each member that has acted and the difference factored by a Cholesky that allows zero pivots: O(d^3) a round,
// whatever m is.
#pragma once

#include "perturbations.hpp"
#include "simulate/contextual.hpp"
#include "simulate/members.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// out = W^j + sum_i X_i Z_i^j, W^j for the present prior where that is learned.
inline void add_initial(const RunState& run, ConstVector total, ConstVector initial, Vector out) {
  const bool learned = learns_scales(run);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = total[i] + (learned ? run.prior_root[i] : 1.0) * initial[i];
}

/// Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts.
inline void lazy_moving(const ContextualProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t d = problem.theta.size(), capacity = acting_members(options, horizon_of(run));
  Slots slots(capacity);
  Buffer<double> sums(capacity * d, Fill::none), initials(capacity * d, Fill::none);
  Buffer<double> grams(capacity * d * d, Fill::none);  // V without its prior when the member last acted
  Buffer<double> difference_buffer(d * d, Fill::none), total(d, Fill::none);
  const Matrix difference{difference_buffer.data(), d, d};
  ContextualRound round(problem, run);
  std::int64_t member = -1;
  for (std::int64_t t = 0; t < horizon_of(run) && !is_stopped(run); ++t) {
    round.offer(problem, rngs.context);
    member = next_member(options, t, member, rngs.member);
    const std::size_t used = slots.used(), slot = slots.find(member);
    const Vector sum{&sums[slot * d], d}, initial{&initials[slot * d], d};
    const Matrix gram{&grams[slot * d * d], d, d};
    if (slot == used) {
      draw_vector(options.initial, initial, rngs.perturbation);
      for (double& entry : sum) entry = 0.0;
      for (std::size_t i = 0; i < d * d; ++i) gram.data[i] = 0.0;
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k) {
        const double learned = round.gram()(i, k) - (i == k ? run.prior[i] : 0.0);
        difference(i, k) = learned - gram(i, k);
        gram(i, k) = learned;
      }
    cholesky_semidefinite(difference);
    for (std::size_t k = 0; k < d; ++k)
      axpy(sum.subspan(k), options.reward.scale * rngs.perturbation.normal(), difference[k].subspan(k));
    add_initial(run, sum, initial, {total.data(), d});
    perturb_estimate(run, {total.data(), d}, inflation(options.factor, run, t), round.theta());
    play(problem, run, round, t, rngs.noise);
  }
}

/// Algorithm 1 with all members kept up to date.
inline void eager_moving(const ContextualProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t d = problem.theta.size(), size = static_cast<std::size_t>(options.size);
  Buffer<double> sums(size * d), initials(size * d, Fill::none), total(d, Fill::none);
  for (std::size_t j = 0; j < size; ++j) draw_vector(options.initial, {&initials[j * d], d}, rngs.perturbation);
  ContextualRound round(problem, run);
  std::int64_t member = -1;
  for (std::int64_t t = 0; t < horizon_of(run) && !is_stopped(run); ++t) {
    round.offer(problem, rngs.context);
    member = next_member(options, t, member, rngs.member);
    const std::size_t acting = static_cast<std::size_t>(member) * d;
    add_initial(run, {&sums[acting], d}, {&initials[acting], d}, {total.data(), d});
    perturb_estimate(run, {total.data(), d}, inflation(options.factor, run, t), round.theta());
    play(problem, run, round, t, rngs.noise);
    for (std::size_t j = 0; j < size; ++j) axpy({&sums[j * d], d}, draw_sum(options.reward, 1, rngs.perturbation), round.x());
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
