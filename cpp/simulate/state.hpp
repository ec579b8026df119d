// A simulated run as Python hands it over: its problem, its state, its random numbers and its
// recipe's options.
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

/// The numbers of a run. Python has them in a structured array, whose fields are found by these
/// names.
struct RunCounters {
  double regret;
  double rewards, squares;        // sums of the rewards and of their squares
  double leverage, max_leverage;  // of the last observation; beyond which V^-1 is recomputed
  double information, growth;     // log(det V / lam^d) up to some round; growth of det V since then
  double count, origin;           // of observations; what rewards are relative to (an intercept)
  double next_calibration;        // observations at which the scales are learned; infinite: given
  Int next_checkpoint;
};

/// A run so far.
struct RunState {
  double lam;              // at first
  double fixed_lam;        // lam > 0 where the scales are learned and it is not; else 0
  bool sizes_given;        // whether the sizes of features are
  bool intercept;          // whether the last feature is the constant 1
  double forgetting_rate;  // log 2 / half-life; 0: nothing is forgotten
  Matrix scales;           // `Scales` of calibration.hpp [6, d]
  Vector prior;            // V before the first observation, its diagonal [d]
  Vector prior_root;       // of its entries [d]
  Matrix gram;     // sum x x' at the time of `counted`; now, where the past is forgotten [d, d]
  Counts counted;  // pull counts, where scales are learned; empty where they are given
  Matrix inverse;  // V^-1 [d, d]
  Vector mean, target;  // theta_hat and b [d]
  Counts pulls;         // [K + W], and zeros up to a multiple of `count_block`
  Vector gain;          // V^-1 x of the last observation, as it was before it [d]
  RunCounters& counters;
  ConstInts checkpoints;  // rounds after which the regret is written down, up to the horizon
  Vector regret;          // at the checkpoints
  Vector scores;          // scratch [K]
  const Int& stop;        // not 0: give up, Ctrl-C was pressed
};

/// Laws of perturbations: numbers of simulation/options.py.
enum class LawKind : Int { gaussian, uniform, binomial, sphere };

struct Law {
  LawKind kind = LawKind::gaussian;
  Int trials = 1;  // of a binomial law; Rademacher's has one
  double scale = 1.0;
};

/// What multiplies a perturbation: base + width sqrt(information + tail); where sigma is learned,
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
  // Of log det V, then members are drawn anew
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
