#include "bindings.hpp"

namespace ensample {
namespace {

using LinkCode = std::optional<std::int64_t>;
using OptionalOrigin = std::optional<Vector>;

void learn_ridge(Matrix state, ConstVector x, double y, std::optional<nb::tuple> learning,
                 LinkCode link) {
  const std::size_t d = dim_of_state(state);
  const auto observed = observation_of(x, y, {}, d, link);
  run(kernels->linear.learn_ridge, state, observed, learning_of(learning, d));
}

/// Return the number of members.
std::size_t check_sums(ConstMatrix sums, std::size_t d) {
  require((sums.rows == 2 * d || sums.rows == 3 * d) && sums.columns > 0, "sums", "[2d, m] or [3d, m]");
  return sums.columns;
}

void learn_members(Matrix state, Matrix sums, ConstVector x, double y, ConstVector z, std::optional<ConstMatrix> fresh,
                   OptionalOrigin origin, std::optional<Matrix> root, std::optional<nb::tuple> learning, LinkCode link) {
  const std::size_t d = dim_of_state(state), m = check_sums(sums, d);
  require(z.size() == m, "z", "one number for each member");
  if (fades(state)) require(fresh && fresh->rows == d && fresh->columns == m, "fresh", "[d, m] where the past fades");
  if (root) require_square(*root, d, "root");
  const auto observed = observation_of(x, y, origin, d, link);
  run(kernels->linear.learn_members, state, sums, z, fresh.value_or(ConstMatrix{}), root.value_or(Matrix{}), observed,
      learning_of(learning, d));
}

void learn_history(Matrix state, Matrix root, Ints pulls, std::int64_t arm, ConstVector x, double y, std::optional<nb::tuple> learning) {
  const std::size_t d = dim_of_state(state);
  require_square(root, d, "root");
  require_arm(arm, pulls.size(), -1);
  require_count(pulls, arm);
  const auto observed = observation_of(x, y, {}, d);
  run(kernels->linear.learn_history, state, root, pulls, arm, observed, learning_of(learning, d));
}

void learn_rooted(Matrix state, Matrix root, std::optional<ConstVector> rooted, ConstVector x, double y, LinkCode link) {
  const std::size_t d = dim_of_state(state);
  require_square(root, d, "root");
  require(!rooted || rooted->size() == d, "rooted", "None or one number for each feature of the state");
  run(kernels->linear.learn_rooted, state, root, rooted.value_or(ConstVector{}), observation_of(x, y, {}, d, link));
}

void learn_posterior(Matrix state, Matrix root, Vector rewards, ConstVector x, double y) {
  const std::size_t d = dim_of_state(state);
  require_square(root, d, "root");
  require(rewards.size() == 3, "rewards", "3 numbers");
  run(kernels->linear.learn_posterior, state, root, rewards, observation_of(x, y, {}, d));
}

void learn_fresh(Matrix state, Matrix root, Matrix gram_root, Vector ages, double ageing_rate, ConstVector x, double y,
                 OptionalOrigin origin, std::optional<nb::tuple> learning, LinkCode link) {
  const std::size_t d = dim_of_state(state);
  require_square(root, d, "root");
  require((gram_root.rows == 0 || gram_root.rows == d) && gram_root.columns == d, "gram_root", "[d, d] or [0, d]");
  require(ages.size() == 2, "ages", "2 numbers");
  const auto observed = observation_of(x, y, origin, d, link);
  run(kernels->linear.learn_fresh, state, root, gram_root, ages, ageing_rate, observed,
      learning_of(learning, d));
}

/// Return the number of a member as an index.
std::size_t check_member(std::int64_t member, std::size_t m) {
  require(member >= 0 && member < static_cast<std::int64_t>(m), "member", "the number of a member");
  return static_cast<std::size_t>(member);
}

std::size_t best_arm_of_member(Matrix state, ConstMatrix sums, double factor, std::int64_t member, ConstMatrix by_coordinate) {
  const std::size_t d = dim_of_state(state), index = check_member(member, check_sums(sums, d));
  require_arms(by_coordinate, by_coordinate.rows + 1 == d ? d - 1 : d);
  return run(kernels->linear.best_arm_of_member, state, sums, factor, index, by_coordinate);
}

nb::object member_theta(Matrix state, ConstMatrix sums, double factor, std::int64_t member) {
  const std::size_t d = dim_of_state(state), index = check_member(member, check_sums(sums, d));
  return new_vector(d, kernels->linear.member_theta, state, sums, factor, index);
}

nb::object member_thetas(Matrix state, ConstMatrix sums, double factor) {
  const std::size_t d = dim_of_state(state), m = check_sums(sums, d);
  return new_matrix(d, m, kernels->linear.member_thetas, state, sums, factor);
}

void check_offer(ConstMatrix by_coordinate, ConstVector sizes, std::size_t d) {
  require_arms(by_coordinate, d);
  require(sizes.size() == d, "sizes", "one number for each feature");
}

nb::object vote(Matrix state, ConstMatrix sums, double factor, ConstMatrix by_coordinate, ConstVector sizes) {
  const std::size_t d = dim_of_state(state), m = check_sums(sums, d);
  check_offer(by_coordinate, sizes, d);
  return new_vector<std::int64_t>(m, kernels->linear.vote, state, sums, factor, by_coordinate, sizes);
}

FreshDraws draws_of(std::size_t d, ConstMatrix root, double prior_age, double initial, double reward, ConstMatrix w, ConstMatrix g) {
  require_square(root, d, "root");
  require(w.rows > 0 && w.columns == d, "w", "[m, d]");
  require(g.rows == w.rows && g.columns == d, "g", "[m, d], as `w`");
  return {root, prior_age, initial, reward, w, g};
}

nb::object fresh_thetas(Matrix state, ConstMatrix root, double prior_age, double initial, double reward, ConstMatrix w, ConstMatrix g) {
  const std::size_t d = dim_of_state(state);
  return new_matrix(w.rows, d, kernels->linear.fresh_thetas, state, draws_of(d, root, prior_age, initial, reward, w, g));
}

nb::object vote_fresh(Matrix state, ConstMatrix root, double prior_age, double initial, double reward, ConstMatrix w, ConstMatrix g,
                      ConstMatrix by_coordinate, ConstVector sizes) {
  const std::size_t d = dim_of_state(state);
  check_offer(by_coordinate, sizes, d);
  const auto draws = draws_of(d, root, prior_age, initial, reward, w, g);
  return new_vector<std::int64_t>(w.rows, kernels->linear.vote_fresh, state, draws, by_coordinate, sizes);
}

nb::object shift_mean(Matrix state, ConstVector total) {
  const std::size_t d = dim_of_state(state);
  require(total.size() == d, "total", "one number for each feature of the state");
  return new_vector(d, kernels->linear.shift_mean, state, total);
}

void add_rows(Vector total, ConstMatrix rows, ConstVector weights) {
  require(rows.rows == weights.size() && rows.columns == total.size(), "rows", "a row for each of `weights`, as long as `total`");
  run(kernels->linear.add_rows, total, rows, weights);
}

std::size_t dim_of_square(ConstMatrix matrix) {
  require(matrix.rows > 0 && matrix.rows == matrix.columns, "matrix", "[d, d]");
  return matrix.rows;
}

nb::object multiply(ConstMatrix matrix, ConstVector vector) {
  const std::size_t d = dim_of_square(matrix);
  require(vector.size() == d, "vector", "[d], for a matrix [d, d]");
  return new_vector(d, kernels->linear.multiply, matrix, vector);
}

nb::object cholesky(ConstMatrix matrix) {
  const std::size_t d = dim_of_square(matrix);
  return new_matrix(d, d, kernels->linear.cholesky, matrix);
}

nb::object invert(ConstMatrix matrix) {
  const std::size_t d = dim_of_square(matrix);
  return new_matrix(d, d, kernels->linear.invert, matrix);
}

}  // namespace

void bind_linear(nb::module_& module) {
  module.def("learn_ridge", &learn_ridge, "state"_a, "x"_a, "y"_a, "learning"_a = nb::none(), "link"_a = nb::none(), "Learn an observation, calibrate where that is due, and recompute what is stale.");
  module.def("learn_members", &learn_members, "state"_a, "sums"_a, "x"_a, "y"_a, "z"_a, "fresh"_a = nb::none(), "origin"_a = nb::none(),
             "root"_a = nb::none(), "learning"_a = nb::none(), "link"_a = nb::none(),
             "Do as `learn_ridge`, perturb member j by x z[j], and update a root of sum x x' if one is given.");
  module.def("learn_history", &learn_history, "state"_a, "root"_a, "pulls"_a, "arm"_a, "x"_a, "y"_a, "learning"_a = nb::none(),
             "Do as `learn_ridge`, and update an upper triangular root of sum x x' and pull counts (arm -1: none).");
  module.def("learn_rooted", &learn_rooted, "state"_a, "root"_a, "rooted"_a, "x"_a, "y"_a, "link"_a = nb::none(),
             "Do as `learn_ridge`, and update a root of sum f f': f is `rooted` or, if that is None, what is learned of x.");
  module.def("learn_posterior", &learn_posterior, "state"_a, "root"_a, "rewards"_a, "x"_a, "y"_a,
             "Do as `learn_ridge`, and update a root of V, and number, mean and squared deviations of the rewards.");
  module.def("learn_fresh", &learn_fresh, "state"_a, "root"_a, "gram_root"_a, "ages"_a, "ageing_rate"_a, "x"_a, "y"_a,
             "origin"_a = nb::none(), "learning"_a = nb::none(), "link"_a = nb::none(),
             "Do as `learn_ridge`, and update the roots that fresh members are drawn from.");
  module.def("best_arm_of_member", &best_arm_of_member, "state"_a, "sums"_a, "factor"_a, "member"_a, "by_coordinate"_a,
             "Return the greedy arm of one member, the lowest index on ties.");
  module.def("member_theta", &member_theta, "state"_a, "sums"_a, "factor"_a, "member"_a, "Return theta of one member: [d].");
  module.def("member_thetas", &member_thetas, "state"_a, "sums"_a, "factor"_a, "Return theta of every member: [d, m].");
  module.def("vote", &vote, "state"_a, "sums"_a, "factor"_a, "by_coordinate"_a, "sizes"_a,
             "Return the greedy arm of every member: [m].");
  module.def("fresh_thetas", &fresh_thetas, "state"_a, "root"_a, "prior_age"_a, "initial"_a, "reward"_a, "w"_a, "g"_a,
             "Return theta of every draw: [m, d].");
  module.def("vote_fresh", &vote_fresh, "state"_a, "root"_a, "prior_age"_a, "initial"_a, "reward"_a, "w"_a, "g"_a,
             "by_coordinate"_a, "sizes"_a, "Return the greedy arm of every draw: [m].");
  module.def("shift_mean", &shift_mean, "state"_a, "total"_a, "Return theta_hat + V^-1 total: [d].");
  module.def("add_rows", &add_rows, "total"_a, "rows"_a, "weights"_a, "total += sum_i weights[i] rows[i], in order.");
  module.def("multiply", &multiply, "matrix"_a, "vector"_a, "Return the product of a symmetric matrix and a vector.");
  module.def("cholesky", &cholesky, "matrix"_a, "Return the upper triangular R with R'R = matrix; None if a pivot is not positive.");
  module.def("invert", &invert, "matrix"_a, "Return the inverse of a positive definite matrix; None if a pivot is not positive.");
}

}  // namespace ensample
