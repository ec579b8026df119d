// Laws of perturbations. What a lazy member needs of one: the sum of n draws, in one step where there is a formula.
#pragma once

#include <cmath>

#include "simd.hpp"
#include "random.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

struct Gaussian {
  static constexpr bool gaussian = true;
  double scale;

  double sum(std::int64_t n, Generator rng) const { return scale * std::sqrt(static_cast<double>(n)) * rng.normal(); }
  void fill(Vector out, Generator rng) const {
    for (double& z : out) z = scale * rng.normal();
  }
};

/// A centred binomial of so many trials; of one it is Rademacher's.
struct Binomial {
  static constexpr bool gaussian = false;
  double scale;
  std::int64_t trials;

  double sum(std::int64_t n, Generator rng) const;
  void fill(Vector out, Generator rng) const {
    for (double& z : out) z = sum(1, rng);
  }
};

struct Uniform {
  static constexpr bool gaussian = false;
  double scale;

  double sum(std::int64_t n, Generator rng) const {
    double total = 0.0;
    for (; n > 0; --n) total += 2.0 * rng.uniform() - 1.0;
    return std::sqrt(3.0) * scale * total;
  }
  void fill(Vector out, Generator rng) const {
    for (double& z : out) z = sum(1, rng);
  }
};

/// Uniform on a sphere: of initial vectors only.
struct Sphere {
  static constexpr bool gaussian = false;
  double scale;

  void fill(Vector out, Generator rng) const {
    double squares = 0.0;
    for (double& z : out) {
      z = rng.normal();
      squares += z * z;
    }
    for (double& z : out) z *= scale * std::sqrt(static_cast<double>(out.size()) / squares);
  }
};

}  // namespace ensample::ENSAMPLE_LEVEL
