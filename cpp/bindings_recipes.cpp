#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings.hpp"

namespace ensample {
namespace {

MatrixStack<double> stack_of(const Array3<double>& array) { return {array.data, array.shape[0], array.shape[1]}; }

void require_stack(const Array3<double>& array, const char* name, std::size_t count, std::size_t d) {
  require(array.shape[0] == count && array.shape[1] == d && array.shape[2] == d, name, "[n, d, d] like the others");
}

void require_same_shape(const Array2<double>& array, const char* name, const Array2<double>& other) {
  require(array.shape[0] == other.shape[0] && array.shape[1] == other.shape[1], name, "the shape of the others");
}

std::size_t optimistic_arm(Array2<const double> inverse, Array1<const double> mean, Array2<const double> by_coordinate,
                           double beta) {
  const std::size_t d = mean.shape[0];
  require(d > 0, "mean", "at least one entry");
  require(inverse.shape[0] == d && inverse.shape[1] == d, "inverse", "[d, d] for d the length of `mean`");
  require(by_coordinate.shape[0] == d && by_coordinate.shape[1] > 0, "by_coordinate", "[d, K] with K > 0");
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
                                                      Array2<const double> by_coordinate, double radius, double floor) {
  const auto stages = stages_of(inverses, inverses, means, means, radius, floor);
  require(by_coordinate.shape[0] == means.shape[1] && by_coordinate.shape[1] > 0, "by_coordinate", "[d, K] with K > 0");
  StagedChoice choice;
  {
    KernelScope scope;
    choice = kernels->recipes.choose_staged(stages, view_of(by_coordinate));
  }
  return {choice.arm, choice.stage, choice.learns};
}

using Pair = std::tuple<std::size_t, std::size_t, double>;

Pair best_pair(Array1<const double> gaps, Array1<const double> gains, Array1<const double> means) {
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

Pair informed_pair(Array2<const double> thetas, Array2<const double> by_coordinate) {
  require(thetas.shape[0] > 0 && thetas.shape[1] > 0, "thetas", "[d, m] with d > 0 and m > 0");
  require(by_coordinate.shape[0] == thetas.shape[0] && by_coordinate.shape[1] > 0, "by_coordinate", "[d, K] with K > 0");
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

std::optional<std::int64_t> unplayed(Array1<const std::int64_t> basis, Array1<const std::int64_t> pulls, std::int64_t round) {
  require(round >= 0, "round", "a number that is not negative");
  const auto arms = static_cast<std::int64_t>(pulls.shape[0]);
  for (const auto arm : span_of(basis)) require(0 <= arm && arm < arms, "basis", "indices of `pulls`");
  // A few comparisons of integers: this keeps the GIL.
  const auto arm = kernels->recipes.unplayed(span_of(basis), span_of(pulls), round);
  return arm < 0 ? std::nullopt : std::optional(arm);
}

}  // namespace

void bind_recipes(nb::module_& module) {
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
