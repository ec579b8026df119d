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
  bind(module, "learn_ridge", learn_ridge, {state, x, y, learning, "link"},
       "Learn an observation, calibrate where that is due, and recompute what is stale.");
  bind(module, "learn_members", learn_members,
       {state,
        sums,
        "x",
        y,
        {"z", "[m]"},
        {"fresh", "[d, m]"},
        {"origin", "[1]"},
        root,
        learning,
        "link"},
       "Do as `learn_ridge`, perturb member j by x z[j], and update a root of sum x x' if one is "
       "given.");
  bind(module, "learn_history", &Kernels::learn_history,
       {state, root, pulls, arm_or_none, x, y, learning},
       "Do as `learn_ridge`, and update an upper triangular root of sum x x' and pull counts (arm "
       "-1: none).");
  bind(module, "learn_rooted", learn_rooted, {state, root, {"rooted", "[d]"}, x, y, "link"},
       "Do as `learn_ridge`, and update a root of sum f f': f is `rooted` or, if that is None, "
       "what is learned of x.");
  bind(module, "learn_posterior", &Kernels::learn_posterior,
       {state, root, {"rewards", "[3]"}, x, y},
       "Do as `learn_ridge`, and update a root of V, and number, mean and squared deviations of "
       "the rewards.");
  bind(module, "learn_fresh", learn_fresh,
       {state,
        root,
        {"gram_root", "[d|0, d]"},
        {"ages", "[2]"},
        "ageing_rate",
        "x",
        y,
        {"origin", "[1]"},
        learning,
        "link"},
       "Do as `learn_ridge`, and update the roots that fresh members are drawn from.");
  bind(module, "best_arm_of_member", &Kernels::best_arm_of_member,
       {state, sums, "factor", {"member", "0..m"}, {"by_coordinate", "[d|d-1, K]"}},
       "Return the greedy arm of one member, the lowest index on ties.");
  bind(module, "member_theta", &Kernels::member_theta, {state, sums, "factor", {"member", "0..m"}},
       "[d]", "Return theta of one member: [d].");
  bind(module, "member_thetas", &Kernels::member_thetas, {state, sums, "factor"}, "[d, m]",
       "Return theta of every member: [d, m].");
  bind(module, "vote", &Kernels::vote, {state, sums, "factor", offer, sizes}, "[m]",
       "Return the greedy arm of every member: [m].");
  bind(module, "fresh_thetas", fresh_thetas,
       {state, root, "prior_age", "initial", "reward", {"w", "[m, d]"}, {"g", "[m, d]"}}, "[m, d]",
       "Return theta of every draw: [m, d].");
  bind(module, "vote_fresh", vote_fresh,
       {state,
        root,
        "prior_age",
        "initial",
        "reward",
        {"w", "[m, d]"},
        {"g", "[m, d]"},
        offer,
        sizes},
       "[m]", "Return the greedy arm of every draw: [m].");
  bind(module, "shift_mean", &Kernels::shift_mean, {state, {"total", "[d]"}}, "[d]",
       "Return theta_hat + V^-1 total: [d].");
  bind(module, "add_rows", &Kernels::add_rows,
       {{"total", "[d*]"}, {"rows", "[n*, d*]"}, {"weights", "[n*]"}},
       "total += sum_i weights[i] rows[i], in order.");
  bind(module, "multiply", &Kernels::multiply, {{"matrix", "[d, d]"}, {"vector", "[d]"}}, "[d]",
       "Return the product of a symmetric matrix and a vector.");
  bind(module, "cholesky", &Kernels::cholesky, {{"matrix", "[d, d]"}}, "[d, d]",
       "Return the upper triangular R with R'R = matrix; None if a pivot is not positive.");
  bind(module, "invert", &Kernels::invert, {{"matrix", "[d, d]"}}, "[d, d]",
       "Return the inverse of a positive definite matrix; None if a pivot is not positive.");
}

void bind_recipes(nb::module_& module) {
  constexpr Parameter inverses{"inverses", "[S, d, d]"}, targets{"targets", "[S, d]"},
      means{"means", "[S, d]"};
  constexpr Parameter basis{"basis", "[n*]"}, gains{"gains", "[K]"};
  bind(module, "learn_optimist", learn_optimist,
       {state, {"largest", "[1]"}, x, y, learning, "link"},
       "Do as `learn_ridge`, and update the largest |theta_hat| so far.");
  bind(module, "learn_staged", learn_staged,
       {state, grams, inverses, targets, means, offer, arm_or_none, x, y, "radius", "floor"},
       "Do as `learn_ridge`, and update the stage that learns from the observation.");
  bind(module, "learn_replicates", &Kernels::learn_replicates,
       {state, grams, targets, pulls, {"weights", "[S, 3]"}, "pseudo", {"arm", "0..K"}, x, y},
       "Do as `learn_ridge`, and update every replicate, with weights of its own [B, 3].");
  bind(module, "learn_directions", &Kernels::learn_directions,
       {state, directions, x, y, {"z", "[M*]"}},
       "Do as `learn_ridge`, and add x z' to the shared directions.");
  bind(module, "learn_pull", &Kernels::learn_pull, {state, pulls, arm_or_none, x, y},
       "Do as `learn_ridge`, and count the arm (-1: none).");
  bind(module, "optimistic_theta", &Kernels::optimistic_theta, {inverse, mean, x, "beta"}, "[d]",
       "Return theta_hat + beta V^-1 x / |x|_{V^-1}: [d].");
  bind(module, "theta_of_directions", &Kernels::theta_of_directions,
       {state, directions, {"weights", "[M*]"}}, "[d]",
       "Return theta_hat + V^-1 S weights, of the shared directions S: [d].");
  bind(module, "theta_of_pseudo_rewards", theta_of_pseudo_rewards,
       {state, {"rows", "[K*, d]"}, pulls, "a", "lam", "rng"}, "[d]",
       "Draw the pseudo-rewards of every arm and return the fit to them and the rewards: [d].");
  bind(module, "optimistic_arm", &Kernels::optimistic_arm, {inverse, mean, offer, "beta"},
       "Return argmax_k x_k'theta_hat + beta |x_k|_{V^-1}, the lowest index on ties. O(K d^2).");
  bind(module, "staged_arm", staged_arm, {inverses, means, offer, "radius", "floor"},
       "Return SupLinUCB's arm, its stage, and whether the stage learns from it.");
  bind(module, "best_pair", best_pair, {{"gaps", "[K]"}, gains, {"means", "[K]"}},
       "Return two arms and the probability of the first that minimise (expected gap)^2 / expected "
       "gain.");
  bind(module, "informed_pair", informed_pair, {{"thetas", "[d, m]"}, offer},
       "Return `best_pair` for members theta^j, the columns of `thetas`.");
  bind(module, "solve_replicates", &Kernels::solve_replicates,
       {grams, targets, {"thetas", "[S, d]"}},
       "Write G^-1 b of every replicate; 0 where G is singular to working precision.");
  bind(module, "unplayed", unplayed, {basis, pulls, "round"},
       "Return the arm of the basis that is to be played first, in turn; None if all have been.");
}

}  // namespace

void bind_linear(nb::module_& module) {
  bind_members(module);
  bind_recipes(module);
}

}  // namespace ensample
