// Scales of noise and parameter, learned from the rewards: the fixed point of the evidence.
//
// Features are divided by their sizes s, so that G = sum x x' / (s s') and b = sum x y / s have no
// units. An orthogonal change of coordinates makes G tridiagonal, O(d^3) once, after which a step
// of the fixed point is O(d).
#pragma once

#include <algorithm>
#include <cmath>

#include "ridge.hpp"
#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Scales as far as they are learned: views into one [6, d] array, numbers in the first entry of
/// their row.
struct Scales {
  Vector sizes;           // root mean squares of the features, 0 for one that was never seen
  double& noise;          // sigma^2; 0 before the first reward that is not 0
  double& spread;         // tau^2, the variance of the parameter for features of size 1
  double& effective;      // gamma, the effective number of parameters
  double& strength;       // lam = sigma^2 / tau^2, within bounds
  double& calibrated_at;  // number of observations at the last calibration

  explicit Scales(Matrix s)
      : sizes(s[0]), noise(s(1, 0)), spread(s(2, 0)), effective(s(3, 0)), strength(s(4, 0)),
        calibrated_at(s(5, 0)) {}
};

// Prior of an intercept, in observations: next to none, and V is invertible.
inline constexpr double free_prior = 1e-15;
inline constexpr double min_strength = 1e-6, max_strength = 1e6;
// Growth of the number of observations between two calibrations.
inline constexpr double calibration_growth = 1.25;

/// Number of observations at which the next calibration is due.
inline double next_calibration(double count, double forgetting_rate) {
  return count + (calibration_growth - 1.0) * effective_count(count, forgetting_rate);
}

inline double unit_of(double size) { return size > 0.0 ? size : 1.0; }

/// The i-th entry of the diagonal that is V's prior.
inline double prior_of(const Scales& scales, Index i, bool intercept) {
  if (intercept && i + 1 == scales.sizes.size()) return free_prior;
  const double unit = unit_of(scales.sizes[i]);
  return scales.strength * (unit * unit);
}

/// lam = sigma^2 / tau^2, within bounds; or what it is kept at.
inline double strength_of(double noise, double spread, double kept) {
  return kept > 0.0 ? kept : std::min(std::max(noise / spread, min_strength), max_strength);
}

