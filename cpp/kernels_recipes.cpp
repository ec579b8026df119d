// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "recipe_kernels.hpp"

#include "information.hpp"
#include "recipe_learning.hpp"

namespace ensample::ENSAMPLE_LEVEL {
namespace {

std::size_t optimistic_arm(ConstMatrix inverse, ConstVector mean, ConstMatrix by_coordinate, double beta) {
  const std::size_t arms = by_coordinate.columns;
  Buffer<double> room(2 * arms, Fill::none);
  const Vector scores{room.data(), arms}, widths{room.data() + arms, arms};
  square_widths(inverse, by_coordinate, widths);
  sum_rows(scores, by_coordinate, mean);
  return most_promising(scores, widths, beta);
}

ArmPair informed_pair(ConstMatrix thetas, ConstMatrix by_coordinate) {
  const std::size_t arms = by_coordinate.columns, members = thetas.columns;
  Buffer<double> room(arms * members, Fill::none);
  const Matrix scores{room.data(), arms, members};
  score_members(thetas, by_coordinate, scores);
  GapsAndGains found(arms, members);
  found.compute(scores);
  return best_pair(found.gaps, found.gains, found.means);
}

void solve_replicates(const Replicates& replicates, Matrix thetas) {
  const std::size_t d = thetas.columns;
  Buffer<double> room(d * d, Fill::none);
  for (std::size_t j = 0; j < replicates.count(); ++j)
    weighted_estimate(replicates.grams[j], replicates.targets[j], {room.data(), d, d}, thetas[j]);
}

}  // namespace

extern const RecipeKernels recipe_kernels;
const RecipeKernels recipe_kernels{
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
};

}  // namespace ensample::ENSAMPLE_LEVEL
