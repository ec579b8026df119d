// A simulated run on finitely many arms, as Python hands it over: the fields of `FiniteProblem`, `RunState`, `Ensemble`, `Variant`.
#pragma once

#include <cstdint>
#include <variant>

#include "random.hpp"
#include "views.hpp"

namespace ensample {

enum class Noise { normal, bernoulli, sign, student, sale };
enum class LawKind { gaussian, uniform, binomial, sphere };

/// A problem. Rows of `features` past K are seen in the warm-up only and never on offer.
struct FiniteProblem {
  ConstMatrix features;       // [K + W, d]
  ConstMatrix by_coordinate;  // [d, K]
  ConstVector means;          // [K + W]
  ConstVector spreads;        // [K + W] standard deviation of the noise
  Noise noise;
  double best;                                   // the largest mean on offer
  std::span<const std::int64_t> warmup, opening;  // rows seen before the first round; arms that the first rounds must play
  ConstMatrix mean_path;                              // where the truth moves: its means, one after the other [P, K]
  ConstVector best_means;                           // the largest of each [P]
  std::int64_t stay;                             // for how many rounds each holds; 0: the truth does not move
};

/// The numbers of a run: a NumPy record with these fields.
struct RunCounters {
  double regret, rewards, squares;
  double leverage, limit;      // of the last x; beyond which V^-1 is computed anew
  double information, growth;  // log(det V / lam^d) up to some round; growth of det V since then
  double count, origin;        // of observations; what rewards are relative to, where there is an intercept
  double next, bold;           // when scales are to be computed; the next bold round
  std::int64_t next_checkpoint;          // checkpoints passed
};

/// What is learned of the scales; [6, d], numbers in the first entry of their row.
struct Scales {
  Vector sizes;
  double &noise, &spread, &effective, &strength, &calibrated_at;
};

/// A run so far.
struct RunState {
  double lam, kept;
  bool standing, intercept;
  Scales scales;
  Vector prior, prior_root;
  Matrix gram;
  Counts counted;  // pull counts, where scales are learned; empty where they are given
  Matrix inverse;
  Vector mean, target;
  Counts pulls;  // [K + W], and zeros up to a multiple of `block`
  Vector gain;
  RunCounters& counters;
  std::span<const std::int64_t> checkpoints;
  Vector regret;
  Vector scores;
  const std::int64_t& stop;  // not 0: give up, the user has had enough

  std::int64_t horizon() const { return checkpoints.back(); }
  bool learns() const { return !counted.empty(); }
};

struct Law {
  LawKind kind;
  std::int64_t trials;
  double scale;
};

/// How many members there are, which of them acts, and the laws of their perturbations.
struct Ensemble {
  static constexpr std::int64_t in_turn = 0;
  std::int64_t size;
  std::int64_t stay;  // rounds for which a member drawn at random stays
  Law initial, reward;
};

/// What multiplies a perturbation: base + width sqrt(information + tail), or base sigma where that is learned.
struct Inflation {
  double base, width, tail;
  bool determinant, learned;
  double bold;
};

struct Variant {
  bool symmetric;  // a random sign each round
  Inflation factor;
  double growth;  // log of the growth of det V after which the ensemble is drawn anew
};

struct Rngs {
  Generator noise, member, perturbation;
};

/// Whether the user has pressed Ctrl-C: calibrated_at between blocks of rounds.
using Interrupted = bool (*)();

}  // namespace ensample
