// Ensemble sampling on finitely many arms with every member kept up to date, as the textbook has it.
#pragma once

#include "perturbations.hpp"
#include "simulate/members.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// W^j + sum_i X_i Z_i^j of all members, a column a member. Where the prior is learned, W^j / sqrt(prior) has d rows of its own.
class MemberSums {
  const std::size_t d, own, size;  // own: rows of W^j / sqrt(prior)
  Buffer<double> initial{d, Fill::none};
  const Generator rng;
  const Options& options;

 public:
  OwnedMatrix sums{d + own, size};
  Buffer<double> z{size, Fill::none};  // the last row Z

  /// Draw W, member by member.
  MemberSums(const RunState& run, const Rngs& rngs, const Options& options)
      : d(run.mean.size()), own(learns_scales(run) ? d : 0), size(static_cast<std::size_t>(options.size)), rng(rngs.perturbation),
        options(options) {
    for (std::size_t j = 0; j < size; ++j) {
      draw_vector(options.initial, initial, rng);
      for (std::size_t i = 0; i < d; ++i) sums(own + i, j) = initial[i];
    }
  }

  /// Perturb what was observed before the first free round, `first`.
  void perturb_prescribed(const FiniteProblem& problem, const RunState& run, std::int64_t first) {
    if (forgets(run)) {  // in their order, which matters
      const std::size_t count = problem.warmup.size() + static_cast<std::size_t>(first);
      for (std::size_t i = 0; i < count; ++i) perturb(run, problem.features[prescribed_row(problem, i)]);
      return;
    }
    for (std::size_t k = 0; k < problem.features.rows; ++k)
      for (std::int32_t n = 0; n < run.pulls[k]; ++n) perturb(run, problem.features[k]);
  }

  /// S^j += x Z^j for a fresh row Z. Where the past is forgotten S^j <- sqrt(g) S^j + sqrt(1 - g) W'^j + x Z^j, W' fresh too.
  void perturb(const RunState& run, ConstVector x) {
    if (forgets(run)) fade(run);
    for (double& entry : z) entry = draw_sum(options.reward, 1, rng);
    for (std::size_t i = 0; i < d; ++i) axpy(sums[i], x[i], z);
  }

  /// Write S^j of one member to `total`.
  void sum_of(const RunState& run, std::size_t member, Vector total) {
    for (std::size_t i = 0; i < d; ++i) {
      total[i] = sums(i, member);
      if (own > 0) total[i] += run.prior_root[i] * sums(own + i, member);
    }
  }

  bool has_initial_rows() const { return own > 0; }

 private:
  void fade(const RunState& run) {
    const double kept = kept_share(run.forgetting_rate), shrink = std::sqrt(kept), weight = std::sqrt(1.0 - kept);
    for (double& entry : sums.items()) entry *= shrink;
    for (std::size_t j = 0; j < size; ++j) {
      draw_vector(options.initial, initial, rng);
      for (std::size_t i = 0; i < d; ++i) sums(own + i, j) += weight * initial[i];
    }
  }
};

/// x_k'theta^j of all arms and members, for the rule that looks at all of them.
class MemberScores {
  const FiniteProblem& problem;
  const std::size_t rows = problem.features.rows, size;
  Buffer<double> residuals{size, Fill::none}, weights{problem.features.columns, Fill::none};

 public:
  OwnedMatrix scores{rows, size};  // [K + W, m]

  MemberScores(const FiniteProblem& problem, std::size_t size) : problem(problem), size(size) {}

  /// Compute all of them.
  void compute(const RunState& run, MemberSums& members, double factor) {
    const std::size_t d = weights.size();
    for (std::size_t k = 0; k < rows; ++k) {
      const ConstVector x = problem.features[k];
      const Vector u = weights, row = scores[k];
      sum_rows(u, run.inverse, x);
      for (double& entry : u) entry *= factor;
      const double centre = dot(x, run.mean);
      for (double& score : row) score = centre;
      weigh_rows<true>(row, members.sums.between(0, d), u);
      if (!members.has_initial_rows()) continue;
      for (std::size_t i = 0; i < d; ++i) u[i] *= run.prior_root[i];
      weigh_rows<true>(row, members.sums.between(d, 2 * d), u);
    }
  }

  /// After (x, y + factor z_j): theta^j += V^-1 x (y + factor z_j - x'theta^j) / (1 + leverage), a rank-one term.
  void update(const RunState& run, std::size_t arm, double y, double factor, ConstVector z) {
    for (std::size_t j = 0; j < size; ++j) residuals[j] = y + factor * z[j] - scores(arm, j);
    for (std::size_t k = 0; k < rows; ++k)
      axpy(scores[k], dot(problem.features[k], run.gain) / (1.0 + run.counters.leverage), residuals);
  }

  /// Bring all of them up to date after round t, in which `arm` gave the reward y.
  void follow(const RunState& run, MemberSums& members, std::int64_t t, std::size_t arm, double y, double factor) {
    if (recomputation_is_due(run, t) || is_replaced(run))
      compute(run, members, factor);
    else
      update(run, arm, y, factor, members.z);
  }

  /// Return the greedy arm of the member that promises most; lowest member, then lowest arm, on ties.
  std::size_t optimistic_arm() {
    std::size_t best = 0, best_member = 0;
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < problem.by_coordinate.columns; ++k)
      for (std::size_t j = 0; j < size; ++j) {
        const double score = scores(k, j);
        if (score > top || (score == top && j < best_member)) best = k, best_member = j, top = score;
      }
    return best;
  }
};

/// Algorithm 1, with a row of Z drawn each round.
inline void eager_ensemble(const FiniteProblem& problem, RunState& run, const Rngs& rngs, const Options& options) {
  MemberSums members(run, rngs, options);
  const std::int64_t first = begin(problem, run, rngs.noise);
  members.perturb_prescribed(problem, run, first);
  const std::size_t d = run.mean.size();
  const bool looks_at_all = options.stay == optimistic;
  MemberScores scores(problem, looks_at_all ? static_cast<std::size_t>(options.size) : 0);
  if (looks_at_all) scores.compute(run, members, inflation(options.factor, run, first));
  Buffer<double> theta(d, Fill::none), total(d, Fill::none);
  std::int64_t member = -1;
  for (std::int64_t t = first; t < horizon_of(run) && !is_stopped(run); ++t) {
    std::size_t arm;
    if (looks_at_all) {
      arm = scores.optimistic_arm();
    } else {
      member = next_member(options, t, member, rngs.member);
      members.sum_of(run, static_cast<std::size_t>(member), total);
      perturb_estimate(run, total, inflation(options.factor, run, t), theta);
      arm = greedy_arm(problem, run, theta);
    }
    const double y = pull(problem, run, t, arm, rngs.noise);
    members.perturb(run, problem.features[arm]);
    if (looks_at_all) scores.follow(run, members, t, arm, y, inflation(options.factor, run, t));
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
