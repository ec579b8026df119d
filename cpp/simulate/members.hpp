// Which member acts, where lazy runs keep those that have acted, and how perturbations are drawn.
#pragma once

#include <cmath>

#include "linalg.hpp"
#include "random.hpp"
#include "simulate/state.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The sum of n draws: one step for Gaussian and binomial laws, n steps for the uniform one.
inline double draw_sum(const Law& law, Int n, Generator rng) {
  if (law.kind == LawKind::gaussian) return law.scale * std::sqrt(double(n)) * rng.normal();
  if (law.kind == LawKind::binomial) {
    const Int count = n * law.trials;
    const Int heads = count > 1 ? rng.binomial_half(count) : rng.uniform() < 0.5;
    return law.scale / std::sqrt(double(law.trials)) * (2.0 * double(heads) - double(count));
  }
  double total = 0.0;
  for (; n > 0; --n) total += 2.0 * rng.uniform() - 1.0;
  return std::sqrt(3.0) * law.scale * total;
}

/// Draw an initial vector W.
inline void draw_vector(const Law& law, Vector out, Generator rng) {
  if (law.kind == LawKind::sphere) {
    double squares = 0.0;
    for (double& z : out) {
      z = rng.normal();
      squares += z * z;
    }
    for (double& z : out) z *= law.scale * std::sqrt(double(out.size()) / squares);
  } else if (law.kind == LawKind::gaussian) {
    for (double& z : out) z = law.scale * rng.normal();
  } else {
    for (double& z : out) z = draw_sum(law, 1, rng);
  }
}

/// Return the member of round t by a rule that does not look at scores; `last` is the one before,
/// -1 in the first round.
inline Int next_member(const Options& options, Int t, Int last, Generator rng) {
  if (options.rule == MemberRule::round_robin) return t % options.size;
  if (last >= 0 && t % options.stay != 0) return last;
  return Int(rng.index(Index(options.size)));
}

/// Hash table from member to slot, in the order of their first time: linear probing.
class MemberSlots {
 public:
  explicit MemberSlots(Index members) : places(size_for(members), Fill::none) {
    for (auto& place : places) place.member = empty;
  }

  /// Return the slot of a member; a new one gets slot `used()`.
  Index find(Int member) {
    const Index mask = places.size() - 1;
    Index i = static_cast<std::uint64_t>(member) * 0x9E3779B1u & mask;
    while (places[i].member != empty && places[i].member != member) i = (i + 1) & mask;
    if (places[i].member == empty) places[i] = {member, count++};
    return places[i].slot;
  }

  Index used() const { return count; }

 private:
  static constexpr Int empty = -1;
  struct Place {
    Int member;
    Index slot;
  };

  static Index size_for(Index members) {
    Index size = 2;
    while (size < 2 * members) size *= 2;
    return size;
  }

  Buffer<Place> places;
  Index count = 0;
};

/// Number of members that can act: min(m, T).
inline Index acting_members(const Options& options, Int horizon) {
  return Index(options.size < horizon ? options.size : horizon);
}

/// The member of each round, drawn ahead where many members act only once: of those nothing
/// is kept.
///
/// Members that act in several rounds have a slot each, in the order of their first time; all
/// others share the last.
class MemberSchedule {
 public:
  /// A schedule of the rounds from `first` on; none, and then `size()` is 0, where few members act
  /// only once.
  MemberSchedule(bool wanted, const Options& options, Int first, Int horizon, Generator rng)
      : by_round(wanted && is_worth_it(options, horizon) ? Index(horizon) : 0, Fill::none) {
    if (size() == 0) return;
    const Index most = acting_members(options, horizon), begin = Index(first);
    MemberSlots slots(most);
    Buffer<std::uint32_t> rounds(most);
    Int member = -1;
    for (Index t = begin; t < size(); ++t) {
      member = next_member(options, Int(t), member, rng);
      const Index slot = slots.find(member);
      by_round[t] = static_cast<std::uint32_t>(slot);
      ++rounds[slot];
    }
    Buffer<std::uint32_t> own(most, Fill::none);
    for (Index slot = 0; slot < slots.used(); ++slot) own[slot] = rounds[slot] > 1 ? again++ : once;
    for (Index t = begin; t < size(); ++t) {
      const std::uint32_t slot = own[by_round[t]];
      by_round[t] = slot == once ? again : slot;
    }
  }

  Index size() const { return by_round.size(); }
  Index operator[](Int t) const { return by_round[Index(t)]; }
  Index slots() const { return again + Index{1}; }

 private:
  static constexpr std::uint32_t once = 0xffffffff;  // a horizon is below 2^31
  Buffer<std::uint32_t> by_round;
  std::uint32_t again = 0;

  /// Three rounds for each member, on average: with so many a sixth of those that act do so once.
  static bool is_worth_it(const Options& options, Int horizon) {
    constexpr Int few = 3;
    return options.size >= horizon || options.size * few >= horizon;
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
