#include "bindings_linear.hpp"

namespace ensample {
namespace {

using Floats1 = Array1<const double>;
using Floats2 = Array2<const double>;
using State = Array2<double>;
using LinkCode = std::optional<std::int64_t>;
using OptionalScales = std::optional<Array2<double>>;
using OptionalOrigin = std::optional<Array1<double>>;

void check_square(const Array2<double>& matrix, std::size_t d, const char* name) {
  require(matrix.shape[0] == d && matrix.shape[1] == d, name, "[d, d]");
}

void learn_ridge(State state, Floats1 x, double y, OptionalScales scales, double strength, bool sizes_given, bool intercept,
                 LinkCode link) {
  const std::size_t d = dim_of_state(state);
  const auto observed = observation_of(x, y, {}, d, link);
  const auto learning = learning_of(scales, d, strength, sizes_given, intercept);
  KernelScope scope;
  kernels->linear.learn_ridge(view_of(state), observed, learning);
}

/// Return the number of members.
std::size_t check_sums(const Floats2& sums, std::size_t d) {
  require((sums.shape[0] == 2 * d || sums.shape[0] == 3 * d) && sums.shape[1] > 0, "sums", "[2d, m] or [3d, m]");
  return sums.shape[1];
}

void learn_members(State state, Array2<double> sums, Floats1 x, double y, Floats1 z, std::optional<Floats2> fresh,
                   OptionalOrigin origin, std::optional<Array2<double>> root, OptionalScales scales, double strength,
                   bool sizes_given, bool intercept, LinkCode link) {
  const std::size_t d = dim_of_state(state), m = check_sums({sums.data, {sums.shape[0], sums.shape[1]}}, d);
  require(z.shape[0] == m, "z", "one number for each member");
  if (fades(state)) require(fresh && fresh->shape[0] == d && fresh->shape[1] == m, "fresh", "[d, m] where the past fades");
  if (root) check_square(*root, d, "root");
  const auto observed = observation_of(x, y, origin, d, link);
  const auto learning = learning_of(scales, d, strength, sizes_given, intercept);
  KernelScope scope;
  kernels->linear.learn_members(view_of(state), view_of(sums), span_of(z), fresh ? view_of(*fresh) : ConstMatrix{},
                                root ? view_of(*root) : Matrix{}, observed, learning);
}

void learn_history(State state, Array2<double> root, Array1<std::int64_t> pulls, std::int64_t arm, Floats1 x, double y,
                   OptionalScales scales, double strength, bool sizes_given, bool intercept) {
  const std::size_t d = dim_of_state(state);
  check_square(root, d, "root");
  require(arm >= -1 && arm < static_cast<std::int64_t>(pulls.shape[0]), "arm", "-1 or the number of an arm in `pulls`");
  require_count(pulls, arm);
  const auto observed = observation_of(x, y, {}, d);
  const auto learning = learning_of(scales, d, strength, sizes_given, intercept);
  KernelScope scope;
  kernels->linear.learn_history(view_of(state), view_of(root), span_of(pulls), arm, observed, learning);
}

void learn_rooted(State state, Array2<double> root, std::optional<Floats1> rooted, Floats1 x, double y, LinkCode link) {
  const std::size_t d = dim_of_state(state);
  check_square(root, d, "root");
  require(!rooted || rooted->shape[0] == d, "rooted", "None or one number for each feature of the state");
  const auto observed = observation_of(x, y, {}, d, link);
  KernelScope scope;
  kernels->linear.learn_rooted(view_of(state), view_of(root), rooted ? span_of(*rooted) : ConstVector{}, observed);
}

void learn_posterior(State state, Array2<double> root, Array1<double> rewards, Floats1 x, double y) {
  const std::size_t d = dim_of_state(state);
  check_square(root, d, "root");
  require(rewards.shape[0] == 3, "rewards", "3 numbers");
  const auto observed = observation_of(x, y, {}, d);
  KernelScope scope;
  kernels->linear.learn_posterior(view_of(state), view_of(root), span_of(rewards), observed);
}

void learn_fresh(State state, Array2<double> root, Array2<double> gram_root, Array1<double> ages, double ageing_rate, Floats1 x,
                 double y, OptionalOrigin origin, OptionalScales scales, double strength, bool sizes_given, bool intercept,
                 LinkCode link) {
  const std::size_t d = dim_of_state(state);
  check_square(root, d, "root");
  require((gram_root.shape[0] == 0 || gram_root.shape[0] == d) && gram_root.shape[1] == d, "gram_root", "[d, d] or [0, d]");
  require(ages.shape[0] == 2, "ages", "2 numbers");
  const auto observed = observation_of(x, y, origin, d, link);
  const auto learning = learning_of(scales, d, strength, sizes_given, intercept);
  KernelScope scope;
  kernels->linear.learn_fresh(view_of(state), view_of(root), view_of(gram_root), span_of(ages), ageing_rate, observed, learning);
}

void check_member(std::int64_t member, std::size_t m) {
  require(member >= 0 && member < static_cast<std::int64_t>(m), "member", "the number of a member");
}

void check_arms(const Floats2& by_coordinate, std::size_t d) {
  require(by_coordinate.shape[0] == d && by_coordinate.shape[1] > 0, "by_coordinate", "features of arms, [d, K]");
}

std::size_t best_arm_of_member(State state, Floats2 sums, double factor, std::int64_t member, Floats2 by_coordinate) {
  const std::size_t d = dim_of_state(state);
  check_member(member, check_sums(sums, d));
  check_arms(by_coordinate, by_coordinate.shape[0] + 1 == d ? d - 1 : d);
  KernelScope scope;
  return kernels->linear.best_arm_of_member(view_of(state), view_of(sums), factor, static_cast<std::size_t>(member),
                                            view_of(by_coordinate));
}

nb::object member_theta(State state, Floats2 sums, double factor, std::int64_t member) {
  const std::size_t d = dim_of_state(state);
  check_member(member, check_sums(sums, d));
  NewArray<double, 1> theta(d);
  {
    KernelScope scope;
    kernels->linear.member_theta(view_of(state), view_of(sums), factor, static_cast<std::size_t>(member), span_of(theta.view));
  }
  return theta.object;
}

nb::object member_thetas(State state, Floats2 sums, double factor) {
  const std::size_t d = dim_of_state(state);
  NewArray<double, 2> thetas(d, check_sums(sums, d));
  {
    KernelScope scope;
    kernels->linear.member_thetas(view_of(state), view_of(sums), factor, view_of(thetas.view));
  }
  return thetas.object;
}

nb::object vote(State state, Floats2 sums, double factor, Floats2 by_coordinate, Floats1 sizes) {
  const std::size_t d = dim_of_state(state);
  NewArray<std::int64_t, 1> chosen(check_sums(sums, d));
  check_arms(by_coordinate, d);
  require(sizes.shape[0] == d, "sizes", "one number for each feature");
  {
    KernelScope scope;
    kernels->linear.vote(view_of(state), view_of(sums), factor, view_of(by_coordinate), span_of(sizes), span_of(chosen.view));
  }
  return chosen.object;
}

FreshDraws draws_of(std::size_t d, const Floats2& root, double prior_age, double initial, double reward, const Floats2& w,
                    const Floats2& g) {
  require(root.shape[0] == d && root.shape[1] == d, "root", "[d, d]");
  require(w.shape[0] > 0 && w.shape[1] == d, "w", "[m, d]");
  require(g.shape[0] == w.shape[0] && g.shape[1] == d, "g", "[m, d], as `w`");
  return {view_of(root), prior_age, initial, reward, view_of(w), view_of(g)};
}

nb::object fresh_thetas(State state, Floats2 root, double prior_age, double initial, double reward, Floats2 w, Floats2 g) {
  const std::size_t d = dim_of_state(state);
  const auto draws = draws_of(d, root, prior_age, initial, reward, w, g);
  NewArray<double, 2> thetas(w.shape[0], d);
  {
    KernelScope scope;
    kernels->linear.fresh_thetas(view_of(state), draws, view_of(thetas.view));
  }
  return thetas.object;
}

nb::object vote_fresh(State state, Floats2 root, double prior_age, double initial, double reward, Floats2 w, Floats2 g,
                      Floats2 by_coordinate, Floats1 sizes) {
  const std::size_t d = dim_of_state(state);
  const auto draws = draws_of(d, root, prior_age, initial, reward, w, g);
  check_arms(by_coordinate, d);
  require(sizes.shape[0] == d, "sizes", "one number for each feature");
  NewArray<std::int64_t, 1> chosen(w.shape[0]);
  {
    KernelScope scope;
    kernels->linear.vote_fresh(view_of(state), draws, view_of(by_coordinate), span_of(sizes), span_of(chosen.view));
  }
  return chosen.object;
}

nb::object shift_mean(State state, Floats1 total) {
  const std::size_t d = dim_of_state(state);
  require(total.shape[0] == d, "total", "one number for each feature of the state");
  NewArray<double, 1> theta(d);
  {
    KernelScope scope;
    kernels->linear.shift_mean(view_of(state), span_of(total), span_of(theta.view));
  }
  return theta.object;
}

void add_rows(Array1<double> total, Floats2 rows, Floats1 weights) {
  require(rows.shape[0] == weights.shape[0] && rows.shape[1] == total.shape[0], "rows", "a row for each of `weights`, as long as `total`");
  KernelScope scope;
  kernels->linear.add_rows(span_of(total), view_of(rows), span_of(weights));
}

std::size_t dim_of_square(const Floats2& matrix) {
  require(matrix.shape[0] == matrix.shape[1] && matrix.shape[0] > 0, "matrix", "[d, d]");
  return matrix.shape[0];
}

nb::object multiply(Floats2 matrix, Floats1 vector) {
  require(dim_of_square(matrix) == vector.shape[0], "vector", "[d], for a matrix [d, d]");
  NewArray<double, 1> product(vector.shape[0]);
  {
    KernelScope scope;
    kernels->linear.multiply(view_of(matrix), span_of(vector), span_of(product.view));
  }
  return product.object;
}

void rotate(Array2<double> factor, Floats1 x) {
  check_square(factor, x.shape[0], "factor");
  KernelScope scope;
  kernels->linear.rotate(view_of(factor), span_of(x));
}

template <class Kernel>
nb::object matrix_from(const Floats2& matrix, Kernel kernel) {
  const std::size_t d = dim_of_square(matrix);
  NewArray<double, 2> result(d, d);
  bool done;
  {
    KernelScope scope;
    done = kernel(view_of(matrix), view_of(result.view));
  }
  return done ? result.object : nb::none();
}

nb::object cholesky(Floats2 matrix) { return matrix_from(matrix, kernels->linear.cholesky); }
nb::object invert(Floats2 matrix) { return matrix_from(matrix, kernels->linear.invert); }

nb::object fit_evidence(Floats2 matrix, Floats1 target, double squares, double count, double length, double noise, double spread,
                        double strength) {
  require(dim_of_square(matrix) == target.shape[0], "target", "[d], for a matrix [d, d]");
  EvidenceScales found;
  {
    KernelScope scope;
    found = kernels->linear.fit_evidence(view_of(matrix), span_of(target), {squares, count, length, noise, spread}, strength);
  }
  return nb::make_tuple(found.noise, found.spread, found.effective);
}

}  // namespace

void bind_linear(nb::module_& module) {
  const auto none = nb::none();
  module.def("learn_ridge", &learn_ridge, "state"_a, "x"_a, "y"_a, "scales"_a = none, "strength"_a = 0.0, "sizes_given"_a = false,
             "intercept"_a = false, "link"_a = none, "Take in an observation, and do what is due after it.");
  module.def("learn_members", &learn_members, "state"_a, "sums"_a, "x"_a, "y"_a, "z"_a, "fresh"_a = none, "origin"_a = none,
             "root"_a = none, "scales"_a = none, "strength"_a = 0.0, "sizes_given"_a = false, "intercept"_a = false, "link"_a = none,
             "`learn_ridge`, perturbing member j by x z[j], and keeping a root of sum x x' where one is given.");
  module.def("learn_history", &learn_history, "state"_a, "root"_a, "pulls"_a, "arm"_a, "x"_a, "y"_a, "scales"_a = none,
             "strength"_a = 0.0, "sizes_given"_a = false, "intercept"_a = false,
             "`learn_ridge`, keeping an upper triangular root of sum x x', and pull counts (arm -1: none).");
  module.def("learn_rooted", &learn_rooted, "state"_a, "root"_a, "rooted"_a, "x"_a, "y"_a, "link"_a = none,
             "`learn_ridge`, keeping a root of sum f f': f is `rooted` or, where that is None, what is learned of x.");
  module.def("learn_posterior", &learn_posterior, "state"_a, "root"_a, "rewards"_a, "x"_a, "y"_a,
             "`learn_ridge`, keeping a root of V, and number, mean and squared deviations of the rewards.");
  module.def("learn_fresh", &learn_fresh, "state"_a, "root"_a, "gram_root"_a, "ages"_a, "ageing_rate"_a, "x"_a, "y"_a,
             "origin"_a = none, "scales"_a = none, "strength"_a = 0.0, "sizes_given"_a = false, "intercept"_a = false, "link"_a = none,
             "`learn_ridge`, keeping the roots that fresh members are drawn from.");
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
  module.def("rotate", &rotate, "factor"_a, "x"_a, "Update the upper triangular R to that of R'R + x x'.");
  module.def("cholesky", &cholesky, "matrix"_a, "Return the upper triangular R with R'R = matrix; None if a pivot is not positive.");
  module.def("fit_evidence", &fit_evidence, "matrix"_a, "target"_a, "squares"_a, "count"_a, "length"_a, "noise"_a, "spread"_a,
             "strength"_a = 0.0, "Return (sigma^2, tau^2, gamma), the fixed point of the evidence; a strength > 0 is kept.");
  module.def("invert", &invert, "matrix"_a, "Return the inverse of a positive definite matrix; None if a pivot is not positive.");
}

}  // namespace ensample
