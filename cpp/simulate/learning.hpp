// Learning in simulated runs, whatever their arms: rank-one updates, recomputation, learned scales,
// forgetting.
#pragma once

#include <limits>

#include "calibration.hpp"
#include "glm.hpp"
#include "ridge.hpp"
#include "simulate/state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Memory of a run, and its state before the first round.
class RunMemory {
  OwnedMatrix scales, gram, inverse;
  Buffer<double> prior, prior_root, mean, target, gain, scores;
  Buffer<std::int32_t> pulls, counted;

 public:
  RunState run;

  RunMemory(const RunSettings& s, const RunResults& results, Index d, Index rows, Index arms)
      : scales(6, d), gram(d, d), inverse(d, d), prior(d), prior_root(d), mean(d), target(d),
        gain(d), scores(arms), pulls((rows + count_block - 1) / count_block * count_block),
        counted(s.learns_scales ? pulls.size() : 0),
        run{s.lam,   s.fixed_lam,   !s.sizes.empty(), s.intercept, s.forgetting_rate,
            scales,  prior,         prior_root,       gram,        counted,
            inverse, mean,          target,           pulls,       gain,
            {},      s.checkpoints, results.regret,   scores,      s.stop} {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!s.learns_scales) run.counters.next_calibration = infinity;
    std::fill(run.regret.begin(), run.regret.end(), std::numeric_limits<double>::quiet_NaN());
    Scales first(scales);
    std::copy(s.sizes.begin(), s.sizes.end(), first.sizes.begin());
    first.strength = s.fixed_lam > 0.0 ? s.fixed_lam : 1.0;
    for (Index i = 0; i < d; ++i) {
      prior[i] = prior_of(first, i, s.intercept);
      prior_root[i] = std::sqrt(prior[i]);
      inverse(i, i) = 1.0 / prior[i];
    }
  }

  /// Write the results but for the regret, which is written on the way.
  void store(const RunResults& results) const {
    for (Index k = 0; k < results.pulls.size(); ++k) results.pulls[k] = pulls[k];
    copy_values(run.mean, results.mean);
    copy_values(run.target, results.target);
  }
};

inline Estimate estimate_of(const RunState& run) { return {run.inverse, run.mean, run.gain}; }
inline bool learns_scales(const RunState& run) {
  return run.counters.next_calibration < std::numeric_limits<double>::infinity();
}
inline bool forgets(const RunState& run) { return run.forgetting_rate > 0.0; }
inline bool is_stopped(const RunState& run) {
  return __atomic_load_n(&run.stop, __ATOMIC_RELAXED) != 0;
}
inline Int horizon_of(const RunState& run) { return run.checkpoints[run.checkpoints.size() - 1]; }

/// Recompute V^-1 and theta_hat from V and b; nothing changes where V is singular to working
/// precision.
inline void recompute(RunState& run, ConstMatrix gram) {
  constexpr double max_leverage = 1e4;  // at which a rank-one update would cancel four digits
  // The same where V is ill-conditioned: lost digits do not come back by rank-one updates.
  constexpr double max_leverage_ill_conditioned = 0.25;
  constexpr double max_condition = 1e6;
  const double condition = recompute(estimate_of(run), gram, run.target, max_condition);
  if (condition != 0.0)
    run.counters.max_leverage =
        condition > max_condition ? max_leverage_ill_conditioned : max_leverage;
}

/// Learn the scales from sum x x', which is used up, and recompute V^-1 and theta_hat with the
/// prior that follows.
inline void calibrate(RunState& run, Matrix gram) {
  const Index d = run.mean.size();
  auto& counters = run.counters;
  Scales scales(run.scales);
  const OwnedMatrix V(d, d, Fill::none);
  Buffer<double> target(d, Fill::none);
  copy_values(gram.items(), V.items());
  copy_values(run.target, target);
  if (!run.sizes_given)
    for (Index i = 0; i < d; ++i) scales.sizes[i] = std::sqrt(gram(i, i) / counters.count);
  const double n = effective_count(counters.count, run.forgetting_rate);
  learn_scales(scales, gram, target, counters.squares, n, run.fixed_lam, run.intercept);
  scales.calibrated_at = counters.count;
  const double next = std::ceil(next_calibration(counters.count, run.forgetting_rate));
  counters.next_calibration = next > counters.count + 1.0 ? next : counters.count + 1.0;
  for (Index i = 0; i < d; ++i) {
    run.prior[i] = prior_of(scales, i, run.intercept);
    run.prior_root[i] = std::sqrt(run.prior[i]);
    V(i, i) += run.prior[i];
  }
  recompute(run, V);
}

/// Count an observation that makes det V larger by 1 + leverage.
inline void count_observation(RunCounters& counters, double y, double leverage) {
  constexpr double many = 1e3;  // growth of det V after which its logarithm is taken
  counters.growth *= 1.0 + leverage;
  if (counters.growth > many) {
    counters.information += log(counters.growth);
    counters.growth = 1.0;
  }
  counters.rewards += y;
  counters.squares += y * y;
  counters.leverage = leverage;
  counters.count += 1.0;
}

/// V += x x', b += x y; V^-1 and theta_hat by Sherman-Morrison.
inline void observe(RunState& run, ConstVector x, double y) {
  const Estimate estimate = estimate_of(run);
  const double leverage = set_gain(estimate, x);
  rank_one_update(estimate, x, y, leverage);
  axpy(run.target, y, x);
  count_observation(run.counters, y, leverage);
}

