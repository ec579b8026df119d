// Table of the kernels of other linear recipes, one for each instruction-set level, and what they are given.
#pragma once

#include "linear_kernels.hpp"
#include "random.hpp"
#include "views.hpp"

namespace ensample {

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

}  // namespace ensample
