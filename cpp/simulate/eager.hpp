// Recipes on finitely many arms that keep every member up to date: ensemble sampling as the
// textbook has it, information-directed sampling and Ensemble++.
#pragma once

#include "information.hpp"
#include "simulate/history.hpp"
#include "simulate/members.hpp"
#include "simulate/rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// W^j + sum_i X_i Z_i^j of all members, a column a member. Where the prior is learned, W^j /
/// sqrt(prior) has d rows of its own.
class MemberSums {
  const Index d, own, size;  // own: rows of W^j / sqrt(prior)
  Buffer<double> initial{d, Fill::none};
  const Generator rng;
  const Options& options;

 public:
  OwnedMatrix sums{d + own, size};
  Buffer<double> z{size, Fill::none};  // the last row Z

  /// Draw W, member by member.
  MemberSums(const RunState& run, const Rngs& rngs, const Options& options)
      : d(run.mean.size()), own(learns_scales(run) ? d : 0), size(Index(options.size)),
        rng(rngs.perturbation), options(options) {
    for (Index j = 0; j < size; ++j) {
      draw_vector(options.initial, initial, rng);
      for (Index i = 0; i < d; ++i) sums(own + i, j) = initial[i];
    }
  }

  /// Perturb what was observed before the first free round.
  void perturb_prescribed(const LinearRun& linear) {
    const FiniteProblem& problem = linear.problem;
    const RunState& run = linear.run;
    if (forgets(run)) {  // in their order, which matters
      for (Int i = 0; i < linear.warm + linear.first; ++i)
        perturb(run, problem.features[linear.prescribed_row(i)]);
      return;
    }
    for (Index k = 0; k < linear.rows; ++k)
      for (std::int32_t n = 0; n < run.pulls[k]; ++n) perturb(run, problem.features[k]);
  }

  /// S^j += x Z^j for a fresh row Z. Where the past is forgotten S^j <- sqrt(g) S^j + sqrt(1 - g)
  /// W'^j + x Z^j, W' fresh too.
  void perturb(const RunState& run, ConstVector x) {
    if (forgets(run)) fade(run);
    for (double& entry : z) entry = draw_sum(options.reward, 1, rng);
    for (Index i = 0; i < d; ++i) axpy(sums[i], x[i], z);
  }

  /// Write S^j of one member to `total`.
  void sum_of(const RunState& run, Index member, Vector total) {
    for (Index i = 0; i < d; ++i) {
      total[i] = sums(i, member);
      if (own > 0) total[i] += run.prior_root[i] * sums(own + i, member);
    }
  }

  bool has_initial_rows() const { return own > 0; }

 private:
  void fade(const RunState& run) {
    const double kept = kept_share(run.forgetting_rate), shrink = std::sqrt(kept);
    const double weight = std::sqrt(1.0 - kept);
    for (double& entry : sums.items()) entry *= shrink;
    for (Index j = 0; j < size; ++j) {
      draw_vector(options.initial, initial, rng);
      for (Index i = 0; i < d; ++i) sums(own + i, j) += weight * initial[i];
    }
  }
};

/// x_k'theta^j of all arms and members, for the rule that looks at all of them.
class MemberScores {
  const FiniteProblem& problem;
  const Index rows = problem.features.rows, size;
  Buffer<double> residuals{size, Fill::none}, weights{problem.features.columns, Fill::none};

 public:
  OwnedMatrix scores{rows, size};  // [K + W, m]

  MemberScores(const FiniteProblem& problem, Index size) : problem(problem), size(size) {}

  /// Compute all of them.
  void compute(const RunState& run, MemberSums& members, double factor) {
    const Index d = weights.size();
    for (Index k = 0; k < rows; ++k) {
      const ConstVector x = problem.features[k];
      const Vector u = weights, row = scores[k];
      sum_rows(u, run.inverse, x);
      for (double& entry : u) entry *= factor;
      const double centre = dot(x, run.mean);
      for (double& score : row) score = centre;
      weigh_rows<true>(row, members.sums.between(0, d), u);
      if (!members.has_initial_rows()) continue;
      for (Index i = 0; i < d; ++i) u[i] *= run.prior_root[i];
      weigh_rows<true>(row, members.sums.between(d, 2 * d), u);
    }
  }

  /// After (x, y + factor z_j): theta^j += V^-1 x (y + factor z_j - x'theta^j) / (1 + leverage), a
  /// rank-one term.
  void update(const RunState& run, Index arm, double y, double factor, ConstVector z) {
    for (Index j = 0; j < size; ++j) residuals[j] = y + factor * z[j] - scores(arm, j);
    for (Index k = 0; k < rows; ++k)
      axpy(scores[k], dot(problem.features[k], run.gain) / (1.0 + run.counters.leverage),
           residuals);
  }

  /// Bring all of them up to date after round t, in which `arm` gave the reward y.
  void follow(const RunState& run, MemberSums& members, Int t, Index arm, double y, double factor) {
    if (recomputation_is_due(run, t) || is_replaced(run))
      compute(run, members, factor);
    else
      update(run, arm, y, factor, members.z);
  }