/// Learn (x, y) of a generalised linear model by the stream fit (glm.hpp): an implicit step of
/// theta_hat, V += w x x' and V^-1 by Sherman-Morrison; return w.
inline double observe_weighted(RunState& run, Link link, ConstVector x, double y) {
  const double q = set_gain(estimate_of(run), x);
  const double v = implicit_step(link, dot(run.mean, x), q, y);
  const auto at = link_at(link, v, y);
  const double w = at.slope > min_weight ? at.slope : min_weight;
  axpy(run.mean, -at.error, run.gain);
  axpy(run.target, w * v - at.error, x);
  add_outer(run.inverse, -w / (1.0 + w * q), run.gain, run.gain);
  count_observation(run.counters, y, w * q);
  return w;
}

inline bool calibration_is_due(const RunState& run) {
  return run.counters.count >= run.counters.next_calibration;
}

/// sum x x' <- g sum x x' + x x', b <- g b + x y and the rewards' sums alike; V^-1 and theta_hat
/// are recomputed, O(d^3).
inline void observe_fading(RunState& run, ConstVector x, double y) {
  const double kept = kept_share(run.forgetting_rate);
  const Index d = x.size();
  auto& counters = run.counters;
  const OwnedMatrix V(d, d, Fill::none);
  for (Index i = 0; i < d; ++i) {
    run.target[i] = kept * run.target[i] + y * x[i];
    for (Index k = 0; k < d; ++k) V(i, k) = run.gram(i, k) = kept * run.gram(i, k) + x[i] * x[k];
  }
  counters.rewards = kept * counters.rewards + y;
  counters.squares = kept * counters.squares + y * y;
  counters.count += 1.0;
  if (calibration_is_due(run)) return calibrate(run, V);
  for (Index i = 0; i < d; ++i) V(i, i) += run.prior[i];
  recompute(run, V);
}

/// Return a reward as it is learned: where there is an intercept, relative to the first.
inline double from_origin(RunState& run, double y) {
  if (!run.intercept) return y;
  if (run.counters.count == 0.0) run.counters.origin = y;
  return y - run.counters.origin;
}

/// log(det V / lam^d).
inline double information(const RunState& run) {
  return run.counters.information + log(run.counters.growth);
}

/// Return true if V^-1 is recomputed after round t: at intervals, and where the last observation
/// has cost it too many digits.
inline bool recomputation_is_due(const RunState& run, Int t) {
  constexpr Int interval = 2048;
  return (t + 1) % interval == 0 || run.counters.leverage > run.counters.max_leverage;
}

/// Return true if V^-1 is not that of a rank-one update: the scales were learned anew, or the past
/// fades.
inline bool is_replaced(const RunState& run) {
  return forgets(run) ||
         (learns_scales(run) && Scales(run.scales).calibrated_at == run.counters.count);
}

/// Add to the regret and, at a checkpoint, write it down.
inline void note_regret(RunState& run, Int t, double loss) {
  auto& counters = run.counters;
  counters.regret += loss;
  if (run.checkpoints[Index(counters.next_checkpoint)] == t + 1)
    run.regret[Index(counters.next_checkpoint++)] = counters.regret;
}

/// theta = theta_hat + scale V^-1 total.
inline void perturb_estimate(const RunState& run, ConstVector total, double scale, Vector theta) {
  sum_rows(theta, run.inverse, total);
  for (Index i = 0; i < theta.size(); ++i) theta[i] = run.mean[i] + scale * theta[i];
}

/// Return what multiplies a perturbation after t observations.
inline double inflation(const Inflation& factor, const RunState& run, Int t) {
  // Observations from which a growing base grows by about the logarithm
  constexpr double grows_from = 100.0;
  if (factor.learned) {
    const double noise = Scales(run.scales).noise, seen = double(t);
    double base = factor.base;
    if (factor.growth > 0.0)
      base =
          std::sqrt(base * base +
                    factor.growth * log1p(effective_count(seen, run.forgetting_rate) / grows_from));
    return noise > 0.0 ? base * std::sqrt(noise) : base;
  }
  if (factor.width == 0.0) return factor.base;
  const double d = double(run.mean.size());
  const double seen = factor.determinant ? information(run) : d * log1p(double(t) / d / run.lam);
  return factor.base + factor.width * std::sqrt(seen + factor.tail);
}

/// Draw a reward with this mean. Every law but Student's takes one number.
inline double draw_reward(Noise noise, double mean, double spread, Generator rng) {
  switch (noise) {
    case Noise::bernoulli:
      return rng.uniform() < mean ? 1.0 : 0.0;
    case Noise::sign:
      return mean + (rng.uniform() < 0.5 ? spread : -spread);
    case Noise::sale: {  // 0, or the price that mean and standard deviation imply
      const double chance = mean != 0.0 ? mean * mean / (mean * mean + spread * spread) : 0.0;
      return rng.uniform() < chance ? mean / chance : 0.0;
    }
    case Noise::student: {  // three degrees of freedom, whose variance is 3
      double length = 0.0;
      for (int i = 0; i < 3; ++i) {
        const double z = rng.normal();
        length += z * z;
      }
      return mean + spread * rng.normal() / std::sqrt(length);
    }
    case Noise::normal:
      break;
  }
  return mean + spread * rng.normal();
}

}  // namespace ensample::ENSAMPLE_LEVEL
