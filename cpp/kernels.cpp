// The table of the kernels of one instruction-set level: compiled once for each, with
// -DENSAMPLE_LEVEL=<its name>.
#include "kernels.hpp"

#include "information.hpp"
#include "learning.hpp"
#include "networks/round.hpp"
#include "newton.hpp"
#include "search.hpp"

#define ENSAMPLE_TEXT(name) #name
#define ENSAMPLE_TEXT_OF(macro) ENSAMPLE_TEXT(macro)

namespace ensample::ENSAMPLE_LEVEL {
namespace {

void evaluate(MathFunction function, ConstVector values, Vector out) {
  constexpr double (*functions[])(double) = {exp,   expm1, log,
                                             log1p, log2,  tanh};  // as MathFunction
  for (Index i = 0; i < out.size(); ++i) out[i] = functions[static_cast<int>(function)](values[i]);
}

void draw(Draw distribution, Int trials, Generator rng, Vector out) {
  if (distribution == Draw::normal)
    for (double& value : out) value = rng.normal();
  else if (distribution == Draw::uniform)
    for (double& value : out) value = rng.uniform();
  else
    for (double& value : out) value = double(rng.binomial_half(trials));
}

void link_means(Link link, ConstVector predictors, Vector means) {
  for (Index k = 0; k < means.size(); ++k) means[k] = link_mean(link, predictors[k]);
}

void link_slopes(Link link, ConstVector predictors, Vector slopes) {
  for (Index k = 0; k < slopes.size(); ++k) slopes[k] = link_slope(link, predictors[k]);
}

Prediction predict(Matrix state, ConstVector x) { return predict(RidgeState(state), x); }

void member_theta(Matrix state, ConstMatrix sums, double factor, Index member, Vector theta) {
  Buffer<double> total(theta.size(), Fill::none);
  member_theta(RidgeState(state), sums, factor, member, total, theta);
}

void shift_mean(Matrix state, ConstVector total, Vector theta) {
  shift_mean(RidgeState(state).estimate, total, theta);
}

void add_rows(Vector total, ConstMatrix rows, ConstVector weights) {
  weigh_rows<true>(total, rows, weights);
}
void multiply(ConstMatrix matrix, ConstVector vector, Vector product) {
  sum_rows(product, matrix, vector);
}

Index optimistic_arm(ConstMatrix inverse, ConstVector mean, ConstMatrix by_coordinate,
                     double beta) {
  const Index arms = by_coordinate.columns;
  Buffer<double> scores(arms, Fill::none), widths(arms, Fill::none);
  square_widths(inverse, by_coordinate, widths);
  sum_rows(scores, by_coordinate, mean);
  return optimistic_argmax(scores, widths, beta);
}

ArmPair informed_pair(ConstMatrix thetas, ConstMatrix by_coordinate) {
  const Index arms = by_coordinate.columns, members = thetas.columns;
  const OwnedMatrix scores(arms, members, Fill::none);
  score_members(thetas, by_coordinate, scores);
  GapsAndGains found(arms, members);
  found.compute(scores);
  return best_pair(found.gaps, found.gains, found.means);
}

void solve_replicates(MatrixStack<double> grams, Matrix targets, Matrix thetas) {
  for (Index j = 0; j < targets.rows; ++j) weighted_estimate(grams[j], targets[j], thetas[j]);
}

}  // namespace

extern const std::span<const SimulationKernel> simulation_kernels;
extern const Kernels all_kernels;
constinit const Kernels all_kernels{
    // constinit: no code of this level runs when the module is imported
    ENSAMPLE_TEXT_OF(ENSAMPLE_LEVEL),
#define KERNEL(result, name, ...) name,
#include "kernels.def"
#undef KERNEL
    simulation_kernels,
};

}  // namespace ensample::ENSAMPLE_LEVEL
