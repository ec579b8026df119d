// Ensemble sampling on finitely many arms that touches only the member that acts.
//
// Between two rounds in which member j acts, its perturbations sum_i X_i Z_i^j are not needed. When
// it acts again they are drawn at once: for each arm the sum of n = N_k(now) - N_k(then) draws,
// whose law is known. This is exact in law, given all that was seen, and costs the same for any
// number of members; memory is that of the members that act again, at most min(m, T).
//
// A member that acts for the first time has missed everything. With Gaussian laws it starts from a
// base: W + sum_i X_i Z_i over the rounds up to some counts N_k is N(0, scale^2 B) with B = ratio I
// + sum_k N_k x_k x_k', so that d draws times a root of B do for it. Where W is so small compared
// to the arms that rounding would lose it in B, there is no base and a new member catches up with
// everything.
//
// Where the prior is learned W changes with it. A member that will act again keeps W separate and
// starts from a base without it. One that acts in no other round never meets another prior: it
// starts from a base with W, and nothing of it is kept.
#pragma once

#include "simulate/members.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

// Least share of W in B that a root in doubles keeps to eight digits.
inline constexpr double smallest_share = 1e-8;

/// Start of new members: N(0, prior + sum_k N_k x_k x_k').
class Base {
 public:
  Base(Index d, Index counts) : prior(d), gram(d, d), factor(d, d), pulls(counts) {}

  /// Set the prior before the first observation.
  void begin(Index i, double value) {
    prior[i] = value;
    factor(i, i) = std::sqrt(value);
  }

  /// A new root costs about as much as catching up with 8 arms for each dimension.
  bool needs_refresh() const { return work > 8 * dim(); }
  void add_work(Index arms) { work += arms; }

  /// Bring B, its root and its counts up to date.
  void refresh(const FiniteProblem& problem, const RunState& run) {
    add_pulls(problem, run, gram, pulls.data());
    copy_values(gram.items(), factor.items());
    for (Index i = 0; i < dim(); ++i) factor(i, i) += prior[i];
    cholesky_semidefinite(factor);
    work = 0;
  }

  /// `refresh` with the prior as it is now.
  void refresh_with_prior(const FiniteProblem& problem, const RunState& run) {
    copy_values(run.prior, prior);
    refresh(problem, run);
  }

  /// Return true if the prior is large enough, compared to the arms that were played, for a root in
  /// doubles to keep it.
  bool prior_is_representable() const {
    bool representable = true;
    for (Index i = 0; i < dim(); ++i)
      representable = representable && prior[i] >= smallest_share * (prior[i] + gram(i, i));
    return representable;
  }

  Index dim() const { return prior.size(); }
  ConstMatrix root() const { return factor; }
  const std::int32_t* counts() const { return pulls.data(); }

 private:
  Buffer<double> prior;
  OwnedMatrix gram, factor;
  Buffer<std::int32_t> pulls;
  Index work = 0;  // arms that new members have caught up with since
};

