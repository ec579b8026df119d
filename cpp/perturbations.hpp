// Laws of perturbations. What a lazy member needs of one: the sum of n draws, in one step where there is a formula.
#pragma once

#include <cmath>

#include "simd.hpp"
#include "random.hpp"
#include "simulate/state.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The sum of n draws: one step for Gaussian and binomial laws, n steps for the uniform one.
inline double draw_sum(const Law& law, std::int64_t n, Generator rng) {
  if (law.kind == LawKind::gaussian) return law.scale * std::sqrt(static_cast<double>(n)) * rng.normal();
  if (law.kind == LawKind::binomial) {
    const std::int64_t count = n * law.trials;
    const std::int64_t heads = count > 1 ? rng.binomial_half(count) : rng.uniform() < 0.5;
    return law.scale / std::sqrt(static_cast<double>(law.trials)) * (2.0 * static_cast<double>(heads) - static_cast<double>(count));
  }
  double total = 0.0;
  for (; n > 0; --n) total += 2.0 * rng.uniform() - 1.0;
  return std::sqrt(3.0) * law.scale * total;
}

/// Draw an initial vector W.
inline void draw_vector(const Law& law, Vector out, Generator rng) {
  if (law.kind == LawKind::sphere) {
    double squares = 0.0;
    for (double& z : out) {
      z = rng.normal();
      squares += z * z;
    }
    for (double& z : out) z *= law.scale * std::sqrt(static_cast<double>(out.size()) / squares);
  } else if (law.kind == LawKind::gaussian) {
    for (double& z : out) z = law.scale * rng.normal();
  } else {
    for (double& z : out) z = draw_sum(law, 1, rng);
  }
}

}  // namespace ensample::ENSAMPLE_LEVEL
