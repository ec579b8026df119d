// One round of a simulated run: draw a reward, learn from it, note the regret.
#pragma once

#include "calibration.hpp"
#include "ridge.hpp"
#include "state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline double draw_reward(Noise kind, double mean, double spread, Generator rng) {
  switch (kind) {
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

/// V^-1 and theta_hat anew from V and b; nothing changes where V is singular to working precision.
inline void set_gram(RunState& run, ConstMatrix gram) {
  constexpr double steep = 1e4, gentle = 0.25;  // leverage at which V^-1 is computed anew
  constexpr double stiff = 1e6;                 // from a V so ill-conditioned, the latter
  const std::size_t d = run.mean.size();
  if (!invert(gram, run.inverse)) return;
  double largest = 0.0, widest = 0.0;
  for (std::size_t i = 0; i < d; ++i) {
    largest = std::max(largest, gram(i, i));
    widest = std::max(widest, run.inverse(i, i));
  }
  sum_rows(run.mean, run.inverse, run.target);
  run.counters.limit = steep;
  if (largest * widest <= stiff) return;
  run.counters.limit = gentle;
  Buffer<double> room(2 * d);
  const Vector rest{room.data(), d}, step{room.data() + d, d};
  for (int twice = 0; twice < 2; ++twice) {  // theta_hat += V^-1 (b - V theta_hat)
    sum_rows(rest, gram, run.mean);
    for (std::size_t i = 0; i < d; ++i) rest[i] = run.target[i] - rest[i];
    sum_rows(step, run.inverse, rest);
    axpy(run.mean, 1.0, step);
  }
}

/// V^-1 and theta_hat anew from the pull counts and b.
inline void refresh(const FiniteProblem& problem, RunState& run) {
  const std::size_t d = run.mean.size();
  Buffer<double> room(d * d);
  const Matrix gram{room.data(), d, d};
  for (std::size_t k = 0; k < problem.features.rows; ++k)
    if (run.pulls[k] > 0) add_outer(gram, run.pulls[k], problem.features[k], problem.features[k]);
  for (std::size_t i = 0; i < d; ++i) gram(i, i) += run.prior[i];
  set_gram(run, gram);
}

/// The scales of noise and parameter anew, and V^-1 and theta_hat that follow from them.
inline void calibrate(const FiniteProblem& problem, RunState& run) {
  const std::size_t d = run.mean.size();
  auto& counters = run.counters;
  for (std::size_t k = 0; k < problem.features.rows; ++k)
    if (run.pulls[k] != run.counted[k]) {
      add_outer(run.gram, run.pulls[k] - run.counted[k], problem.features[k], problem.features[k]);
      run.counted[k] = run.pulls[k];
    }
  Buffer<double> used_up(d * d), kept(d * d), target(d);
  std::copy_n(run.gram.data, d * d, used_up.data());
  std::copy_n(run.gram.data, d * d, kept.data());
  std::copy_n(run.target.data(), d, target.data());
  const Matrix G{used_up.data(), d, d}, gram{kept.data(), d, d};
  if (!run.standing)
    for (std::size_t i = 0; i < d; ++i) run.scales.sizes[i] = std::sqrt(gram(i, i) / counters.count);
  learn_scales(run.scales, G, {target.data(), d}, counters.squares, counters.count, run.kept, run.intercept);
  run.scales.calibrated_at = counters.count;
  counters.next = std::max(counters.count + 1.0, std::ceil(counters.count + (growth_between - 1.0) * counters.count));
  for (std::size_t i = 0; i < d; ++i) {
    run.prior[i] = prior_of(run.scales, i, run.intercept);
    run.prior_root[i] = std::sqrt(run.prior[i]);
    gram(i, i) += run.prior[i];
  }
  set_gram(run, gram);
}

/// V += x x', b += x y; V^-1 and theta_hat by Sherman-Morrison.
inline void observe(RunState& run, ConstVector x, double y) {
  constexpr double many = 1e3;  // growth of det V after which its logarithm is taken
  auto& counters = run.counters;
  sum_rows(run.gain, run.inverse, x);
  const double leverage = dot(run.gain, x), weight = 1.0 / (1.0 + leverage);
  axpy(run.mean, weight * (y - dot(run.mean, x)), run.gain);
  axpy(run.target, y, x);
  add_outer(run.inverse, -weight, run.gain, run.gain);
  counters.growth *= 1.0 + leverage;
  if (counters.growth > many) {
    counters.information += std::log(counters.growth);
    counters.growth = 1.0;
  }
  counters.rewards += y;
  counters.squares += y * y;
  counters.leverage = leverage;
  counters.count += 1.0;
}

inline double information(const RunState& run) { return run.counters.information + std::log(run.counters.growth); }

/// Draw the reward of a row of features in round t and learn from it.
inline void learn(const FiniteProblem& problem, RunState& run, std::int64_t t, std::size_t row, double mean, Generator rng) {
  constexpr std::int64_t interval = 2048;  // observations between two recomputations of V^-1
  double y = draw_reward(problem.noise, mean, problem.spreads[row], rng);
  if (run.intercept) {
    if (run.counters.count == 0.0) run.counters.origin = y;
    y -= run.counters.origin;
  }
  run.pulls[row] += 1;
  observe(run, problem.features[row], y);
  if (run.counters.count >= run.counters.next)
    calibrate(problem, run);
  else if ((t + 1) % interval == 0 || run.counters.leverage > run.counters.limit)
    refresh(problem, run);
}

/// Add to the regret and, at a checkpoint, write it down.
inline void note(RunState& run, std::int64_t t, double loss) {
  auto& counters = run.counters;
  counters.regret += loss;
  if (run.checkpoints[counters.next_checkpoint] == t + 1) run.regret[counters.next_checkpoint++] = counters.regret;
}

/// Play an arm in round t and learn from it.
inline void pull(const FiniteProblem& problem, RunState& run, std::int64_t t, std::size_t arm, Generator rng) {
  const double mean = problem.stay > 0 ? problem.mean_path(t / problem.stay, arm) : problem.means[arm];
  learn(problem, run, t, arm, mean, rng);
  note(run, t, (problem.stay > 0 ? problem.best_means[t / problem.stay] : problem.best) - mean);
}

inline std::int64_t opening_rounds(const FiniteProblem& problem, const RunState& run) {
  return std::min<std::int64_t>(problem.opening.size(), run.horizon());
}

/// The warm-up and the opening; returns the first round in which the algorithm may choose.
inline std::int64_t begin(const FiniteProblem& problem, RunState& run, Generator rng) {
  for (const auto row : problem.warmup) learn(problem, run, 0, row, problem.means[row], rng);
  const auto first = opening_rounds(problem, run);
  for (std::int64_t t = 0; t < first; ++t) pull(problem, run, t, problem.opening[t], rng);
  return first;
}

/// argmax_k x_k'theta among the arms on offer, the lowest index on ties.
inline std::size_t greedy_arm(const FiniteProblem& problem, RunState& run, ConstVector theta) {
  sum_rows(run.scores, problem.by_coordinate, theta);
  return argmax(run.scores);
}

/// What multiplies a perturbation after t observations.
inline double inflation(const Inflation& factor, RunState& run, std::int64_t t) {
  if (factor.learned) {
    double base = factor.base;
    auto& counters = run.counters;
    if (factor.bold > 0.0) {
      while (counters.bold < counters.count) counters.bold = std::max(counters.bold + 1.0, std::ceil(1.25 * counters.bold));
      if (counters.bold == counters.count) base = factor.bold;
    }
    return run.scales.noise > 0.0 ? base * std::sqrt(run.scales.noise) : base;
  }
  if (factor.width == 0.0) return factor.base;
  const double d = static_cast<double>(run.mean.size());
  const double seen = factor.determinant ? information(run) : d * std::log1p(static_cast<double>(t) / d / run.lam);
  return factor.base + factor.width * std::sqrt(seen + factor.tail);
}

}  // namespace ensample::ENSAMPLE_LEVEL