/// Algorithm 1 and its relatives: theta = theta_hat + factor_t V^-1 S^j with S^j = W^j + sum_i X_i
/// Z_i^j.
class LazyEnsemble : LinearRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    const bool has_base = start == Start::rewards_and_initial;
    for (Index i = 0; i < d; ++i)
      base_with_prior.begin(i, learned ? run.prior[i] : has_base ? ratio() : 0.0);
    Int member = -1;
    double redraw_at = options.redraw_growth;
    begin();
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      if (options.redraw_growth < infinity && information(run) > redraw_at) {
        ++epoch;
        redraw_at = information(run) + options.redraw_growth;
      }
      Index slot;
      if (schedule.size() > 0) {
        slot = schedule[t];
      } else {
        member = next_member(options, t, member, rngs.member);
        slot = slots.find(member);
      }
      const ConstVector total = updated_sum(slot, schedule.size() > 0 && slot + 1 == capacity);
      double scale = inflation(options.factor, run, t);
      if (options.symmetric && rngs.member.uniform() < 0.5) scale = -scale;
      perturb_estimate(run, total, scale, theta);
      pull(t, greedy_arm(theta));
    }
  }

 private:
  /// Start of new members: from nothing; from a base without W, which is separate; or from one
  /// with it.
  enum class Start { nothing, rewards, rewards_and_initial };

  const bool learned = learns_scales(run);  // the scales
  const Start start = start_of_members();
  // Not with symmetric signs, which are drawn in turn with members.
  const MemberSchedule schedule{!options.symmetric, options, first, horizon, rngs.member};
  const Index capacity = schedule.size() > 0 ? schedule.slots() : acting_members(options, horizon);
  MemberSlots slots{schedule.size() > 0 ? 0 : capacity};
  // By slot: S^j; W^j / sqrt(prior), where the prior is learned; pull counts when the member
  // last acted; and when its W was drawn, 0 before that.
  Buffer<double> sums{capacity * d, Fill::none}, initials{learned ? capacity * d : 0, Fill::none};
  Buffer<std::int32_t> seen{capacity * run.pulls.size(), Fill::none};
  Buffer<Int> epochs{capacity};
  Int epoch = 1;
  Base base_with_prior{d, run.pulls.size()}, base_without_prior{d, run.pulls.size()};
  double prior_learned_at = 0.0;  // number of observations when that of `base_with_prior` was
  Buffer<Int> indices{rows, Fill::none};
  Buffer<double> weights{rows, Fill::none}, draws{d}, sum_with_initial{d}, theta{d};

  /// The ratio of the variances of W and Z.
  double ratio() const {
    const double root = options.initial.scale / options.reward.scale;
    return root * root;
  }

  /// The pivots of B's root are at least `ratio`, and its diagonal at most that plus all squared
  /// norms of arms played. Where the scales are learned W is in units of its prior, and a base
  /// without it is there even where its law is another.
  Start start_of_members() const {
    const bool is_gaussian = options.initial.kind == LawKind::gaussian;
    if (options.reward.kind != LawKind::gaussian) return Start::nothing;
    if (learned) return is_gaussian ? Start::rewards_and_initial : Start::rewards;
    if (!is_gaussian || options.reward.scale == 0.0) return Start::nothing;
    double longest = 0.0;
    for (Index k = 0; k < rows; ++k) {
      double square = 0.0;
      for (const double size : problem.features[k]) square += size * size;
      if (square > longest) longest = square;
    }
    const double most = ratio() + double(horizon + warm) * longest;
    return ratio() >= smallest_share * most ? Start::rewards_and_initial : Start::nothing;
  }

  /// Return W^j + sum_i X_i Z_i^j of the member in a slot, brought up to date.
  ConstVector updated_sum(Index slot, bool once) {
    const Vector total{&sums[slot * d], d};
    if (once || epochs[slot] != epoch) return first_sum(slot, once, total);
    draw_missed(total, slot, &seen[slot * run.pulls.size()]);
    return learned ? with_initial(total, slot) : total;
  }

  /// `updated_sum` of a member that has not acted yet.
  ConstVector first_sum(Index slot, bool once, Vector total) {
    epochs[slot] = epoch;
    Base& base = ready_base(once);
    const bool is_separate = &base == &base_without_prior;
    if (is_separate) draw_vector(options.initial, {&initials[slot * d], d}, rngs.perturbation);
    if (start != Start::nothing) {
      for (double& draw : draws) draw = options.reward.scale * rngs.perturbation.normal();
      sum_rows(total, base.root(), draws);
    } else if (learned) {
      for (double& entry : total) entry = 0.0;
    } else {
      draw_vector(options.initial, total, rngs.perturbation);
    }
    base.add_work(draw_missed(total, slot, base.counts()));
    return is_separate ? with_initial(total, slot) : total;
  }

  /// Return the base that a new member starts from, `base_without_prior` where its W is separate.
  Base& ready_base(bool once) {
    const bool has_initial = start == Start::rewards_and_initial;
    if (!learned || (once && has_initial)) {
      const double learned_at = Scales(run.scales).calibrated_at;
      if ((prior_learned_at != learned_at || base_with_prior.needs_refresh()) && has_initial) {
        if (learned)
          base_with_prior.refresh_with_prior(problem, run);
        else
          base_with_prior.refresh(problem, run);
        prior_learned_at = learned_at;
      }
      if (!learned || base_with_prior.prior_is_representable()) return base_with_prior;
    }
    if (base_without_prior.needs_refresh() && start != Start::nothing)
      base_without_prior.refresh(problem, run);
    return base_without_prior;
  }

  /// Draw what a member has missed since it last acted, S^j += sum_k x_k (sum of n_k draws); return
  /// the number of those arms.
  Index draw_missed(Vector total, Index slot, const std::int32_t* since) {
    const Counts pulls = run.pulls;
    const Law law = options.reward;
    const Generator rng = rngs.perturbation;
    return add_missed(since, &seen[slot * pulls.size()], indices, weights, total,
                      [&](Index k) { return draw_sum(law, pulls[k] - since[k], rng); });
  }

  ConstVector with_initial(ConstVector total, Index slot) {
    const double* initial = &initials[slot * d];
    for (Index i = 0; i < d; ++i) sum_with_initial[i] = total[i] + run.prior_root[i] * initial[i];
    return sum_with_initial;
  }
};

