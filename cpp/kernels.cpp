// The table of the kernels of one instruction-set level: compiled once for each, with -DENSAMPLE_LEVEL=<its name>.
#include "kernels.hpp"

#include "greedy.hpp"
#include "information.hpp"
#include "linear_learning.hpp"
#include "networks/round.hpp"
#include "newton.hpp"
#include "recipe_learning.hpp"
#include "search.hpp"
#include "stream.hpp"

#define ENSAMPLE_TEXT(name) #name
#define ENSAMPLE_TEXT_OF(macro) ENSAMPLE_TEXT(macro)

namespace ensample::ENSAMPLE_LEVEL {
namespace {

void evaluate(MathFunction function, ConstVector values, Vector out) {
  constexpr double (*functions[])(double) = {exp, expm1, log, log1p, log2, tanh};  // in the order of MathFunction
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = functions[static_cast<int>(function)](values[i]);
}

void draw(Draw distribution, std::int64_t trials, Generator rng, Vector out) {
  if (distribution == Draw::normal)
    for (double& value : out) value = rng.normal();
  else
    for (double& value : out) value = distribution == Draw::uniform ? rng.uniform() : static_cast<double>(rng.binomial_half(trials));
}

void link_means(Link link, ConstVector predictors, Vector means) {
  for (std::size_t k = 0; k < means.size(); ++k) means[k] = link_mean(link, predictors[k]);
}

void link_slopes(Link link, ConstVector predictors, Vector slopes) {
  for (std::size_t k = 0; k < slopes.size(); ++k) slopes[k] = link_slope(link, predictors[k]);
}

std::size_t optimistic_arm(ConstMatrix inverse, ConstVector mean, ConstMatrix by_coordinate, double beta) {
  const std::size_t arms = by_coordinate.columns;
  Buffer<double> scores(arms, Fill::none), widths(arms, Fill::none);
  square_widths(inverse, by_coordinate, widths);
  sum_rows(scores, by_coordinate, mean);
  return optimistic_argmax(scores, widths, beta);
}

ArmPair informed_pair(ConstMatrix thetas, ConstMatrix by_coordinate) {
  const std::size_t arms = by_coordinate.columns, members = thetas.columns;
  const OwnedMatrix scores(arms, members, Fill::none);
  score_members(thetas, by_coordinate, scores);
  GapsAndGains found(arms, members);
  found.compute(scores);
  return best_pair(found.gaps, found.gains, found.means);
}

void solve_replicates(const Replicates& replicates, Matrix thetas) {
  for (std::size_t j = 0; j < replicates.count(); ++j)
    weighted_estimate(replicates.grams[j], replicates.targets[j], thetas[j]);
}

}  // namespace

extern const std::span<const SimulationKernel> simulation_kernels;
extern const Kernels all_kernels;
constinit const Kernels all_kernels{  // constinit: no code of this level runs when the module is imported
    .name = ENSAMPLE_TEXT_OF(ENSAMPLE_LEVEL),
    .glm =
        {
            .evaluate = evaluate,
            .draw = draw,
            .link_means = link_means,
            .link_slopes = link_slopes,
            .implicit_step = implicit_step,
            .predict = [](Matrix state, ConstVector x) { return predict(RidgeState(state), x); },
            .minimise = minimise,
            .newton_step = newton_step,
            .set_hessian = set_hessian,
        },
    .linear =
        {
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
        },
    .networks =
        {
            .outputs = outputs_of,
            .gradient = gradient_of,
            .learn = learn_networks,
            .workspace_size = workspace_size,
            .scale_rows = scale_rows,
            .learn_sizes = learn_sizes,
        },
    .recipes =
        {
            .learn_optimist = learn_optimist,
            .learn_staged = learn_staged,
            .learn_replicates = learn_replicates,
            .learn_directions = learn_directions,
            .learn_pull = learn_pull,
            .optimistic_arm = optimistic_arm,
            .optimistic_theta = optimistic_theta,
            .choose_staged = choose_staged,
            .best_pair = best_pair,
            .informed_pair = informed_pair,
            .solve_replicates = solve_replicates,
            .theta_of_directions = theta_of_directions,
            .theta_of_pseudo_rewards = theta_of_pseudo_rewards,
            .unplayed = unplayed<std::int64_t>,
        },
    .search =
        {
            .greedy_arm = greedy_arm,
            .greedy_arms = greedy_arms,
            .scan_arms = scan_arms,
            .encode_arms = encode_arms,
            .find_best_arm = find_best_arm,
            .find_best_arms = find_best_arms,
        },
    .simulations = simulation_kernels,
};

}  // namespace ensample::ENSAMPLE_LEVEL
