// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "linear_learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{
    .learn_ridge = learn_ridge,
    .learn_members = learn_members,
    .learn_history = learn_history,
    .learn_rooted = learn_rooted,
    .learn_posterior = learn_posterior,
    .learn_fresh = learn_fresh,
    .best_arm_of_member = best_arm_of_member,
    .member_theta =
        [](Matrix state, ConstMatrix sums, double factor, std::size_t member, Vector theta) {
          Buffer<double> total(theta.size(), Fill::none);
          member_theta(RidgeState(state), sums, factor, member, total, theta);
        },
    .member_thetas = member_thetas,
    .vote = vote,
    .fresh_thetas = fresh_thetas,
    .vote_fresh = vote_fresh,
    .shift_mean = [](Matrix state, ConstVector total, Vector theta) { shift_mean(RidgeState(state).estimate, total, theta); },
    .add_rows = weigh_rows<true>,
    .multiply = [](ConstMatrix matrix, ConstVector vector, Vector product) { sum_rows(product, matrix, vector); },
    .cholesky = cholesky,
    .invert = invert,
};

}  // namespace ensample::ENSAMPLE_LEVEL
