// Linear models and other linear recipes.
#include <nanobind/stl/tuple.h>

#include "bindings.hpp"

namespace ensample {
namespace {

using OptionalMatrix = std::optional<Matrix>;
using OptionalOrigin = std::optional<Vector>;

// Shapes that many functions share.
constexpr Parameter state{"state", "[3d+9|3d+11, d]"};  // a ridge regression (ridge_state.hpp)
constexpr Parameter sums{"sums", "[2d|3d, m]"}, offer{"by_coordinate", "[d, K]"},
    sizes{"sizes", "[d]"};
constexpr Parameter x{"x", "[d]"}, y{"y"}, root{"root", "[d, d]"}, learning{"learning", "[6, d]"};
constexpr Parameter inverse{"inverse", "[d, d]"}, mean{"mean", "[d]"}, grams{"grams", "[S, d, d]"};
constexpr Parameter z{"z", "[m]"}, fresh{"fresh", "[d, m]"}, w{"w", "[m, d]"}, g{"g", "[m, d]"},
    origin{"origin", "[1]"}, member{"member", "0..m"}, gram_root{"gram_root", "[d|0, d]"},
    ages{"ages", "[2]"};
constexpr Parameter pulls{"pulls", "[K*]"}, arm_or_none{"arm", "-1..K"},
    directions{"directions", "[2M, d]"};

/// An observation; with an `origin` [1] the state has a constant feature more.
Observation observed(ConstMatrix state, ConstVector x, double y, OptionalOrigin origin, Link link) {
  require(x.size() + (origin ? 1 : 0) == state.columns, "x",
          "one number for each feature of the state");
  require(!origin || link == Link::identity, "link", "None where there is an origin");
  return {x, y, origin.value_or(Vector{}), link};
}

void learn_ridge(Matrix state, ConstVector x, double y, ScaleLearning learning, Link link) {
  kernels->learn_ridge(state, {x, y, {}, link}, learning);
}

void learn_members(Matrix state, Matrix sums, ConstVector x, double y, ConstVector z,
                   std::optional<ConstMatrix> fresh, OptionalOrigin origin, OptionalMatrix root,
                   ScaleLearning learning, Link link) {
  require(fresh || state.rows == 3 * state.columns + 9, "fresh", "[d, m] where the past fades");
  kernels->learn_members(state, sums, z, fresh.value_or(ConstMatrix{}), root.value_or(Matrix{}),
                         observed(state, x, y, origin, link), learning);
}

void learn_rooted(Matrix state, Matrix root, std::optional<ConstVector> rooted, ConstVector x,
                  double y, Link link) {
  kernels->learn_rooted(state, root, rooted.value_or(ConstVector{}), {x, y, {}, link});
}

void learn_fresh(Matrix state, Matrix root, Matrix gram_root, Vector ages, double ageing_rate,
                 ConstVector x, double y, OptionalOrigin origin, ScaleLearning learning,
                 Link link) {
  kernels->learn_fresh(state, root, gram_root, ages, ageing_rate,
                       observed(state, x, y, origin, link), learning);
}

void fresh_thetas(Matrix state, ConstMatrix root, double prior_age, double initial, double reward,
                  ConstMatrix w, ConstMatrix g, Matrix thetas) {
  kernels->fresh_thetas(state, {root, prior_age, initial, reward, w, g}, thetas);
}

void vote_fresh(Matrix state, ConstMatrix root, double prior_age, double initial, double reward,
                ConstMatrix w, ConstMatrix g, ConstMatrix by_coordinate, ConstVector sizes,
                Ints chosen) {
  kernels->vote_fresh(state, {root, prior_age, initial, reward, w, g}, by_coordinate, sizes,
                      chosen);
}

void learn_optimist(Matrix state, Vector largest, ConstVector x, double y, ScaleLearning learning,
                    Link link) {
  kernels->learn_optimist(state, largest, {x, y, {}, link}, learning);
}

using Stack = MatrixStack<double>;

void learn_staged(Matrix state, Stack grams, Stack inverses, Matrix targets, Matrix means,
                  ConstMatrix by_coordinate, Int arm, ConstVector x, double y, double radius,
                  double floor) {
  kernels->learn_staged(state, {grams, inverses, targets, means, radius, floor}, by_coordinate, arm,
                        x, y);
}

std::tuple<Index, Index, bool> staged_arm(Stack inverses, Matrix means, ConstMatrix by_coordinate,
                                          double radius, double floor) {
  const auto choice =
      kernels->choose_staged({inverses, inverses, means, means, radius, floor}, by_coordinate);
  return {choice.arm, choice.stage, choice.learns};
}

using Pair = std::tuple<Index, Index, double>;

Pair best_pair(ConstVector gaps, ConstVector gains, ConstVector means) {
  const ArmPair pair = kernels->best_pair(gaps, gains, means);
  return {pair.first, pair.second, pair.share};
}

Pair informed_pair(ConstMatrix thetas, ConstMatrix by_coordinate) {
  const ArmPair pair = kernels->informed_pair(thetas, by_coordinate);
  return {pair.first, pair.second, pair.share};
}

std::optional<Int> unplayed(ConstInts basis, ConstInts pulls, Int round) {
  const auto arms = Int(pulls.size());
  for (const auto arm : basis) require(0 <= arm && arm < arms, "basis", "indices of `pulls`");
  require(round >= 0, "round", "a number that is not negative");
  const auto arm = kernels->unplayed(basis, pulls, round);
  return arm < 0 ? std::nullopt : std::optional(arm);
}

void theta_of_pseudo_rewards(Matrix state, ConstMatrix rows, ConstInts pulls, double a, double lam,
                             Generator rng, Vector theta) {
  constexpr double max_trials = 1e18;
  require(a > 0.0 && a <= 1e6, "a", "a number above 0, at most 1e6");
  for (const auto count : pulls) {
    const bool is_count = count >= 0 && double(count) < max_trials;
    require(is_count && a * double(count) <= max_trials, "pulls", "counts of arms");
  }
  kernels->theta_of_pseudo_rewards(state, rows, pulls, a, lam, rng, theta);
}

void bind_members(nb::module_& module) {
  bind(module, "learn_ridge", learn_ridge, {state, x, y, learning, "link"});
  bind(module, "learn_members", learn_members,
       {state, sums, "x", y, z, fresh, origin, root, learning, "link"});
  bind(module, "learn_history", &Kernels::learn_history,
       {state, root, pulls, arm_or_none, x, y, learning});
  bind(module, "learn_rooted", learn_rooted, {state, root, {"rooted", "[d]"}, x, y, "link"});
  bind(module, "learn_posterior", &Kernels::learn_posterior,
       {state, root, {"rewards", "[3]"}, x, y});
  bind(module, "learn_fresh", learn_fresh,
       {state, root, gram_root, ages, "ageing_rate", "x", y, origin, learning, "link"});
  bind(module, "best_arm_of_member", &Kernels::best_arm_of_member,
       {state, sums, "factor", member, {"by_coordinate", "[d|d-1, K]"}});
  bind(module, "member_theta", &Kernels::member_theta, {state, sums, "factor", member}, "[d]");
  bind(module, "member_thetas", &Kernels::member_thetas, {state, sums, "factor"}, "[d, m]");
  bind(module, "vote", &Kernels::vote, {state, sums, "factor", offer, sizes}, "[m]");
  bind(module, "fresh_thetas", fresh_thetas, {state, root, "prior_age", "initial", "reward", w, g},
       "[m, d]");
  bind(module, "vote_fresh", vote_fresh,
       {state, root, "prior_age", "initial", "reward", w, g, offer, sizes}, "[m]");
  bind(module, "shift_mean", &Kernels::shift_mean, {state, {"total", "[d]"}}, "[d]");
  bind(module, "add_rows", &Kernels::add_rows,
       {{"total", "[d*]"}, {"rows", "[n*, d*]"}, {"weights", "[n*]"}});
  bind(module, "multiply", &Kernels::multiply, {{"matrix", "[d, d]"}, {"vector", "[d]"}}, "[d]");
  bind(module, "cholesky", &Kernels::cholesky, {{"matrix", "[d, d]"}}, "[d, d]");
  bind(module, "invert", &Kernels::invert, {{"matrix", "[d, d]"}}, "[d, d]");
}

void bind_recipes(nb::module_& module) {
  constexpr Parameter inverses{"inverses", "[S, d, d]"}, targets{"targets", "[S, d]"},
      means{"means", "[S, d]"};
  constexpr Parameter basis{"basis", "[n*]"}, gains{"gains", "[K]"};
  bind(module, "learn_optimist", learn_optimist,
       {state, {"largest", "[1]"}, x, y, learning, "link"});
  bind(module, "learn_staged", learn_staged,
       {state, grams, inverses, targets, means, offer, arm_or_none, x, y, "radius", "floor"});
  bind(module, "learn_replicates", &Kernels::learn_replicates,
       {state, grams, targets, pulls, {"weights", "[S, 3]"}, "pseudo", {"arm", "0..K"}, x, y});
  bind(module, "learn_directions", &Kernels::learn_directions,
       {state, directions, x, y, {"z", "[M*]"}});
  bind(module, "learn_pull", &Kernels::learn_pull, {state, pulls, arm_or_none, x, y});
  bind(module, "optimistic_theta", &Kernels::optimistic_theta, {inverse, mean, x, "beta"}, "[d]");
  bind(module, "theta_of_directions", &Kernels::theta_of_directions,
       {state, directions, {"weights", "[M*]"}}, "[d]");
  bind(module, "theta_of_pseudo_rewards", theta_of_pseudo_rewards,
       {state, {"rows", "[K*, d]"}, pulls, "a", "lam", "rng"}, "[d]");
  bind(module, "optimistic_arm", &Kernels::optimistic_arm, {inverse, mean, offer, "beta"});
  bind(module, "staged_arm", staged_arm, {inverses, means, offer, "radius", "floor"});
  bind(module, "best_pair", best_pair, {{"gaps", "[K]"}, gains, {"means", "[K]"}});
  bind(module, "informed_pair", informed_pair, {{"thetas", "[d, m]"}, offer});
  bind(module, "solve_replicates", &Kernels::solve_replicates,
       {grams, targets, {"thetas", "[S, d]"}});
  bind(module, "unplayed", unplayed, {basis, pulls, "round"});
}

}  // namespace

void bind_linear(nb::module_& module) {
  bind_members(module);
  bind_recipes(module);
}

}  // namespace ensample
