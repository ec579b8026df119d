// Ensemble sampling on arms that change every round, or on the unit ball.
//
// The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0, scale^2 (V_now - V_then)). V_then
// is kept for each member that has acted and the difference factored by a Cholesky that allows zero pivots: O(d^3) a round,
// whatever m is.
#pragma once

#include "perturbations.hpp"
#include "simulate/contextual.hpp"
#include "simulate/members.hpp"
#include "simulate/stream_rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// out = W^j + sum_i X_i Z_i^j, W^j for the present prior where that is learned.
inline void add_initial(const RunState& run, ConstVector total, ConstVector initial, Vector out) {
  const bool learned = learns_scales(run);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = total[i] + (learned ? run.prior_root[i] : 1.0) * initial[i];
}

/// S^j of the members that have acted, without W^j, and V when each last acted.
class MovingSums {
 public:
  MovingSums(std::size_t members, std::size_t d)
      : d(d), sums(members * d, Fill::none), grams(members * d * d, Fill::none), difference(d, d, Fill::none) {}

  /// Return S^j of the member in a slot, brought up to date: V is `gram` less the diagonal `prior` (empty: nothing less).
  Vector update(std::size_t slot, bool is_new, ConstMatrix gram, ConstVector prior, double scale, Generator rng) {
    const Vector sum{&sums[slot * d], d};
    const Matrix last{&grams[slot * d * d], d, d};
    if (is_new) {
      for (double& entry : sum) entry = 0.0;
      for (double& entry : last.items()) entry = 0.0;
    }
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k) {
        const double now = gram(i, k) - (i == k && !prior.empty() ? prior[i] : 0.0);
        difference(i, k) = now - last(i, k);
        last(i, k) = now;
      }
    cholesky_semidefinite(difference);
    for (std::size_t k = 0; k < d; ++k) axpy(sum.subspan(k), scale * rng.normal(), difference[k].subspan(k));
    return sum;
  }

 private:
  const std::size_t d;
  Buffer<double> sums, grams;
  OwnedMatrix difference;
};

/// Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts.
inline void lazy_moving(const ContextualProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t d = problem.theta.size(), capacity = acting_members(options, horizon_of(run));
  MemberSlots slots(capacity);
  MovingSums sums(capacity, d);
  Buffer<double> initials(capacity * d, Fill::none), total(d, Fill::none);
  ContextualRound round(problem, run);
  std::int64_t member = -1;
  for (std::int64_t t = 0; t < horizon_of(run) && !is_stopped(run); ++t) {
    round.offer(problem, rngs.context);
    member = next_member(options, t, member, rngs.member);
    const std::size_t used = slots.used(), slot = slots.find(member);
    const Vector initial{&initials[slot * d], d};
    if (slot == used) draw_vector(options.initial, initial, rngs.perturbation);
    const Vector sum = sums.update(slot, slot == used, round.gram, run.prior, options.reward.scale, rngs.perturbation);
    add_initial(run, sum, initial, total);
    perturb_estimate(run, total, inflation(options.factor, run, t), round.theta);
    play(problem, run, round, t, rngs.noise);
  }
}

/// The same with a generalised linear model, by the stream fit: W^j, N(0, scale^2 V) before the first observation, is part of S^j.
inline void lazy_moving_stream(const ContextualProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  const std::size_t capacity = acting_members(options, horizon_of(run));
  MemberSlots slots(capacity);
  MovingSums sums(capacity, problem.theta.size());
  ContextualRound round(problem, run);
  std::int64_t member = -1;
  for (std::int64_t t = 0; t < horizon_of(run) && !is_stopped(run); ++t) {
    round.offer(problem, rngs.context);
    member = next_member(options, t, member, rngs.member);
    const std::size_t used = slots.used(), slot = slots.find(member);
    const Vector sum = sums.update(slot, slot == used, round.gram, {}, options.scale, rngs.perturbation);
    perturb_estimate(run, sum, 1.0, round.theta);
    play_weighted(problem, run, round, options.link, t, rngs.noise);
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
    add_initial(run, {&sums[acting], d}, {&initials[acting], d}, total);
    perturb_estimate(run, total, inflation(options.factor, run, t), round.theta);
    play(problem, run, round, t, rngs.noise);
    for (std::size_t j = 0; j < size; ++j) axpy({&sums[j * d], d}, draw_sum(options.reward, 1, rngs.perturbation), round.x);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
