// Ensemble sampling with a generalised linear model, by the stream fit, that touches only the member that acts.
//
// It is linear ensemble sampling in the features sqrt(w) x, so the lazy law of lazy.hpp holds with weights for counts: what
// member j has missed of arm k since it last acted is N(0, scale^2 (c_k(now) - c_k(then))) times x_k. A member that is new starts
// from a base, N(0, scale^2 V) at some time, or from W and all that came since where W is too small compared to V for a root in
// doubles.
#pragma once

#include <bit>

#include "simulate/members.hpp"
#include "simulate/stream_rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

class LazyStream : FiniteRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (std::size_t i = 0; i < d; ++i) base_root[i * d + i] = run.prior_root[i];
    const std::int64_t first = opening_rounds(problem, run), horizon = horizon_of(run);
    for (std::size_t i = 0; i < problem.warmup.size() + static_cast<std::size_t>(first); ++i) rounds.learn_prescribed(i, rngs.noise);
    std::int64_t member = -1;
    for (std::int64_t t = first; t < horizon && !is_stopped(run); ++t) {
      member = next_member(options, t, member, rngs.member);
      perturb_estimate(run, updated_sum(member), 1.0, theta);
      rounds.pull(t, greedy_arm(problem, run, theta), rngs.noise);
    }
  }

 private:
  StreamRounds rounds{problem, run, options.link};
  const std::size_t rows = problem.features.rows, counts = run.pulls.size(), capacity = acting_members(options, horizon_of(run));
  MemberSlots slots{capacity};
  Buffer<double> sums{capacity * d, Fill::none};  // S^j of the members that have acted, in the order of their first time
  Buffer<std::int32_t> seen_pulls{capacity * counts, Fill::none};  // pull counts when the member last acted
  Buffer<double> seen_weights{capacity * rows, Fill::none};        // c_k then
  Buffer<double> base_root{d * d};                                 // upper triangular R with R'R = V when the base was computed
  Buffer<std::int32_t> base_pulls{counts};                         // pull counts then
  Buffer<double> base_weights{rows};                               // c_k then
  std::size_t work = 0;                                            // arms that new members have caught up with since
  Buffer<std::int64_t> indices{rows, Fill::none};
  Buffer<double> draws{rows > d ? rows : d}, theta{d};

  /// Return S^j of a member, brought up to date.
  ConstVector updated_sum(std::int64_t member) {
    const std::size_t known = slots.used(), slot = slots.find(member);
    if (slot == known) {
      if (options.from_base && work > 8 * d) refresh_base();  // a new root costs about as much as this work
      start_from_base(slot);
      work += draw_missed(slot);
    } else {
      draw_missed(slot);
    }
    return {&sums[slot * d], d};
  }

  /// S^j = scale R'g, as if the member had last acted when the base was computed.
  void start_from_base(std::size_t slot) {
    for (std::size_t i = 0; i < d; ++i) draws[i] = options.scale * rngs.perturbation.normal();
    sum_rows({&sums[slot * d], d}, {base_root.data(), d, d}, {draws.data(), d});
    copy_values(base_weights, {&seen_weights[slot * rows], rows});
    std::memcpy(&seen_pulls[slot * counts], base_pulls.data(), counts * sizeof(std::int32_t));
  }

  void refresh_base() {
    const Matrix root{base_root.data(), d, d};
    for (double& entry : base_root) entry = 0.0;
    for (std::size_t i = 0; i < d; ++i) root(i, i) = run.prior[i];
    rounds.add_weighted(root);
    cholesky_semidefinite(root);
    copy_values(rounds.weights, base_weights);
    std::memcpy(base_pulls.data(), run.pulls.data(), run.pulls.size_bytes());
    work = 0;
  }

  /// Draw what a member has missed since it last acted; return of how many arms.
  std::size_t draw_missed(std::size_t slot) {
    std::int32_t* const since = &seen_pulls[slot * counts];
    double* const seen = &seen_weights[slot * rows];
    return add_missed(problem, run.pulls, since, since, indices, draws, {&sums[slot * d], d}, [&](std::size_t k) {
      const double grown = rounds.weights[k] - seen[k];
      seen[k] = rounds.weights[k];
      return options.scale * std::sqrt(grown) * rngs.perturbation.normal();
    });
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
