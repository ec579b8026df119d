// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "linear_learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {

namespace {

std::size_t best_arm_of(Matrix state, ConstMatrix sums, double factor, std::size_t member, ConstMatrix by_coordinate) {
  return best_arm_of_member(RidgeState(state), sums, factor, member, by_coordinate);
}

void write_theta(Matrix state, ConstMatrix sums, double factor, std::size_t member, Vector theta) {
  Buffer<double> total(theta.size(), Fill::none);
  member_theta(RidgeState(state), sums, factor, member, {total.data(), theta.size()}, theta);
}

void write_thetas(Matrix state, ConstMatrix sums, double factor, Matrix thetas) {
  member_thetas(RidgeState(state), sums, factor, thetas);
}

void votes_of(Matrix state, ConstMatrix sums, double factor, ConstMatrix by_coordinate, ConstVector sizes,
              std::span<std::int64_t> chosen) {
  vote(RidgeState(state), sums, factor, by_coordinate, sizes, chosen);
}

void write_fresh_thetas(Matrix state, const FreshDraws& draws, Matrix thetas) { fresh_thetas(RidgeState(state), draws, thetas); }

void fresh_votes(Matrix state, const FreshDraws& draws, ConstMatrix by_coordinate, ConstVector sizes,
                 std::span<std::int64_t> chosen) {
  vote_fresh(RidgeState(state), draws, by_coordinate, sizes, chosen);
}

void shift_mean_of(Matrix state, ConstVector total, Vector theta) { shift_mean(RidgeState(state).estimate, total, theta); }

void add_rows(Vector total, ConstMatrix rows, ConstVector weights) { weigh_rows<true>(total, rows, weights); }

void multiply(ConstMatrix matrix, ConstVector vector, Vector product) { sum_rows(product, matrix, vector); }

void rotate_alone(Matrix factor, ConstVector x) {
  Buffer<double> scratch(x.size(), Fill::none);
  rotate(factor, x, {scratch.data(), x.size()});
}

EvidenceScales fit_evidence(ConstMatrix gram, ConstVector target, const EvidenceSums& sums, double strength) {
  const std::size_t d = target.size();
  Buffer<double> buffer(d * d + d, Fill::none);
  std::copy_n(gram.data, d * d, buffer.data());
  std::copy_n(target.data(), d, buffer.data() + d * d);
  const auto found = evidence({buffer.data(), d, d}, {buffer.data() + d * d, d}, sums.squares, sums.count, sums.length, sums.noise,
                              sums.spread, strength);
  return {found.noise, found.spread, found.effective};
}

}  // namespace

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{
    .learn_ridge = learn_ridge,
    .learn_members = learn_members,
    .learn_history = learn_history,
    .learn_rooted = learn_rooted,
    .learn_posterior = learn_posterior,
    .learn_fresh = learn_fresh,
    .best_arm_of_member = best_arm_of,
    .member_theta = write_theta,
    .member_thetas = write_thetas,
    .vote = votes_of,
    .fresh_thetas = write_fresh_thetas,
    .vote_fresh = fresh_votes,
    .shift_mean = shift_mean_of,
    .add_rows = add_rows,
    .multiply = multiply,
    .rotate = rotate_alone,
    .cholesky = cholesky,
    .invert = invert,
    .fit_evidence = fit_evidence,
};

}  // namespace ensample::ENSAMPLE_LEVEL
