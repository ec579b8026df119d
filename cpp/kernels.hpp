// Shared by bindings and kernels: types of arguments and results, and the table of the kernels,
// one for each instruction-set level.
#pragma once

#include "networks/state.hpp"
#include "random.hpp"
#include "simulate/state.hpp"
#include "views.hpp"

namespace ensample {

enum class MathFunction { exp, expm1, log, log1p, log2, tanh };
enum class Draw { normal, uniform, binomial_half };

/// Loss of a generalised linear model, perturbed linearly (newton.hpp).
struct Loss {
  ConstMatrix rows;            // x_k [n, d]
  ConstVector counts, totals;  // how often each was seen, and the sum of its rewards [n]
  ConstVector prior, shift;    // [d]
};

/// x'theta_hat and x'V^-1 x.
struct Prediction {
  double predictor, leverage;
};

struct Observation {
  ConstVector x;
  double y;
  Vector origin;  // [1] where an intercept is learned: the first reward; else empty
  Link link;      // of a generalised linear model; without an intercept
};

/// Coefficients and normals of fresh members: S = initial_scale sqrt((1 + A) prior) w +
/// reward_scale R'g.
struct FreshDraws {
  ConstMatrix root;  // R [d, d]
  double prior_age;  // A
  double initial_scale, reward_scale;
  ConstMatrix w, g;  // [m, d]
};

/// The regressions of SupLinUCB's stages.
struct Stages {
  MatrixStack<double> grams, inverses;  // V and V^-1 of each stage [S, d, d]
  Matrix targets, means;                // b and theta_hat of each [S, d]
  double radius;                        // what multiplies |x|_{V^-1}
  double floor;                         // the width that is narrow enough for any stage, 1/sqrt(T)

  Index count() const { return means.rows; }
};

struct StagedChoice {
  Index arm, stage;
  bool learns;  // whether the stage learns from the arm: not where it knows all arms that are left
                // well
};

/// Two arms, and the probability of the first.
struct ArmPair {
  Index first, second;
  double share;
};

inline constexpr Index search_tile = 64;       // arms whose codes are stored together
inline constexpr Index max_search_dim = 2048;  // columns whose bounds fit 16 bits

/// An option that is refused, and why; none where `name` is null.
struct BadOption {
  const char* name = nullptr;
  const char* expected = nullptr;
};

/// Flags: streams of random numbers that a kernel draws from, besides the stream of the noise.
enum Streams : unsigned { no_stream = 0, member_stream = 1, perturbation_stream = 2 };

/// A function that plays a run to its end, or until `RunSettings::stop` is set.
template <class Problem>
using PlayRun = void (*)(const Problem&, const RunSettings&, const RunResults&, const Rngs&,
                         const Options&);

/// One algorithm, for one of the two kinds of problems.
struct SimulationKernel {
  const char* name;
  PlayRun<FiniteProblem> finite;
  PlayRun<ContextualProblem> contextual;
  unsigned streams;
  BadOption (*check)(const Options&);  // null if all values within their ranges will do
};

/// The kernels of one instruction-set level.
struct Kernels {
  const char* level;
#define KERNEL(result, name, ...) result (*name)(__VA_ARGS__);
#include "kernels.def"
#undef KERNEL
  const std::span<const SimulationKernel>& simulations;
};

/// Return the levels that this build has and this machine can run, the plainest first.
std::span<const Kernels* const> usable_kernels();

/// The level in use: the last of `usable_kernels()`, unless a test chooses another.
extern const Kernels* kernels;

}  // namespace ensample
