#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings_linear.hpp"

namespace ensample {
namespace {

using Floats1 = Array1<const double>;
using Floats2 = Array2<const double>;
using State = Array2<double>;

MatrixStack<double> stack_of(const Array3<double>& array) { return {array.data, array.shape[0], array.shape[1]}; }

void require_stack(const Array3<double>& array, const char* name, std::size_t count, std::size_t d) {
  require(array.shape[0] == count && array.shape[1] == d && array.shape[2] == d, name, "[n, d, d] like the others");
}

void require_same_shape(const Array2<double>& array, const char* name, const Array2<double>& other) {
  require(array.shape[0] == other.shape[0] && array.shape[1] == other.shape[1], name, "the shape of the others");
}

void check_arms(const Floats2& by_coordinate, std::size_t d) {
  require(by_coordinate.shape[0] == d && by_coordinate.shape[1] > 0, "by_coordinate", "features of arms, [d, K]");
}

void check_arm(std::int64_t arm, std::size_t arms, std::int64_t least) {
  require(arm >= least && arm < static_cast<std::int64_t>(arms), "arm",
          least < 0 ? "-1 or the number of an arm" : "the number of an arm");
}

std::size_t check_estimate(const Floats2& inverse, const Floats1& mean) {
  const std::size_t d = mean.shape[0];
  require(d > 0, "mean", "at least one entry");
  require(inverse.shape[0] == d && inverse.shape[1] == d, "inverse", "[d, d] for d the length of `mean`");
  return d;
}

std::size_t optimistic_arm(Floats2 inverse, Floats1 mean, Floats2 by_coordinate, double beta) {
  const std::size_t d = check_estimate(inverse, mean);
  check_arms(by_coordinate, d);
  KernelScope scope;
  return kernels->recipes.optimistic_arm(view_of(inverse), span_of(mean), view_of(by_coordinate), beta);
}

Stages stages_of(const Array3<double>& grams, const Array3<double>& inverses, const Array2<double>& targets,
                 const Array2<double>& means, double radius, double floor) {
  const std::size_t count = means.shape[0], d = means.shape[1];
  require(count > 0 && d > 0, "means", "at least one stage and one feature");
  require_same_shape(targets, "targets", means);
  require_stack(inverses, "inverses", count, d);
  require_stack(grams, "grams", count, d);
  return {stack_of(grams), stack_of(inverses), view_of(targets), view_of(means), radius, floor};
}

std::tuple<std::size_t, std::size_t, bool> staged_arm(Array3<double> inverses, Array2<double> means,
                                                      Floats2 by_coordinate, double radius, double floor) {
  const auto stages = stages_of(inverses, inverses, means, means, radius, floor);
  check_arms(by_coordinate, means.shape[1]);
  StagedChoice choice;
  {
    KernelScope scope;
    choice = kernels->recipes.choose_staged(stages, view_of(by_coordinate));
  }
  return {choice.arm, choice.stage, choice.learns};
}

using Pair = std::tuple<std::size_t, std::size_t, double>;

Pair best_pair(Floats1 gaps, Floats1 gains, Floats1 means) {
  require(gaps.shape[0] > 0, "gaps", "at least one arm");
  require(gains.shape[0] == gaps.shape[0], "gains", "as many numbers as `gaps`");
  require(means.shape[0] == gaps.shape[0], "means", "as many numbers as `gaps`");
  ArmPair pair;
  {
    KernelScope scope;
    pair = kernels->recipes.best_pair(span_of(gaps), span_of(gains), span_of(means));
  }
  return {pair.first, pair.second, pair.share};
}

Pair informed_pair(Floats2 thetas, Floats2 by_coordinate) {
  require(thetas.shape[0] > 0 && thetas.shape[1] > 0, "thetas", "[d, m] with d > 0 and m > 0");
  check_arms(by_coordinate, thetas.shape[0]);
  ArmPair pair;
  {
    KernelScope scope;
    pair = kernels->recipes.informed_pair(view_of(thetas), view_of(by_coordinate));
  }
  return {pair.first, pair.second, pair.share};
}

void solve_replicates(Array3<double> grams, Array2<double> targets, Array2<double> thetas) {
  require(targets.shape[1] > 0, "targets", "at least one feature");
  require_stack(grams, "grams", targets.shape[0], targets.shape[1]);
  require_same_shape(thetas, "thetas", targets);
  KernelScope scope;
  kernels->recipes.solve_replicates({stack_of(grams), view_of(targets)}, view_of(thetas));
}

std::optional<std::int64_t> unplayed(Array1<const std::int64_t> basis, Array1<const std::int64_t> pulls,
                                     std::int64_t round) {
  require(round >= 0, "round", "a number that is not negative");
  const auto arms = static_cast<std::int64_t>(pulls.shape[0]);
  for (const auto arm : span_of(basis)) require(0 <= arm && arm < arms, "basis", "indices of `pulls`");
  // A few comparisons of integers: this keeps the GIL.
  const auto arm = kernels->recipes.unplayed(span_of(basis), span_of(pulls), round);
  return arm < 0 ? std::nullopt : std::optional(arm);
}

void learn_optimist(State state, Array1<double> largest, Floats1 x, double y, std::optional<Array2<double>> scales,
                    double strength, bool sizes_given, bool intercept,
                    std::optional<std::int64_t> link) {
  const std::size_t d = dim_of_state(state);
  require(largest.shape[0] == 1, "largest", "an array of 1 number");
  const auto observed = observation_of(x, y, {}, d, link);
  const auto learning = learning_of(scales, d, strength, sizes_given, intercept);
  KernelScope scope;
  kernels->recipes.learn_optimist(view_of(state), largest.data[0], observed, learning);
}

void learn_staged(State state, Array3<double> grams, Array3<double> inverses, Array2<double> targets,
                  Array2<double> means, Floats2 by_coordinate, std::int64_t arm, Floats1 x, double y, double radius,
                  double floor) {
  const std::size_t d = dim_of_state(state);
  require(means.shape[1] == d, "means", "a column for each feature of the state");
  const auto stages = stages_of(grams, inverses, targets, means, radius, floor);
  check_arms(by_coordinate, d);
  check_arm(arm, by_coordinate.shape[1], -1);
  const auto observed = observation_of(x, y, {}, d);
  KernelScope scope;
  kernels->recipes.learn_staged(view_of(state), stages, view_of(by_coordinate), arm, observed);
}

void learn_replicates(State state, Array3<double> grams, Array2<double> targets, Array1<std::int64_t> pulls,
                      Floats2 weights, double pseudo, std::int64_t arm, Floats1 x, double y) {
  const std::size_t d = dim_of_state(state);
  require(targets.shape[1] == d, "targets", "a column for each feature of the state");
  require_stack(grams, "grams", targets.shape[0], d);
  require(weights.shape[0] == targets.shape[0] && weights.shape[1] == 3, "weights", "three for each replicate");
  check_arm(arm, pulls.shape[0], 0);
  require_count(pulls, arm);
  const auto observed = observation_of(x, y, {}, d);
  KernelScope scope;
  kernels->recipes.learn_replicates(view_of(state), {stack_of(grams), view_of(targets)}, view_of(weights), pseudo,
                                    pulls.data[arm], observed);
}

void require_directions(const Floats2& directions, std::size_t size, std::size_t d) {
  require(directions.shape[0] == 2 * size && directions.shape[1] == d, "directions", "[2M, d] for M numbers beside it");
}

void learn_directions(State state, Array2<double> directions, Floats1 x, double y, Floats1 z) {
  const std::size_t d = dim_of_state(state);
  require_directions({directions.data, {directions.shape[0], directions.shape[1]}}, z.shape[0], d);
  const auto observed = observation_of(x, y, {}, d);
  KernelScope scope;
  kernels->recipes.learn_directions(view_of(state), view_of(directions), span_of(z), observed);
}

void learn_pull(State state, Array1<std::int64_t> pulls, std::int64_t arm, Floats1 x, double y) {
  const std::size_t d = dim_of_state(state);
  check_arm(arm, pulls.shape[0], -1);
  require_count(pulls, arm);
  const auto observed = observation_of(x, y, {}, d);
  KernelScope scope;
  kernels->recipes.learn_pull(view_of(state), span_of(pulls), arm, observed);
}

nb::object optimistic_theta(Floats2 inverse, Floats1 mean, Floats1 x, double beta) {
  const std::size_t d = check_estimate(inverse, mean);
  require(x.shape[0] == d, "x", "as many numbers as `mean`");
  NewArray<double, 1> theta(d);
  {
    KernelScope scope;
    kernels->recipes.optimistic_theta(view_of(inverse), span_of(mean), span_of(x), beta, span_of(theta.view));
  }
  return theta.object;
}

nb::object theta_of_directions(State state, Floats2 directions, Floats1 weights) {
  const std::size_t d = dim_of_state(state);
  require_directions(directions, weights.shape[0], d);
  NewArray<double, 1> theta(d);
  {
    KernelScope scope;
    kernels->recipes.theta_of_directions(view_of(state), view_of(directions), span_of(weights), span_of(theta.view));
  }
  return theta.object;
}

nb::object theta_of_pseudo_rewards(State state, Floats2 rows, Array1<const std::int64_t> pulls, double a, double lam,
                                   nb::handle rng) {
  constexpr double most_tosses = 1e18;
  constexpr auto most_pulls = static_cast<std::int64_t>(most_tosses);
  const std::size_t d = dim_of_state(state);
  require(rows.shape[1] == d, "rows", "a column for each feature of the state");
  require(pulls.shape[0] == rows.shape[0], "pulls", "one number for each of `rows`");
  require(a > 0.0 && a <= 1e6, "a", "a number above 0, at most 1e6");
  for (const auto count : span_of(pulls))
    require(count >= 0 && count <= most_pulls && a * static_cast<double>(count) <= most_tosses, "pulls", "counts of arms");
  const Generator generator = generator_of(rng);
  require(generator.bits != nullptr, "rng", "a numpy.random.Generator");
  NewArray<double, 1> theta(d);
  {
    KernelScope scope;
    kernels->recipes.theta_of_pseudo_rewards(view_of(state), view_of(rows), span_of(pulls), a, lam, generator,
                                             span_of(theta.view));
  }
  return theta.object;
}

}  // namespace

void bind_recipes(nb::module_& module) {
  module.def("learn_optimist", &learn_optimist, "state"_a, "largest"_a, "x"_a, "y"_a, "scales"_a = nb::none(),
             "strength"_a = 0.0, "sizes_given"_a = false, "intercept"_a = false, "link"_a = nb::none(),
             "`learn_ridge`, keeping the largest |theta_hat| so far.");
  module.def("learn_staged", &learn_staged, "state"_a, "grams"_a, "inverses"_a, "targets"_a, "means"_a,
             "by_coordinate"_a, "arm"_a, "x"_a, "y"_a, "radius"_a, "floor"_a,
             "Take in an observation, and give it to the stage that asks for it.");
  module.def("learn_replicates", &learn_replicates, "state"_a, "grams"_a, "targets"_a, "pulls"_a, "weights"_a,
             "pseudo"_a, "arm"_a, "x"_a, "y"_a,
             "Take in an observation, and give it to every replicate with weights of its own [B, 3].");
  module.def("learn_directions", &learn_directions, "state"_a, "directions"_a, "x"_a, "y"_a, "z"_a,
             "Take in an observation, and add x z' to the shared directions.");
  module.def("learn_pull", &learn_pull, "state"_a, "pulls"_a, "arm"_a, "x"_a, "y"_a,
             "Take in an observation, and count its arm (-1: none).");
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
