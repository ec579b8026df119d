// What bindings and kernels share: types of arguments and results, and the table of the kernels, one for each instruction-set
// level.
#pragma once

#include "networks/learning.hpp"
#include "networks/shape.hpp"
#include "random.hpp"
#include "simulate/state.hpp"
#include "views.hpp"

namespace ensample {

// --- Generalised linear models ---------------------------------------------------------------------------------------------

enum class MathFunction { exp, expm1, log, log1p, log2, tanh };
enum class Draw { uniform, normal, binomial_half };

/// Loss of a generalised linear model, perturbed linearly (newton.hpp).
struct Loss {
  ConstMatrix rows;             // x_k [n, d]
  ConstVector counts, totals;   // how often each was seen, and the sum of its rewards [n]
  ConstVector prior, shift;     // [d]
};

/// x'theta_hat and x'V^-1 x.
struct Prediction {
  double predictor, leverage;
};

struct GlmKernels {
  void (*evaluate)(MathFunction function, ConstVector values, Vector out);
  void (*draw)(Draw distribution, std::int64_t trials, Generator rng, Vector out);

  void (*link_means)(Link link, ConstVector predictors, Vector means);
  void (*link_slopes)(Link link, ConstVector predictors, Vector slopes);
  double (*implicit_step)(Link link, double predictor, double leverage, double y);
  Prediction (*predict)(Matrix state, ConstVector x);

  bool (*minimise)(Link link, const Loss& loss, double tolerance, Vector theta);
  double (*newton_step)(const Loss& loss, ConstVector theta, ConstVector means, ConstVector slopes, Vector step);
  void (*set_hessian)(const Loss& loss, ConstVector slopes, Matrix hessian);
};

// --- Linear models ---------------------------------------------------------------------------------------------------------

struct Observation {
  ConstVector x;
  double y;
  Vector origin;  // [1] where an intercept is learned: the first reward; else empty
  Link link;      // of a generalised linear model; without an intercept
};

/// What fresh members are drawn by: S = initial sqrt((1 + A) prior) w + reward R'g.
struct FreshDraws {
  ConstMatrix root;  // R [d, d]
  double prior_age;  // A
  double initial, reward;
  ConstMatrix w, g;  // [m, d]
};

/// `state` is a ridge regression's (ridge_state.hpp).
struct LinearKernels {
  void (*learn_ridge)(Matrix state, const Observation& observed, const ScaleLearning& learning);
  void (*learn_members)(Matrix state, Matrix sums, ConstVector z, ConstMatrix fresh, Matrix root, const Observation& observed,
                        const ScaleLearning& learning);
  void (*learn_history)(Matrix state, Matrix root, Ints pulls, std::int64_t arm, const Observation& observed,
                        const ScaleLearning& learning);
  void (*learn_rooted)(Matrix state, Matrix root, ConstVector rooted, const Observation& observed);
  void (*learn_posterior)(Matrix state, Matrix root, Vector rewards, const Observation& observed);
  void (*learn_fresh)(Matrix state, Matrix root, Matrix gram_root, Vector ages, double ageing_rate, const Observation& observed,
                      const ScaleLearning& learning);

  std::size_t (*best_arm_of_member)(Matrix state, ConstMatrix sums, double factor, std::size_t member, ConstMatrix by_coordinate);
  void (*member_theta)(Matrix state, ConstMatrix sums, double factor, std::size_t member, Vector theta);
  void (*member_thetas)(Matrix state, ConstMatrix sums, double factor, Matrix thetas);
  void (*vote)(Matrix state, ConstMatrix sums, double factor, ConstMatrix by_coordinate, ConstVector sizes,
               Ints chosen);
  void (*fresh_thetas)(Matrix state, const FreshDraws& draws, Matrix thetas);
  void (*vote_fresh)(Matrix state, const FreshDraws& draws, ConstMatrix by_coordinate, ConstVector sizes,
                     Ints chosen);
  void (*shift_mean)(Matrix state, ConstVector total, Vector theta);

  void (*add_rows)(Vector total, ConstMatrix rows, ConstVector weights);
  void (*multiply)(ConstMatrix matrix, ConstVector vector, Vector product);
  bool (*cholesky)(ConstMatrix matrix, Matrix factor);
  bool (*invert)(ConstMatrix matrix, Matrix inverse);
};

// --- Other linear recipes --------------------------------------------------------------------------------------------------

/// The regressions of SupLinUCB's stages.
struct Stages {
  MatrixStack<double> grams, inverses;  // V and V^-1 of each stage [S, d, d]
  Matrix targets, means;                // b and theta_hat of each [S, d]
  double radius;                        // what multiplies |x|_{V^-1}
  double floor;                         // the width that is narrow enough for any stage, 1/sqrt(T)

  std::size_t count() const { return means.rows; }
};

struct StagedChoice {
  std::size_t arm, stage;
  bool learns;  // whether the stage learns from the arm: not where it knows all arms that are left well
};

/// Two arms, and the probability of the first.
struct ArmPair {
  std::size_t first, second;
  double share;
};

/// Weighted least squares of the multiplier bootstrap's replicates.
struct Replicates {
  MatrixStack<double> grams;  // [B, d, d]
  Matrix targets;             // [B, d]

