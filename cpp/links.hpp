// Canonical links: A', A'' and A''' of a generalised linear model with E[Y | x] = A'(x'theta).
#pragma once

#include "kernels.hpp"
#include "math.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// exp(-|u|), over and under 1 + exp(-|u|): of u >= 0 the chances of 0 and of 1.
struct Chances {
  double small, large;

  explicit Chances(double u) {
    const double decay = exp(-std::abs(u));
    large = 1.0 / (1.0 + decay);
    small = decay * large;
  }
};

/// A'(u), the mean of a reward with linear predictor u.
inline double link_mean(Link link, double u) {
  if (link == Link::identity) return u;
  const Chances chances(u);
  return u >= 0.0 ? chances.large : chances.small;
}

/// A''(u), its variance.
inline double link_slope(Link link, double u) {
  if (link == Link::identity) return 1.0;
  const Chances chances(u);
  return chances.small * chances.large;
}

/// A'(u) - y, A''(u) and A'''(u). The first of clicks is (1 - y) A'(u) - y A'(-u), which keeps its digits where the mean is
/// nearly y.
struct LinkValues {
  double error, slope, third;
};

inline LinkValues link_at(Link link, double u, double y) {
  if (link == Link::identity) return {u - y, 1.0, 0.0};
  const Chances chances(u);
  const double mean = u >= 0.0 ? chances.large : chances.small, other = u >= 0.0 ? chances.small : chances.large;
  const double slope = mean * other;
  return {(1.0 - y) * mean - y * other, slope, slope * (other - mean)};
}

}  // namespace ensample::ENSAMPLE_LEVEL
