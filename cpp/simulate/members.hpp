// Which member acts, and where lazy runs keep those that have acted.
#pragma once

#include "buffer.hpp"
#include "state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The member of round t; `last` is the one before, -1 in the first round.
inline std::int64_t next_member(const Ensemble& ensemble, std::int64_t t, std::int64_t last, Generator rng) {
  if (ensemble.stay == Ensemble::in_turn) return t % ensemble.size;
  if (last < 0 || t % ensemble.stay == 0)
    return static_cast<std::int64_t>(rng.uniform() * static_cast<double>(ensemble.size));
  return last;
}

/// From member to slot, in the order of their first time: linear probing.
class Slots {
 public:
  explicit Slots(std::size_t members) : places(size_for(members)) {
    for (auto& place : places) place.member = empty;
  }

  /// Where a member is kept, `used()` if it is new (and then it is entered).
  std::int64_t find(std::int64_t member) {
    const std::size_t mask = places.size() - 1;
    auto i = static_cast<std::uint64_t>(member) * 0x9E3779B1u & mask;
    while (places[i].member != empty && places[i].member != member) i = (i + 1) & mask;
    if (places[i].member == empty) places[i] = {member, count++};
    return places[i].slot;
  }

  std::int64_t used() const { return count; }

 private:
  static constexpr std::int64_t empty = -1;
  struct Place {
    std::int64_t member, slot;
  };

  static std::size_t size_for(std::size_t members) {
    std::size_t size = 2;
    while (size < 2 * members) size *= 2;
    return size;
  }

  Buffer<Place> places;
  std::int64_t count = 0;
};

/// Who acts when, drawn before the first round where many members act but once: of those nothing is kept.
///
/// Members that act in several rounds have a place each, in the order of their first time; all others share the last.
class MemberSchedule {
 public:
  MemberSchedule(const Ensemble& ensemble, std::int64_t first, std::int64_t horizon, Generator rng)
      : by_round(static_cast<std::size_t>(horizon)) {
    const auto most = static_cast<std::size_t>(std::min(ensemble.size, horizon));
    Slots slots(most);
    Buffer<std::int64_t> rounds(most);
    std::int64_t member = -1;
    for (std::int64_t t = first; t < horizon; ++t) {
      member = next_member(ensemble, t, member, rng);
      by_round[t] = slots.find(member);
      ++rounds[by_round[t]];
    }
    Buffer<std::int64_t> own(most);
    for (std::int64_t slot = 0; slot < slots.used(); ++slot) own[slot] = rounds[slot] > 1 ? again++ : once;
    for (std::int64_t t = first; t < horizon; ++t) {
      const auto place = own[by_round[t]];
      by_round[t] = place == once ? again : place;
    }
  }

  std::int64_t operator[](std::int64_t t) const { return by_round[t]; }
  std::int64_t places() const { return again + 1; }

  static bool worth_it(const Ensemble& ensemble, std::int64_t horizon) { return ensemble.size * 3 >= horizon; }

 private:
  static constexpr std::int64_t once = -1;
  Buffer<std::int64_t> by_round;
  std::int64_t again = 0;
};

}  // namespace ensample::ENSAMPLE_LEVEL
