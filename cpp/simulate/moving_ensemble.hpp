// Ensemble sampling on arms that change every round, or on the unit ball.
//
// The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0,
// scale^2 (V_now - V_then)). V_then is kept for each member that has acted and the difference
// factored by a Cholesky that allows zero pivots: O(d^3) a round, whatever m is.
#pragma once

#include "simulate/contextual.hpp"
#include "simulate/members.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// out = W^j + sum_i X_i Z_i^j, W^j for the present prior where that is learned.
inline void add_initial(const RunState& run, ConstVector total, ConstVector initial, Vector out) {
  const bool learned = learns_scales(run);
  for (Index i = 0; i < out.size(); ++i)
    out[i] = total[i] + (learned ? run.prior_root[i] : 1.0) * initial[i];
}

/// S^j of the members that have acted, without W^j, and V when each last acted.
class MovingSums {
 public:
  MovingSums(Index members, Index d)
      : d(d), sums(members * d, Fill::none), grams(members * d * d, Fill::none),
        difference(d, d, Fill::none) {}

  /// Return S^j of the member in a slot, brought up to date: V is `gram` less the diagonal `prior`
  /// (empty: nothing less).
  Vector update(Index slot, bool is_new, ConstMatrix gram, ConstVector prior, double scale,
                Generator rng) {
    const Vector sum{&sums[slot * d], d};
    const Matrix last{&grams[slot * d * d], d, d};
    if (is_new) {
      for (double& entry : sum) entry = 0.0;
      for (double& entry : last.items()) entry = 0.0;
    }
    for (Index i = 0; i < d; ++i)
      for (Index k = 0; k < d; ++k) {
        const double now = gram(i, k) - (i == k && !prior.empty() ? prior[i] : 0.0);
        difference(i, k) = now - last(i, k);
        last(i, k) = now;
      }
    cholesky_semidefinite(difference);
    for (Index k = 0; k < d; ++k)
      axpy(sum.subspan(k), scale * rng.normal(), difference[k].subspan(k));
    return sum;
  }

 private:
  const Index d;
  Buffer<double> sums, grams;
  OwnedMatrix difference;
};

/// Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts.
/// By the stream fit W^j, N(0, scale^2 V) before the first observation, is part of S^j.
template <bool is_stream>
void lazy_moving(const ContextualProblem& problem, RunState& run, const Rngs& rngs,
                 const Options& options) {
  ContextualRun contextual(problem, run, rngs, options, is_stream);
  const Index d = contextual.d, capacity = acting_members(options, contextual.horizon);
  const double scale = is_stream ? options.scale : options.reward.scale;
  const ConstVector prior = is_stream ? ConstVector{} : ConstVector{run.prior};
  MemberSlots slots(capacity);
  MovingSums sums(capacity, d);
  Buffer<double> initials(is_stream ? 0 : capacity * d, Fill::none), total(d, Fill::none);
  Int member = -1;
  const auto act = [&](Int t) {
    member = next_member(options, t, member, rngs.member);
    const Index used = slots.used(), slot = slots.find(member);
    const bool is_new = slot == used;
    const Vector initial{initials.data() + (is_stream ? 0 : slot * d), d};
    if (is_new && !is_stream) draw_vector(options.initial, initial, rngs.perturbation);
    const Vector sum = sums.update(slot, is_new, contextual.gram, prior, scale, rngs.perturbation);
    if constexpr (is_stream) return perturb_estimate(run, sum, 1.0, contextual.theta);
    add_initial(run, sum, initial, total);
    perturb_estimate(run, total, inflation(options.factor, run, t), contextual.theta);
  };
  contextual.play(act, [](double) {});
}

/// Algorithm 1 with all members kept up to date.
inline void eager_moving(const ContextualProblem& problem, RunState& run, const Rngs& rngs,
                         const Options& options) {
  ContextualRun contextual(problem, run, rngs, options, false);
  const Index d = contextual.d, size = Index(options.size);
  const OwnedMatrix sums(size, d), initials(size, d, Fill::none);
  Buffer<double> total(d, Fill::none);
  for (Index j = 0; j < size; ++j) draw_vector(options.initial, initials[j], rngs.perturbation);
  Int member = -1;
  const auto act = [&](Int t) {
    member = next_member(options, t, member, rngs.member);
    const auto j = Index(member);
    add_initial(run, sums[j], initials[j], total);
    perturb_estimate(run, total, inflation(options.factor, run, t), contextual.theta);
  };
  const auto learn = [&](double) {
    for (Index j = 0; j < size; ++j)
      axpy(sums[j], draw_sum(options.reward, 1, rngs.perturbation), contextual.x);
  };
  contextual.play(act, learn);
}

}  // namespace ensample::ENSAMPLE_LEVEL
