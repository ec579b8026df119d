// Which member acts, where lazy runs keep those that have acted, and how perturbations are drawn.
#pragma once

#include <cmath>

#include "linalg.hpp"
#include "random.hpp"
#include "simulate/state.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The sum of n draws: one step for Gaussian and binomial laws, n steps for the uniform one.
inline double draw_sum(const Law& law, std::int64_t n, Generator rng) {
  if (law.kind == LawKind::gaussian) return law.scale * std::sqrt(static_cast<double>(n)) * rng.normal();
  if (law.kind == LawKind::binomial) {
    const std::int64_t count = n * law.trials;
    const std::int64_t heads = count > 1 ? rng.binomial_half(count) : rng.uniform() < 0.5;
    return law.scale / std::sqrt(static_cast<double>(law.trials)) * (2.0 * static_cast<double>(heads) - static_cast<double>(count));
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
    for (double& z : out) z *= law.scale * std::sqrt(static_cast<double>(out.size()) / squares);
  } else if (law.kind == LawKind::gaussian) {
    for (double& z : out) z = law.scale * rng.normal();
  } else {
    for (double& z : out) z = draw_sum(law, 1, rng);
  }
}

/// Return the member of round t by a rule that does not look at scores; `last` is the one before, -1 in the first round.
inline std::int64_t next_member(const Options& options, std::int64_t t, std::int64_t last, Generator rng) {
  if (options.rule == MemberRule::round_robin) return t % options.size;
  if (last >= 0 && t % options.stay != 0) return last;
  return static_cast<std::int64_t>(rng.index(static_cast<std::size_t>(options.size)));
}

/// Hash table from member to slot, in the order of their first time: linear probing.
class MemberSlots {
 public:
  explicit MemberSlots(std::size_t members) : places(size_for(members), Fill::none) {
    for (auto& place : places) place.member = empty;
  }

  /// Return the slot of a member; a new one gets slot `used()`.
  std::size_t find(std::int64_t member) {
    const std::size_t mask = places.size() - 1;
    std::size_t i = static_cast<std::uint64_t>(member) * 0x9E3779B1u & mask;
    while (places[i].member != empty && places[i].member != member) i = (i + 1) & mask;
    if (places[i].member == empty) places[i] = {member, count++};
    return places[i].slot;
  }

  std::size_t used() const { return count; }

 private:
  static constexpr std::int64_t empty = -1;
  struct Place {
    std::int64_t member;
    std::size_t slot;
  };

  static std::size_t size_for(std::size_t members) {
    std::size_t size = 2;
    while (size < 2 * members) size *= 2;
    return size;
  }

  Buffer<Place> places;
  std::size_t count = 0;
};

/// Number of members that can act: min(m, T).
inline std::size_t acting_members(const Options& options, std::int64_t horizon) {
  return static_cast<std::size_t>(options.size < horizon ? options.size : horizon);
}

/// Who acts when, drawn before the first round where many members act only once: of those nothing is kept.
///
/// Members that act in several rounds have a slot each, in the order of their first time; all others share the last.
class MemberSchedule {
 public:
  /// A schedule of the rounds from `first` on; none, and then `size()` is 0, where few members act only once.
  MemberSchedule(bool wanted, const Options& options, std::int64_t first, std::int64_t horizon, Generator rng)
      : by_round(wanted && is_worth_it(options, horizon) ? static_cast<std::size_t>(horizon) : 0, Fill::none) {
    if (size() == 0) return;
    const std::size_t most = acting_members(options, horizon), begin = static_cast<std::size_t>(first);
    MemberSlots slots(most);
    Buffer<std::uint32_t> rounds(most);
    std::int64_t member = -1;
    for (std::size_t t = begin; t < size(); ++t) {
      member = next_member(options, static_cast<std::int64_t>(t), member, rng);
      const std::size_t slot = slots.find(member);
      by_round[t] = static_cast<std::uint32_t>(slot);
      ++rounds[slot];
    }
    Buffer<std::uint32_t> own(most, Fill::none);
    for (std::size_t slot = 0; slot < slots.used(); ++slot) own[slot] = rounds[slot] > 1 ? again++ : once;
    for (std::size_t t = begin; t < size(); ++t) {
      const std::uint32_t slot = own[by_round[t]];
      by_round[t] = slot == once ? again : slot;
    }
  }

  std::size_t size() const { return by_round.size(); }
  std::size_t operator[](std::int64_t t) const { return by_round[static_cast<std::size_t>(t)]; }
  std::size_t slots() const { return again + std::size_t{1}; }

 private:
  static constexpr std::uint32_t once = 0xffffffff;  // a horizon is below 2^31
  Buffer<std::uint32_t> by_round;
  std::uint32_t again = 0;

  /// Three rounds for each member, on average: with so many a sixth of those that act do so once.
  static bool is_worth_it(const Options& options, std::int64_t horizon) {
    constexpr std::int64_t few = 3;
    return options.size >= horizon || options.size * few >= horizon;
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
