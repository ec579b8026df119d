// NumPy's random numbers, drawn from the raw words of its bit generators by their public C
// structure: NumPy promises the words of a bit generator, not what its distributions make of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "math.hpp"
#include "views.hpp"
#include "ziggurat.hpp"

extern "C" {
#include <numpy/random/bitgen.h>
}

namespace ensample {

/// A stream of random numbers, which Python owns.
///
/// Numbers are those of numpy.random.Generator with PCG64, Philox or SFC64. Of normals, one in
/// 4,000 comes from the tail of the ziggurat and may differ from NumPy's in the last digit, by the
/// logarithm.
struct Generator {
  bitgen_t* bits;

  [[gnu::always_inline]] std::uint64_t word() const { return bits->next_uint64(bits->state); }
  /// Uniform on [0, 1): 53 bits.
  [[gnu::always_inline]] double uniform() const { return double(Int(word() >> 11)) * 0x1p-53; }
  /// Uniform on 0, ..., size - 1.
  [[gnu::always_inline]] Index index(Index size) const { return Index(uniform() * double(size)); }
  [[gnu::always_inline]] double normal() const;
  /// Number of heads among `trials` of a coin.
  [[gnu::always_inline]] Int binomial_half(Int trials) const;
};

namespace {  // each instruction set has one of its own: the linker would keep any of them

[[gnu::noinline, maybe_unused]] double normal_tail(Generator rng, bool negative) {
  for (;;) {
    const double x = -ziggurat::inverse_right_end * log1p(-rng.uniform());
    const double y = -log1p(-rng.uniform());
    if (y + y > x * x) return negative ? -(ziggurat::right_end + x) : ziggurat::right_end + x;
  }
}

/// Binomial(n, 1/2) by inversion, for n <= 60.
[[gnu::noinline, maybe_unused]] Int invert_binomial_half(Generator rng, Int n) {
  const auto trials = double(n);
  const double none = power_of_two(-n), mean = trials * 0.5, spread = std::sqrt(mean * 0.5 + 1.0);
  const double bound = std::min(trials, mean + 10.0 * spread);
  for (;;) {
    double u = rng.uniform(), chance = none, heads = 0.0;
    while (u > chance) {
      heads += 1.0;
      if (heads > bound) break;
      u -= chance;
      chance = ((trials - heads + 1.0) * 0.5 * chance) / (heads * 0.5);
    }
    if (!(heads > bound)) return Int(heads);
  }
}

/// Binomial(n, 1/2) by rejection from a triangle, two parallelograms and two exponential tails, for
/// n > 60: BTPE of V. Kachitvichyanukul and B. W. Schmeiser, Communications of the ACM 31 (1988),
/// in the order of NumPy's steps.
class BinomialHalf {
 public:
  explicit BinomialHalf(Int trials)
      : n(double(trials)), variance(n * 0.5 * 0.5), centre(n * 0.5 + 0.5), mode(std::floor(centre)),
        p1(std::floor(2.195 * std::sqrt(variance) - 4.6 * 0.5) + 0.5), middle(mode + 0.5),
        left(middle - p1), right(middle + p1), c(0.134 + 20.5 / (15.3 + mode)) {
    const double a = (centre - left) / (centre - left * 0.5), b = (right - centre) / (right * 0.5);
    left_rate = a * (1.0 + a / 2.0);
    right_rate = b * (1.0 + b / 2.0);
    p2 = p1 * (1.0 + 2.0 * c);
    p3 = p2 + c / left_rate;
    p4 = p3 + c / right_rate;
  }

  Int draw(Generator rng) const {
    for (;;) {
      const double u = rng.uniform() * p4;
      double v = rng.uniform(), y;
      if (u <= p1) return Int(std::floor(middle - p1 * v + u));
      if (u <= p2) {
        const double x = left + (u - p1) / c;
        v = v * c + 1.0 - std::abs(mode - x + 0.5) / p1;
        if (v > 1.0) continue;
        y = std::floor(x);
      } else if (v == 0.0) {
        continue;
      } else if (u <= p3) {
        y = std::floor(left + log(v) / left_rate);
        if (y < 0.0) continue;
        v = v * (u - p2) * left_rate;
      } else {
        y = std::floor(right - log(v) / right_rate);
        if (y > n) continue;
        v = v * (u - p3) * right_rate;
      }
      if (accepts(y, v)) return Int(y);
    }
  }

 private:
  double n, variance, centre, mode, p1, middle, left, right, c, left_rate, right_rate, p2, p3, p4;

  /// Return true if v is at most the chance of y over that of the mode.
  bool accepts(double y, double v) const {
    const double k = std::abs(y - mode);
    if (!(k > 20.0 && k < variance / 2.0 - 1.0)) return v <= ratio(y);
    const double rho =
        (k / variance) * ((k * (k / 3.0 + 0.625) + 0.16666666666666666) / variance + 0.5);
    const double t = -k * k / (2.0 * variance), level = log(v);
    if (level < t - rho) return true;
    return !(level > t + rho) && level <= log_ratio(y);
  }

  double ratio(double y) const {
    double product = 1.0;
    for (double i = mode + 1.0; i <= y; i += 1.0) product *= (n + 1.0) / i - 1.0;
    for (double i = y + 1.0; i <= mode; i += 1.0) product /= (n + 1.0) / i - 1.0;
    return product;
  }

  /// By Stirling's formula as NumPy before 2.5 had it: the constant should be 13860 and the last
  /// two signs minus (numpy#31238). Frozen simulated runs have these draws; one in 10,000 would
  /// change.
  double log_ratio(double y) const {
    const double x1 = y + 1.0, f1 = mode + 1.0, z = n + 1.0 - mode, w = n - y + 1.0;
    return middle * log(f1 / x1) + (n - mode + 0.5) * log(z / w) +
           (y - mode) * log(w * 0.5 / (x1 * 0.5)) + stirling(f1) + stirling(z) + stirling(x1) +
           stirling(w);
  }

  static double stirling(double x) {
    const double square = x * x;
    return (13680.0 - (462.0 - (132.0 - (99.0 - 140.0 / square) / square) / square) / square) / x /
           166320.0;
  }
};

[[gnu::noinline, maybe_unused]] Int reject_binomial_half(Generator rng, Int n) {
  return BinomialHalf(n).draw(rng);
}

}  // namespace

/// As NumPy's random_standard_normal. That branches on the sign, a coin's, and takes three times as
/// long.
inline double Generator::normal() const {
  for (;;) {
    const std::uint64_t bits_drawn = word(), layer = bits_drawn & 0xff;
    const std::uint64_t size = bits_drawn >> 9 & 0xfffffffffffff;
    const double x = double(Int(size)) * ziggurat::w[layer];
    const double signed_x =
        std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ (bits_drawn & 0x100) << 55);
    if (size < ziggurat::k[layer]) [[likely]]
      return signed_x;
    if (layer == 0) return normal_tail(*this, size >> 8 & 1);
    const double high = ziggurat::f[layer - 1], low = ziggurat::f[layer];
    if ((high - low) * uniform() + low < exp(-0.5 * signed_x * signed_x)) return signed_x;
  }
}

inline Int Generator::binomial_half(Int trials) const {
  if (trials <= 0) return 0;
  return trials <= 60 ? invert_binomial_half(*this, trials) : reject_binomial_half(*this, trials);
}

}  // namespace ensample
