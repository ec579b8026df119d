// Table of the linear kernels, one for each instruction-set level.
#pragma once

#include "glm_kernels.hpp"
#include "views.hpp"

namespace ensample {

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

}  // namespace ensample