/// Return a power of two of about this size, by which dividing costs no digit; 1 for size 0.
inline double power_above(double size) {
  if (!(size > 0.0)) return 1.0;
  int exponent;
  std::frexp(size, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

/// HAH with H = I - weight reflector reflector', of the rows and columns from `begin` on.
inline void reflect(Matrix A, Index begin, ConstVector reflector, Vector product, double weight) {
  const auto tail_of = [&](Index i) { return A[begin + i].subspan(begin, reflector.size()); };
  std::fill(product.begin(), product.end(), 0.0);
  for (Index i = 0; i < reflector.size(); ++i) axpy(product, reflector[i], tail_of(i));
  const double shift = 0.5 * weight * weight * dot(product, reflector);
  for (Index i = 0; i < reflector.size(); ++i)
    product[i] = weight * product[i] - shift * reflector[i];
  for (Index i = 0; i < reflector.size(); ++i) {
    const Vector row = tail_of(i);
    add_two(row, -reflector[i], product, -product[i], reflector);
  }
}

/// Q'AQ and Q'b for an orthogonal Q that makes a symmetric A tridiagonal, by Householder's
/// reflections; A is used up.
inline void tridiagonal(Matrix A, Vector b, Vector diagonal, Vector off_diagonal, Vector reflector,
                        Vector product) {
  const Index d = b.size();
  for (Index k = 0; k + 2 < d; ++k) {
    const Index tail = d - k - 1;
    double largest = 0.0, rest = 0.0;
    for (Index i = k + 1; i < d; ++i) largest = std::max(largest, std::abs(A(i, k)));
    const double unit = power_above(largest), first = A(k + 1, k) / unit;
    for (Index i = 1; i < tail; ++i) {
      reflector[i] = A(k + 1 + i, k) / unit;
      rest += reflector[i] * reflector[i];
    }
    if (!(rest > 0.0)) {
      off_diagonal[k] = A(k + 1, k);
      continue;
    }
    double length = std::sqrt(first * first + rest);
    if (first > 0.0) length = -length;
    off_diagonal[k] = length * unit;
    reflector[0] = first - length;
    const double weight = 2.0 / (reflector[0] * reflector[0] + rest);
    const Vector normal = reflector.first(tail);
    reflect(A, k + 1, normal, product.first(tail), weight);
    axpy(b.subspan(k + 1), -weight * dot(normal, b.subspan(k + 1)), normal);
  }
  for (Index i = 0; i < d; ++i) diagonal[i] = A(i, i);
  if (d > 1) off_diagonal[d - 2] = A(d - 1, d - 2);
}

struct Evidence {
  double noise, spread, effective;
};

/// The fixed point (sigma^2, tau^2) and gamma, of as many features as `b` has; G and b are used up.
inline Evidence evidence(Matrix G, Vector b, double squares, double n, double length, double noise,
                         double spread, double kept) {
  constexpr int steps = 20;
  constexpr double prior_count = 1.0, tolerance = 1e-9;
  const Index d = b.size();
  const double mean_square = squares / n;
  if (!(length > 0.0))
    return {mean_square, spread, 0.0};  // nothing but arms that are 0: the rewards are noise
  Buffer<double> buffer(4 * G.columns);
  const Vector diagonal{buffer.data(), d}, off_diagonal{buffer.data() + G.columns, d};
  const Vector pivots{buffer.data() + 2 * G.columns, d}, right{buffer.data() + 3 * G.columns, d};
  tridiagonal(G, b, diagonal, off_diagonal, pivots, right);
  double effective = 0.0;
  for (int step = 0; step < steps; ++step) {
    const double strength = strength_of(noise, spread, kept);
    pivots[0] = diagonal[0] + strength, right[0] = b[0];
    for (Index i = 1; i < d; ++i) {
      if (pivots[i - 1] == strength &&
          off_diagonal[i - 1] * off_diagonal[i - 1] > strength * (diagonal[i] + strength))
        off_diagonal[i - 1] = 0.0;  // rounding, as in DoubleDoubleFactor
      const double weight = off_diagonal[i - 1] / pivots[i - 1];
      pivots[i] = std::max(diagonal[i] + strength - weight * off_diagonal[i - 1], strength);
      right[i] = b[i] - weight * right[i - 1];
    }
    double theta = right[d - 1] / pivots[d - 1], below = diagonal[d - 1] + strength;
    if (!(below > 0.0))
      below = strength;  // rounding: the diagonal of a Gram matrix is not negative
    double trace = 1.0 / pivots[d - 1], norm = theta * theta, fit = theta * b[d - 1];
    for (Index i = d - 1; i-- > 0;) {
      theta = (right[i] - off_diagonal[i] * theta) / pivots[i];
      const double entry = diagonal[i] + strength;
      below = std::max(entry - off_diagonal[i] * off_diagonal[i] / below, strength);
      trace += 1.0 / std::max(pivots[i] + below - entry, strength);
      norm += theta * theta;
      fit += theta * b[i];
    }
    effective = std::max(double(d) - strength * trace, 0.0);
    const double residual = std::max(squares - fit - strength * norm, 0.0);
    const double last_noise = noise, last_spread = spread;
    noise = (residual + prior_count * mean_square) / (std::max(n - effective, 0.0) + prior_count);
    spread = (norm + prior_count * mean_square / length) / (effective + prior_count);
    if (std::abs(noise - last_noise) <= tolerance * noise &&
        std::abs(spread - last_spread) <= tolerance * spread)
      break;
  }
  return {noise, spread, effective};
}

/// The scales after n observations, from sum x x', sum x y and sum y^2; G and b are used up.
inline void learn_scales(Scales& scales, Matrix G, Vector b, double squares, double n, double kept,
                         bool intercept) {
  const Index d = b.size(), regressors = d - intercept;
  const double all_seen = n;
  for (Index i = 0; i < d; ++i) {
    b[i] /= unit_of(scales.sizes[i]);
    for (Index k = 0; k < d; ++k)
      G(i, k) = G(i, k) / unit_of(scales.sizes[i]) / unit_of(scales.sizes[k]);
  }
  double total = 0.0;  // of the squared lengths of features
  for (Index i = 0; i < regressors; ++i) total += G(i, i);
  if (intercept) {  // relative to the means
    squares -= b[regressors] * b[regressors] / n;
    for (Index i = 0; i < regressors; ++i) {
      for (Index k = 0; k < regressors; ++k) G(i, k) -= G(i, regressors) * G(k, regressors) / n;
      G(i, i) = std::max(G(i, i), 0.0);
      b[i] -= G(i, regressors) * b[regressors] / n;
    }
    n -= 1.0;
  }
  if (!(squares > 0.0 && n > 0.0)) return;
  const double begin = squares / n;
  const bool first = scales.noise == 0.0;
  const auto found = evidence(G, b.first(regressors), squares, n, total / all_seen,
                              first ? begin : scales.noise, first ? begin : scales.spread, kept);
  scales.noise = found.noise;
  scales.effective = found.effective;
  scales.spread =
      total > 0.0 ? std::max(found.spread, squares / total * (all_seen / n)) : found.spread;
  scales.strength = strength_of(scales.noise, scales.spread, kept);
}

}  // namespace ensample::ENSAMPLE_LEVEL
