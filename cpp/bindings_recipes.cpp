#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"

namespace ensample {
namespace {

void require_stack(MatrixStack<double> stack, const char* name, std::size_t count, std::size_t d) {
  require(stack.count == count && stack.rows == d && stack.columns == d, name, "[n, d, d] like the others");
}

void require_same_shape(ConstMatrix matrix, const char* name, ConstMatrix other) {
  require(matrix.rows == other.rows && matrix.columns == other.columns, name, "the shape of the others");
}

std::size_t check_estimate(ConstMatrix inverse, ConstVector mean) {
  require(!mean.empty(), "mean", "at least one entry");
  require_square(inverse, mean.size(), "inverse");
  return mean.size();
}

std::size_t optimistic_arm(ConstMatrix inverse, ConstVector mean, ConstMatrix by_coordinate, double beta) {
  require_arms(by_coordinate, check_estimate(inverse, mean));
  return run(kernels->recipes.optimistic_arm, inverse, mean, by_coordinate, beta);
}

nb::object optimistic_theta(ConstMatrix inverse, ConstVector mean, ConstVector x, double beta) {
  const std::size_t d = check_estimate(inverse, mean);
  require(x.size() == d, "x", "as many numbers as `mean`");
  return new_vector(d, kernels->recipes.optimistic_theta, inverse, mean, x, beta);
}

Stages stages_of(MatrixStack<double> grams, MatrixStack<double> inverses, Matrix targets, Matrix means, double radius, double floor) {
  require(means.rows > 0 && means.columns > 0, "means", "at least one stage and one feature");
  require_same_shape(targets, "targets", means);
  require_stack(inverses, "inverses", means.rows, means.columns);
  require_stack(grams, "grams", means.rows, means.columns);
  return {grams, inverses, targets, means, radius, floor};
}

std::tuple<std::size_t, std::size_t, bool> staged_arm(MatrixStack<double> inverses, Matrix means, ConstMatrix by_coordinate,
                                                      double radius, double floor) {
  const auto stages = stages_of(inverses, inverses, means, means, radius, floor);
  require_arms(by_coordinate, means.columns);
  const StagedChoice choice = run(kernels->recipes.choose_staged, stages, by_coordinate);
  return {choice.arm, choice.stage, choice.learns};
}

using Pair = std::tuple<std::size_t, std::size_t, double>;

Pair best_pair(ConstVector gaps, ConstVector gains, ConstVector means) {
  require(!gaps.empty(), "gaps", "at least one arm");
  require(gains.size() == gaps.size(), "gains", "as many numbers as `gaps`");
  require(means.size() == gaps.size(), "means", "as many numbers as `gaps`");
  const ArmPair pair = run(kernels->recipes.best_pair, gaps, gains, means);
  return {pair.first, pair.second, pair.share};
}

Pair informed_pair(ConstMatrix thetas, ConstMatrix by_coordinate) {
  require(thetas.rows > 0 && thetas.columns > 0, "thetas", "[d, m] with d > 0 and m > 0");
  require_arms(by_coordinate, thetas.rows);
  const ArmPair pair = run(kernels->recipes.informed_pair, thetas, by_coordinate);
  return {pair.first, pair.second, pair.share};
}

void solve_replicates(MatrixStack<double> grams, Matrix targets, Matrix thetas) {
  require(targets.columns > 0, "targets", "at least one feature");
  require_stack(grams, "grams", targets.rows, targets.columns);
  require_same_shape(thetas, "thetas", targets);
  run(kernels->recipes.solve_replicates, Replicates{grams, targets}, thetas);
}

std::optional<std::int64_t> unplayed(ConstInts basis, ConstInts pulls, std::int64_t round) {
  require(round >= 0, "round", "a number that is not negative");
  const auto arms = static_cast<std::int64_t>(pulls.size());
  for (const auto arm : basis) require(0 <= arm && arm < arms, "basis", "indices of `pulls`");
  const auto arm = kernels->recipes.unplayed(basis, pulls, round);  // keeps the GIL: a few comparisons
  return arm < 0 ? std::nullopt : std::optional(arm);
}

void learn_optimist(Matrix state, Vector largest, ConstVector x, double y, std::optional<nb::tuple> learning, std::optional<std::int64_t> link) {
  const std::size_t d = dim_of_state(state);
  require(largest.size() == 1, "largest", "an array of 1 number");
  const auto observed = observation_of(x, y, {}, d, link);
  run(kernels->recipes.learn_optimist, state, largest[0], observed, learning_of(learning, d));
}

void learn_staged(Matrix state, MatrixStack<double> grams, MatrixStack<double> inverses, Matrix targets, Matrix means,
                  ConstMatrix by_coordinate, std::int64_t arm, ConstVector x, double y, double radius, double floor) {
  const std::size_t d = dim_of_state(state);
  require(means.columns == d, "means", "a column for each feature of the state");
  const auto stages = stages_of(grams, inverses, targets, means, radius, floor);
  require_arms(by_coordinate, d);
  require_arm(arm, by_coordinate.columns, -1);
  run(kernels->recipes.learn_staged, state, stages, by_coordinate, arm, observation_of(x, y, {}, d));
}

void learn_replicates(Matrix state, MatrixStack<double> grams, Matrix targets, Ints pulls, ConstMatrix weights, double pseudo,
                      std::int64_t arm, ConstVector x, double y) {
  const std::size_t d = dim_of_state(state);
  require(targets.columns == d, "targets", "a column for each feature of the state");
  require_stack(grams, "grams", targets.rows, d);
  require(weights.rows == targets.rows && weights.columns == 3, "weights", "three for each replicate");
  require_arm(arm, pulls.size(), 0);
  require_count(pulls, arm);
  const auto observed = observation_of(x, y, {}, d);
  run(kernels->recipes.learn_replicates, state, Replicates{grams, targets}, weights, pseudo, pulls[static_cast<std::size_t>(arm)],
      observed);
}

void require_directions(ConstMatrix directions, std::size_t size, std::size_t d) {
  require(directions.rows == 2 * size && directions.columns == d, "directions", "[2M, d] for M numbers beside it");
}

void learn_directions(Matrix state, Matrix directions, ConstVector x, double y, ConstVector z) {
  const std::size_t d = dim_of_state(state);
  require_directions(directions, z.size(), d);
  run(kernels->recipes.learn_directions, state, directions, z, observation_of(x, y, {}, d));
}

nb::object theta_of_directions(Matrix state, ConstMatrix directions, ConstVector weights) {
  const std::size_t d = dim_of_state(state);
  require_directions(directions, weights.size(), d);
  return new_vector(d, kernels->recipes.theta_of_directions, state, directions, weights);
}

void learn_pull(Matrix state, Ints pulls, std::int64_t arm, ConstVector x, double y) {
  const std::size_t d = dim_of_state(state);
  require_arm(arm, pulls.size(), -1);
  require_count(pulls, arm);
  run(kernels->recipes.learn_pull, state, pulls, arm, observation_of(x, y, {}, d));
}

nb::object theta_of_pseudo_rewards(Matrix state, ConstMatrix rows, ConstInts pulls, double a, double lam, Generator rng) {
  constexpr double max_trials = 1e18;
  constexpr auto max_pulls = static_cast<std::int64_t>(max_trials);
  const std::size_t d = dim_of_state(state);
  require(rows.columns == d, "rows", "a column for each feature of the state");
  require(pulls.size() == rows.rows, "pulls", "one number for each of `rows`");
  require(a > 0.0 && a <= 1e6, "a", "a number above 0, at most 1e6");
  for (const auto count : pulls)
    require(count >= 0 && count <= max_pulls && a * static_cast<double>(count) <= max_trials, "pulls", "counts of arms");
  return new_vector(d, kernels->recipes.theta_of_pseudo_rewards, state, rows, pulls, a, lam, rng);
}

}  // namespace

void bind_recipes(nb::module_& module) {
  module.def("learn_optimist", &learn_optimist, "state"_a, "largest"_a, "x"_a, "y"_a, "learning"_a = nb::none(), "link"_a = nb::none(),
             "Do as `learn_ridge`, and update the largest |theta_hat| so far.");
  module.def("learn_staged", &learn_staged, "state"_a, "grams"_a, "inverses"_a, "targets"_a, "means"_a,
             "by_coordinate"_a, "arm"_a, "x"_a, "y"_a, "radius"_a, "floor"_a,
             "Do as `learn_ridge`, and update the stage that learns from the observation.");
  module.def("learn_replicates", &learn_replicates, "state"_a, "grams"_a, "targets"_a, "pulls"_a, "weights"_a,
             "pseudo"_a, "arm"_a, "x"_a, "y"_a,
             "Do as `learn_ridge`, and update every replicate, with weights of its own [B, 3].");
  module.def("learn_directions", &learn_directions, "state"_a, "directions"_a, "x"_a, "y"_a, "z"_a,
             "Do as `learn_ridge`, and add x z' to the shared directions.");
  module.def("learn_pull", &learn_pull, "state"_a, "pulls"_a, "arm"_a, "x"_a, "y"_a,
             "Do as `learn_ridge`, and count the arm (-1: none).");
  module.def("optimistic_theta", &optimistic_theta, "inverse"_a, "mean"_a, "x"_a, "beta"_a,
             "Return theta_hat + beta V^-1 x / |x|_{V^-1}: [d].");
  module.def("theta_of_directions", &theta_of_directions, "state"_a, "directions"_a, "weights"_a,
             "Return theta_hat + V^-1 S weights, of the shared directions S: [d].");
  module.def("theta_of_pseudo_rewards", &theta_of_pseudo_rewards, "state"_a, "rows"_a, "pulls"_a, "a"_a, "lam"_a,
             "rng"_a, "Draw the pseudo-rewards of every arm and return the fit to them and the rewards: [d].");
  module.def("optimistic_arm", &optimistic_arm, "inverse"_a, "mean"_a, "by_coordinate"_a, "beta"_a,
             "Return argmax_k x_k'theta_hat + beta |x_k|_{V^-1}, the lowest index on ties. O(K d^2).");
  module.def("staged_arm", &staged_arm, "inverses"_a, "means"_a, "by_coordinate"_a, "radius"_a, "floor"_a,
             "Return SupLinUCB's arm, its stage, and whether the stage learns from it.");
  module.def("best_pair", &best_pair, "gaps"_a, "gains"_a, "means"_a,
             "Return two arms and the probability of the first that minimise (expected gap)^2 / expected gain.");
  module.def("informed_pair", &informed_pair, "thetas"_a, "by_coordinate"_a,
             "Return `best_pair` for members theta^j, the columns of `thetas`.");
  module.def("solve_replicates", &solve_replicates, "grams"_a, "targets"_a, "thetas"_a,
             "Write G^-1 b of every replicate; 0 where G is singular to working precision.");
  module.def("unplayed", &unplayed, "basis"_a, "pulls"_a, "round"_a,
             "Return the arm of the basis that is to be played first, in turn; None if all have been.");
}

}  // namespace ensample
