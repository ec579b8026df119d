// Ensemble sampling on finitely many arms that touches only the member that acts.
//
// Between two rounds in which member j acts, its perturbations sum_i X_i Z_i^j matter to nobody. When it acts again they are
// drawn at once: for each arm the sum of n = N_k(now) - N_k(then) draws, whose law is known. This is exact in law, given all
// that was seen, and costs the same for any number of members.
//
// A member that acts for the first time has missed everything. With Gaussian laws it starts from a base: W + sum_i X_i Z_i
// over the rounds up to some counts N_k is N(0, scale^2 B) with B = ratio I + sum_k N_k x_k x_k', so that d draws times a root
// of B do for it. Where the prior is learned W changes with it: a member that will act again keeps W apart and starts from a
// base without it.
#pragma once

#include <atomic>
#include <bit>
#include <limits>
#include <optional>

#include "perturbations.hpp"
#include "members.hpp"
#include "rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline constexpr double smallest_share = 1e-8;  // of W in B that a root in doubles keeps to eight digits

/// Where new members start: with W in B, or without it.
class Base {
 public:
  Base(std::size_t d, std::size_t counted) : prior_room(d), gram_room(d * d), root_room(d * d), counts_room(counted) {}

  void begin(ConstVector first) {
    std::copy(first.begin(), first.end(), prior_room.data());
    for (std::size_t i = 0; i < dim(); ++i) root()(i, i) = std::sqrt(prior_room[i]);
  }

  /// Laying it anew costs about as much as catching up with 8 arms for each dimension.
  bool needs_refresh() const { return work > static_cast<std::int64_t>(8 * dim()); }
  void add_work(std::size_t arms) { work += static_cast<std::int64_t>(arms); }

  /// Bring it up to date, with this prior where one is given.
  void refresh(const FiniteProblem& problem, const RunState& run, std::optional<ConstVector> prior = {}) {
    const Matrix gram{gram_room.data(), dim(), dim()};
    for (std::size_t k = 0; k < problem.features.rows; ++k)
      if (run.pulls[k] != counts_room[k]) {
        add_outer(gram, run.pulls[k] - counts_room[k], problem.features[k], problem.features[k]);
        counts_room[k] = run.pulls[k];
      }
    if (prior) std::copy(prior->begin(), prior->end(), prior_room.data());
    representable = true;
    for (std::size_t i = 0; i < dim(); ++i)
      representable = representable && prior_room[i] >= smallest_share * (prior_room[i] + gram(i, i));
    std::copy_n(gram.data, dim() * dim(), root_room.data());
    for (std::size_t i = 0; i < dim(); ++i) root()(i, i) += prior_room[i];
    take_root(root());
    work = 0;
  }

  std::size_t dim() const { return prior_room.size(); }
  Matrix root() { return {root_room.data(), dim(), dim()}; }
  const std::int32_t* counts() { return counts_room.data(); }
  bool prior_is_representable() const { return representable; }

 private:
  Buffer<double> prior_room, gram_room, root_room;
  Buffer<std::int32_t> counts_room;
  std::int64_t work = 0;
  bool representable = true;
};

template <class Initial, class Reward>
class LazyRun {
 public:
  LazyRun(const FiniteProblem& problem, RunState& run, const Ensemble& ensemble, const Variant& variant, const Rngs& rngs, Initial initial,
          Reward reward)
      : problem(problem), run(run), ensemble(ensemble), variant(variant), rngs(rngs), initial(initial), reward(reward),
        d(run.mean.size()), learned(run.learns()), ratio(base_ratio()), schedule(make_schedule()),
        places(schedule ? schedule->places() : std::min(ensemble.size, run.horizon())), slots(schedule ? 0 : places),
        sums(places * d, Fill::none), initials(learned ? places * d : 0, Fill::none),
        seen(places * run.pulls.size(), Fill::none), epochs(places),
        base_with_prior(d, run.pulls.size()), base_without_prior(d, run.pulls.size()), which(problem.features.rows), weights(problem.features.rows),
        draws(d), sum_with_initial(d), theta(d) {
    for (std::size_t i = 0; i < d; ++i) draws[i] = learned ? run.prior[i] : std::max(ratio, 0.0);
    base_with_prior.begin({draws.data(), d});
  }

  /// False where the user has had enough.
  bool play(Interrupted interrupted) {
    constexpr std::int64_t between_questions = 4096;
    double redraw_at = variant.growth;
    std::int64_t member = -1, epoch = 1;
    for (std::int64_t t = begin(problem, run, rngs.noise); t < run.horizon(); ++t) {
      if (__atomic_load_n(&run.stop, __ATOMIC_RELAXED) != 0) return true;
      if (t % between_questions == 0 && interrupted()) return false;
      if (variant.growth < std::numeric_limits<double>::infinity() && information(run) > redraw_at) {
        ++epoch;
        redraw_at = information(run) + variant.growth;
      }
      std::int64_t slot;
      if (schedule) {
        slot = (*schedule)[t];
      } else {
        member = next_member(ensemble, t, member, rngs.member);
        slot = slots.find(member);
      }
      const bool once = schedule && slot == places - 1;
      const Vector total = member_sum(slot, once, epoch);
      double scale = inflation(variant.factor, run, t);
      if (variant.symmetric && rngs.member.uniform() < 0.5) scale = -scale;
      sum_rows({theta.data(), d}, run.inverse, total);
      for (std::size_t i = 0; i < d; ++i) theta[i] = run.mean[i] + scale * theta[i];
      pull(problem, run, t, greedy_arm(problem, run, {theta.data(), d}), rngs.noise);
    }
    return true;
  }