  std::size_t count() const { return targets.rows; }
};

/// `state` is a ridge regression's (ridge_state.hpp).
struct RecipeKernels {
  void (*learn_optimist)(Matrix state, double& largest, const Observation& observed, const ScaleLearning& learning);
  void (*learn_staged)(Matrix state, const Stages& stages, ConstMatrix by_coordinate, std::int64_t arm,
                       const Observation& observed);
  void (*learn_replicates)(Matrix state, const Replicates& replicates, ConstMatrix weights, double pseudo,
                           std::int64_t& pulls, const Observation& observed);
  void (*learn_directions)(Matrix state, Matrix directions, ConstVector z, const Observation& observed);
  void (*learn_pull)(Matrix state, Ints pulls, std::int64_t arm, const Observation& observed);

  std::size_t (*optimistic_arm)(ConstMatrix inverse, ConstVector mean, ConstMatrix by_coordinate, double beta);
  void (*optimistic_theta)(ConstMatrix inverse, ConstVector mean, ConstVector x, double beta, Vector theta);
  StagedChoice (*choose_staged)(const Stages& stages, ConstMatrix by_coordinate);
  ArmPair (*best_pair)(ConstVector gaps, ConstVector gains, ConstVector means);
  ArmPair (*informed_pair)(ConstMatrix thetas, ConstMatrix by_coordinate);
  void (*solve_replicates)(const Replicates& replicates, Matrix thetas);
  void (*theta_of_directions)(Matrix state, ConstMatrix directions, ConstVector weights, Vector theta);
  void (*theta_of_pseudo_rewards)(Matrix state, ConstMatrix rows, ConstInts pulls, double a, double lam, Generator rng,
                                  Vector theta);
  std::int64_t (*unplayed)(ConstInts basis, ConstInts pulls, std::int64_t round);
};

// --- Networks --------------------------------------------------------------------------------------------------------------

struct NetworkKernels {
  void (*outputs)(const NetworkShape&, ConstVector weights, std::size_t first, ConstMatrix rows, Matrix outputs);
  void (*gradient)(const NetworkShape&, ConstVector weights, ConstMatrix rows, ConstMatrix slopes, Vector gradient);
  bool (*learn)(const NetworkShape&, const NetworkTraining&, const NetworkAnchor&, const NetworkState&, const NetworkMemory&,
                const NewObservation&, double* workspace);
  std::size_t (*workspace_size)(const NetworkShape&, std::size_t weight_rows, std::size_t batch);
  void (*scale_rows)(ConstMatrix rows, ConstVector sizes, Matrix seen);
  void (*learn_sizes)(Vector sizes, Vector squares, Vector seen, ConstVector x, std::int64_t count);
};

// --- Search over many arms -------------------------------------------------------------------------------------------------

inline constexpr std::size_t search_tile = 64;  // arms whose codes are stored together
inline constexpr std::size_t max_search_dim = 2048;  // columns whose bounds fit 16 bits

struct SearchKernels {
  std::size_t (*greedy_arm)(ConstVector theta, ConstMatrix by_coordinate);
  void (*greedy_arms)(ConstMatrix thetas, ConstMatrix by_coordinate, Ints chosen, Vector scores);
  std::size_t (*scan_arms)(ConstMatrix rows, ConstVector theta);
  void (*encode_arms)(ConstMatrix rows, Matrix table, std::span<std::uint8_t> codes);
  std::size_t (*find_best_arm)(ConstMatrix rows, ConstMatrix table, const std::uint8_t* codes, ConstVector theta);
  void (*find_best_arms)(ConstMatrix rows, ConstMatrix table, const std::uint8_t* codes, ConstMatrix thetas,
                         Ints chosen, Vector scores);
};

// --- Simulated runs --------------------------------------------------------------------------------------------------------

/// What is wrong with an option: nothing where `name` is null.
struct BadOption {
  const char* name = nullptr;
  const char* expected = nullptr;
};

/// How many rows of features there are, and arms on offer.
struct ProblemSize {
  std::size_t rows, arms;
};

/// Flags: streams of random numbers that a kernel draws from, besides the stream of the noise.
enum Streams : unsigned { no_stream = 0, member_stream = 1, perturbation_stream = 2 };

/// One algorithm, for one of the two kinds of problems. It plays a run to its end, or until `RunState::stop` is set.
struct SimulationKernel {
  const char* name;
  void (*finite)(const FiniteProblem&, RunState&, const Rngs&, const Options&);
  void (*contextual)(const ContextualProblem&, RunState&, const Rngs&, const Options&);
  unsigned streams;
  BadOption (*check)(const Options&, const ProblemSize&);  // null if all values within their ranges will do
};

// --- Levels ----------------------------------------------------------------------------------------------------------------

struct Kernels {
  const char* name;  // of the level
  GlmKernels glm;
  LinearKernels linear;
  NetworkKernels networks;
  RecipeKernels recipes;
  SearchKernels search;
  const std::span<const SimulationKernel>& simulations;
};

/// Return the levels that this build has and this machine can run, the plainest first.
std::span<const Kernels* const> usable_kernels();

/// The level in use: the last of `usable_kernels()`, unless a test chooses another.
extern const Kernels* kernels;

}  // namespace ensample
