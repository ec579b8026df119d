// A simulated run: its problem, state, random numbers and options.
#pragma once

#include <cstdint>
#include <limits>

#include "random.hpp"
#include "views.hpp"

namespace ensample {

/// Laws of the reward noise: numbers of problems/noise.py.
enum class Noise : Int { normal, bernoulli, sign, student, sale };

/// A problem on finitely many arms. Rows of `features` past K are seen in the warm-up only and
/// never on offer.
struct FiniteProblem {
  ConstMatrix features;       // [K + W, d]
  ConstMatrix by_coordinate;  // [d, K]
  ConstVector means;          // [K + W]
  ConstVector spreads;        // [K + W] standard deviation of the noise
  Noise noise;
  double best;             // the largest mean on offer
  ConstInts warmup;        // rows seen before the first round
  ConstInts opening;       // arms that the first rounds must play
  ConstMatrix mean_path;   // where the truth moves: its means, one after the other [P, K]
  ConstVector best_means;  // the largest of each [P]
  Int period;              // for how many rounds each holds; 0: the truth does not move
};

/// A problem without standing arms.
struct ContextualProblem {
  ConstVector theta;
  Int offered;  // arms a round, unit vectors in random directions; 0: the unit ball
  Noise noise;
  double low, high;  // standard deviation of the noise: low + (high - low) min(1, |mean|)
  Link link;         // of the means
  bool constant;     // whether the last feature is 1, and the unit vectors are of the others
};

/// Settings of a run.
struct RunSettings {
  double lam;              // regularization at first
  double fixed_lam;        // lam > 0 where it is given although the scales are learned; else 0
  ConstVector sizes;       // of the features, where they are given; else empty
  bool intercept;          // whether the last feature is the constant 1
  bool learns_scales;      // of the noise and the parameter
  double forgetting_rate;  // log 2 / half-life; 0: nothing is forgotten
  ConstInts checkpoints;   // rounds after which the regret is written down, up to the horizon
  const Int& stop;         // not 0: give up, Ctrl-C was pressed
};

/// Results of a run.
struct RunResults {
  Vector regret;        // at the checkpoints
  Ints pulls;           // [K + W]; empty without standing arms
  Vector mean, target;  // theta_hat and b [d]
};

/// The numbers of a run.
struct RunCounters {
  double regret = 0.0;
  double rewards = 0.0, squares = 0.0;  // sums of the rewards and of their squares
  double leverage = 0.0;                // of the last observation
  double max_leverage = 1e4;            // beyond which V^-1 is recomputed
  double information = 0.0;             // log(det V / lam^d) up to some round
  double growth = 1.0;                  // of det V since then
  double count = 0.0;                   // of observations
  double origin = 0.0;                  // what rewards are relative to, with an intercept
  double next_calibration = 1.0;        // count at which scales are learned; infinite: never
  Int next_checkpoint = 0;
};

/// A run so far.
struct RunState {
  double lam;              // of `RunSettings`
  double fixed_lam;        // of `RunSettings`
  bool sizes_given;        // whether the sizes of features are
  bool intercept;          // of `RunSettings`
  double forgetting_rate;  // of `RunSettings`
  Matrix scales;           // `Scales` of calibration.hpp [6, d]
  Vector prior;            // V before the first observation, its diagonal [d]
  Vector prior_root;       // of its entries [d]
  Matrix gram;     // sum x x' at the time of `counted`; now, where the past is forgotten [d, d]
  Counts counted;  // pull counts, where scales are learned; empty where they are given
  Matrix inverse;  // V^-1 [d, d]
  Vector mean, target;  // theta_hat and b [d]
  Counts pulls;         // [K + W], and zeros up to a multiple of `count_block`
  Vector gain;          // V^-1 x of the last observation, as it was before it [d]
  RunCounters counters;
  ConstInts checkpoints;  // of `RunSettings`
  Vector regret;          // at the checkpoints
  Vector scores;          // scratch [K]
  const Int& stop;        // of `RunSettings`
};

/// Laws of perturbations: numbers of simulation/options.py.
enum class LawKind : Int { gaussian, uniform, binomial, sphere };

struct Law {
  LawKind kind = LawKind::gaussian;
  Int trials = 1;  // of a binomial law; Rademacher's has one
  double scale = 1.0;
};

/// Factor of a perturbation: base + width sqrt(information + tail); where sigma is learned,
/// sigma sqrt(base^2 + growth log(1 + t / 100)).
struct Inflation {
  double base = 1.0, width = 0.0, tail = 0.0;
  bool determinant =
      false;             // whether the information is log(det V / lam^d), or d log(1 + t / (d lam))
  bool learned = false;  // whether sigma multiplies it
  double growth = 0.0;
};

/// Which member acts: one drawn at random, who stays for `Options::stay` rounds; each in turn; or
/// the one whose best arm has the highest score.
enum class MemberRule : Int { random, round_robin, optimistic };

/// Options of a recipe. Every kernel reads those that it needs; OptionReader in
/// bindings_simulation.cpp lists their names and ranges.
struct Options {
  Int size = 1;  // members
  MemberRule rule = MemberRule::random;
  Int stay = 1;            // rounds for which a member that is drawn at random acts
  Law initial, reward;     // of the perturbations W and Z
  Inflation factor;        // of what is added to theta_hat
  bool symmetric = false;  // a random sign each round
  // Growth of log det V after which members are drawn anew.
  double redraw_growth = std::numeric_limits<double>::infinity();
  double ageing = 0.0;      // rate at which older observations are perturbed more
  bool adaptive = false;    // whether the rewards' standard deviation multiplies
  bool watch_norm = false;  // whether the largest |theta_hat| so far is a bound
  double epsilon = 0.0, decay = 0.0;
  double scale = 1.0, radius = 0.0, floor = 0.0, spread = 1.0;
  Int stages = 1;
  Link link = Link::identity;
  Int kind = 0;            // which of the algorithms that share a kernel
  bool from_base = false;  // whether new members start from a common root of V
  ConstInts basis;         // arms by number
};

struct Rngs {
  Generator noise, member, perturbation, context;
};

}  // namespace ensample