  /// Return the greedy arm of the member that promises most; lowest member, then lowest arm, on
  /// ties.
  Index optimistic_arm() {
    Index best = 0, best_member = 0;
    double top = -std::numeric_limits<double>::infinity();
    for (Index k = 0; k < problem.by_coordinate.columns; ++k)
      for (Index j = 0; j < size; ++j) {
        const double score = scores(k, j);
        if (score > top || (score == top && j < best_member))
          best = k, best_member = j, top = score;
      }
    return best;
  }
};

/// Algorithm 1, with a row of Z drawn each round.
struct EagerEnsemble : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    begin();
    members.perturb_prescribed(*this);
    if (looks_at_all) scores.compute(run, members, inflation(options.factor, run, first));
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      const Index arm = looks_at_all ? scores.optimistic_arm() : arm_of_next_member(t);
      const double y = pull(t, arm);
      members.perturb(run, problem.features[arm]);
      if (looks_at_all) scores.follow(run, members, t, arm, y, inflation(options.factor, run, t));
    }
  }

 private:
  const bool looks_at_all = options.rule == MemberRule::optimistic;
  MemberSums members{run, rngs, options};
  MemberScores scores{problem, looks_at_all ? Index(options.size) : 0};
  Buffer<double> theta{d, Fill::none}, total{d, Fill::none};
  Int member = -1;

  Index arm_of_next_member(Int t) {
    member = next_member(options, t, member, rngs.member);
    members.sum_of(run, Index(member), total);
    perturb_estimate(run, total, inflation(options.factor, run, t), theta);
    return greedy_arm(theta);
  }
};

/// Draw one of a pair of arms.
inline Index draw_arm(const ArmPair& pair, Generator rng) {
  return rng.uniform() < pair.share ? pair.first : pair.second;
}

/// Information-directed sampling: members as in Algorithm 1; each round plays one of the two arms
/// of `best_pair`, O(K m + K^2).
struct InformedEnsemble : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    const Index m = Index(options.size);
    MemberSums members(run, rngs, options);
    MemberScores scores(problem, m);
    GapsAndGains found(arms, m);
    begin();
    members.perturb_prescribed(*this);
    scores.compute(run, members, inflation(options.factor, run, first));
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      found.compute(scores.scores.between(0, arms));
      const Index arm = draw_arm(best_pair(found.gaps, found.gains, found.means), rngs.member);
      const double y = pull(t, arm);
      members.perturb(run, problem.features[arm]);
      scores.follow(run, members, t, arm, y, inflation(options.factor, run, t));
    }
  }
};

/// Information-directed sampling with members that are drawn anew each round: O(m d^2 + K m d +
/// K^2).
struct InformedByFreshMembers : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    const Index m = Index(options.size);
    RootedHistory history(run, options);
    GapsAndGains found(arms, m);
    Buffer<double> total(d, Fill::none), theta(d, Fill::none);
    const OwnedMatrix thetas(d, m, Fill::none), scores(arms, m, Fill::none);
    begin();
    history.begin(problem);
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      const double factor = inflation(options.factor, run, t);
      for (Index j = 0; j < m; ++j) {
        history.draw(total, rngs.perturbation);
        perturb_estimate(run, total, factor, theta);
        for (Index i = 0; i < d; ++i) thetas(i, j) = theta[i];
      }
      score_members(thetas, problem.by_coordinate, scores);
      found.compute(scores);
      const Index arm = draw_arm(best_pair(found.gaps, found.gains, found.means), rngs.member);
      pull(t, arm);
      history.add(problem.features[arm]);
    }
  }
};

/// Linear Ensemble++: theta = theta_hat + scale V^-1 S zeta with a fresh zeta ~ N(0, I_M); S += x
/// z', z on the unit sphere of R^M.
struct EnsemblePlusPlus : LinearRun {
  using FiniteRun::FiniteRun;

  void play() {
    for (Index i = 0; i < d; ++i) {
      draw_vector({LawKind::sphere, 1, std::sqrt(run.lam) * unit}, z, rngs.perturbation);
      for (Index j = 0; j < z.size(); ++j) directions(j, i) = z[j];
    }
    begin();
    for (Index k = 0; k < rows; ++k)
      for (std::int32_t n = 0; n < run.pulls[k]; ++n) learn_row(k);
    for (Int t = first; t < horizon && !is_stopped(run); ++t) {
      for (double& zeta : z) zeta = rngs.member.normal();
      sum_rows(total, directions, z);
      perturb_estimate(run, total, options.scale, theta);
      const Index arm = greedy_arm(theta);
      pull(t, arm);
      learn_row(arm);
    }
  }

 private:
  const double unit = 1.0 / std::sqrt(double(options.size));
  Buffer<double> z{Index(options.size), Fill::none}, total{d, Fill::none}, theta{d, Fill::none};
  const OwnedMatrix directions{z.size(), d, Fill::none};  // S'

  void learn_row(Index row) {
    draw_vector({LawKind::sphere, 1, unit}, z, rngs.perturbation);
    add_outer(directions, 1.0, z, problem.features[row]);
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