 private:
  const FiniteProblem& problem;
  RunState& run;
  const Ensemble& ensemble;
  const Variant& variant;
  const Rngs& rngs;
  const Initial initial;
  const Reward reward;
  const std::size_t d;
  const bool learned;
  const double ratio;
  const std::optional<MemberSchedule> schedule;
  const std::int64_t places;
  Slots slots;
  Buffer<double> sums, initials;  // S^j, and W^j / sqrt(prior) where the prior is learned
  Buffer<std::int32_t> seen;      // pull counts when the member last acted
  Buffer<std::int64_t> epochs;    // when its W was drawn; 0: not yet
  Base base_with_prior, base_without_prior;               // with W, and without
  double calibrated_at = 0.0;             // when the prior in `base_with_prior` was learned
  Buffer<std::int64_t> which;
  Buffer<double> weights, draws, sum_with_initial, theta;

  /// The ratio of the variances of W and Z where new members can start from a base with both, else -1.
  double base_ratio() const {
    if constexpr (!Reward::gaussian) return -1.0;
    if (learned) return Initial::gaussian ? 1.0 : 0.0;
    if (!Initial::gaussian || ensemble.reward.scale == 0.0) return -1.0;
    const double root = ensemble.initial.scale / ensemble.reward.scale, found = root * root;
    double longest = 0.0;
    for (std::size_t k = 0; k < problem.features.rows; ++k) {
      double square = 0.0;
      for (const double size : problem.features[k]) square += size * size;
      longest = std::max(longest, square);
    }
    const double played = static_cast<double>(run.horizon() + static_cast<std::int64_t>(problem.warmup.size())) * longest;
    return found >= smallest_share * (found + played) ? found : -1.0;
  }

  std::optional<MemberSchedule> make_schedule() const {
    if (variant.symmetric || !MemberSchedule::worth_it(ensemble, run.horizon())) return {};
    return std::optional<MemberSchedule>(std::in_place, ensemble, opening_rounds(problem, run), run.horizon(), rngs.member);
  }

  /// W^j + sum_i X_i Z_i^j of the member in a slot, brought up to date.
  Vector member_sum(std::int64_t slot, bool once, std::int64_t epoch) {
    const Vector total{&sums[slot * d], d};
    const Vector initial_vector{learned ? &initials[slot * d] : nullptr, learned ? d : 0};
    if (!once && epochs[slot] == epoch) {
      draw_missed(total, slot, &seen[slot * run.pulls.size()]);
      return learned ? with_initial(total, initial_vector) : total;
    }
    epochs[slot] = epoch;
    Base& base = ready_base(once);
    const bool apart = &base == &base_without_prior;
    if (apart) initial.fill(initial_vector, rngs.perturbation);
    if (ratio >= 0.0) {
      for (auto& draw : draws) draw = ensemble.reward.scale * rngs.perturbation.normal();
      sum_rows(total, base.root(), {draws.data(), d});
    } else if (learned) {
      std::fill(total.begin(), total.end(), 0.0);
    } else {
      initial.fill(total, rngs.perturbation);
    }
    base.add_work(draw_missed(total, slot, base.counts()));
    return apart ? with_initial(total, initial_vector) : total;
  }

  /// The base that a new member starts from: `base_without_prior` where its W is kept apart.
  Base& ready_base(bool once) {
    if (!learned || (once && ratio > 0.0)) {
      const bool changed = calibrated_at != run.scales.calibrated_at;
      if ((changed || base_with_prior.needs_refresh()) && ratio > 0.0) {
        base_with_prior.refresh(problem, run, learned ? std::optional<ConstVector>(run.prior) : std::nullopt);
        calibrated_at = run.scales.calibrated_at;
      }
      if (!learned || base_with_prior.prior_is_representable()) return base_with_prior;
    }
    if (base_without_prior.needs_refresh() && ratio >= 0.0) base_without_prior.refresh(problem, run);
    return base_without_prior;
  }

  /// Draw what a member has missed `since` it last acted, S^j += sum_k x_k (sum of n_k draws): of how many arms.
  std::size_t draw_missed(Vector total, std::int64_t slot, const std::int32_t* since) {
    const Counts pulls = run.pulls;
    std::size_t count = 0;
    for (std::size_t start = 0; start < pulls.size(); start += block) {
      for (auto missed = unequal(&pulls[start], since + start); missed != 0; missed &= missed - 1) {
        const std::size_t k = start + static_cast<std::size_t>(std::countr_zero(missed));
        which[count] = static_cast<std::int64_t>(k);
        weights[count++] = reward.sum(pulls[k] - since[k], rngs.perturbation);
      }
    }
    std::memcpy(&seen[slot * pulls.size()], pulls.data(), pulls.size_bytes());
    add_some_rows(total, problem.features, {which.data(), count}, weights.data());
    return count;
  }

  Vector with_initial(ConstVector total, ConstVector initial_vector) {
    for (std::size_t i = 0; i < d; ++i) sum_with_initial[i] = total[i] + run.prior_root[i] * initial_vector[i];
    return {sum_with_initial.data(), d};
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