/// The same with a generalised linear model, by the stream fit.
///
/// It is linear ensemble sampling in the features sqrt(w) x, so the lazy law holds with weights for
/// counts: what member j has missed of arm k since it last acted is N(0, scale^2 (c_k(now) -
/// c_k(then))) times x_k. A member that is new starts from a base, N(0, scale^2 V) at some time, or
/// from W and all that came since where W is too small compared to V for a root in doubles.
class LazyStream : StreamRun {
 public:
  using FiniteRun::FiniteRun;

  void play() {
    for (Index i = 0; i < d; ++i) base_root[i * d + i] = run.prior_root[i];
    begin();
    Int member = -1;
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      member = next_member(options, t, member, rngs.member);
      perturb_estimate(run, updated_sum(member), 1.0, theta);
      pull(t, greedy_arm(theta));
    }
  }

 private:
  const Index counts = run.pulls.size(), capacity = acting_members(options, horizon);
  MemberSlots slots{capacity};
  // By slot, in the order in which members first acted: S^j, and pull counts and c_k
  // when they last did.
  Buffer<double> sums{capacity * d, Fill::none}, seen_weights{capacity * rows, Fill::none};
  Buffer<std::int32_t> seen_pulls{capacity * counts, Fill::none};
  // When the base was computed: upper triangular R with R'R = V, pull counts and c_k.
  Buffer<double> base_root{d * d}, base_weights{rows};
  Buffer<std::int32_t> base_pulls{counts};
  Index work = 0;  // arms that new members have caught up with since
  Buffer<Int> indices{rows, Fill::none};
  Buffer<double> draws{rows > d ? rows : d}, theta{d};

  /// Return S^j of a member, brought up to date.
  ConstVector updated_sum(Int member) {
    const Index known = slots.used(), slot = slots.find(member);
    if (slot == known) {
      if (options.from_base && work > 8 * d) refresh_base();  // which costs about as much
      start_from_base(slot);
      work += draw_missed(slot);
    } else {
      draw_missed(slot);
    }
    return {&sums[slot * d], d};
  }

  /// S^j = scale R'g, as if the member had last acted when the base was computed.
  void start_from_base(Index slot) {
    for (Index i = 0; i < d; ++i) draws[i] = options.scale * rngs.perturbation.normal();
    sum_rows({&sums[slot * d], d}, {base_root.data(), d, d}, {draws.data(), d});
    copy_values(base_weights, {&seen_weights[slot * rows], rows});
    std::memcpy(&seen_pulls[slot * counts], base_pulls.data(), counts * sizeof(std::int32_t));
  }

  void refresh_base() {
    const Matrix root{base_root.data(), d, d};
    for (double& entry : base_root) entry = 0.0;
    for (Index i = 0; i < d; ++i) root(i, i) = run.prior[i];
    add_weighted(problem, fit.weights, root);
    cholesky_semidefinite(root);
    copy_values(fit.weights, base_weights);
    std::memcpy(base_pulls.data(), run.pulls.data(), run.pulls.size_bytes());
    work = 0;
  }

  /// Draw what a member has missed since it last acted; return the number of those arms.
  Index draw_missed(Index slot) {
    std::int32_t* const since = &seen_pulls[slot * counts];
    double* const seen = &seen_weights[slot * rows];
    return add_missed(since, since, indices, draws, {&sums[slot * d], d}, [&](Index k) {
      const double grown = fit.weights[k] - seen[k];
      seen[k] = fit.weights[k];
      return options.scale * std::sqrt(grown) * rngs.perturbation.normal();
    });
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
