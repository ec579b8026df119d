// exp, log and functions made of them: the same bits on every machine, unlike those of the C
// library.
//
// Every product and sum is rounded by itself in the order written here. Errors are below 0.52 units
// in the last place for exp, log and log2, 0.7 for expm1 and log1p, 1.8 for tanh
// (tests/core/test_math.py). In an anonymous namespace: each instruction set has copies of its own,
// and files without kernels may include this one.
//
// P. T. P. Tang, "Table-driven implementation of the exponential function", ACM TOMS 15 (1989), and
// "... of the logarithm function", ACM TOMS 16 (1990).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "math_tables.hpp"

namespace ensample {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// 2^k for -1022 <= k <= 1023.
inline double power_of_two(Int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

/// A number without the last 27 of its 53 digits: products of two such numbers are exact.
inline double leading_half(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~0x7ffffffull);
}

/// exp(x) = 2^exponent (high + low).
struct ExpParts {
  double high, low;
  Int exponent;
};

inline ExpParts exp_parts(double x) {
  constexpr double steps_per_unit = 0x1.71547652b82fep+6;  // 64 / log 2
  constexpr double step_high = 0x1.62e42fefa0000p-7;
  constexpr double step_low = 0x1.cf79abc9e3b3ap-46;  // log 2 / 64
  constexpr double rounder = 0x1.8p52;  // adding it leaves a whole number in the last digits
  const double shifted = x * steps_per_unit + rounder, steps = shifted - rounder;
  const auto n = Int(std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(rounder));
  const double r = (x - steps * step_high) - steps * step_low;
  const double square = r * r;  // |r| <= log 2 / 128
  const double tail =
      (0.5 + r * (1.0 / 6)) + square * ((1.0 / 24 + r * (1.0 / 120)) + square * (1.0 / 720));
  const auto& power = math_tables::powers[n & 63];
  return {power.high, power.low + power.high * (r + square * tail), n >> 6};
}

[[maybe_unused]] inline double exp(double x) {
  const double within = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;  // beyond are infinity and 0
  const auto parts = exp_parts(within);
  const Int first = parts.exponent >> 1;  // in two steps: the result may be subnormal
  return (parts.high + parts.low) * power_of_two(first) * power_of_two(parts.exponent - first);
}

/// exp(x) - 1 for |x| <= 1/8, by its series.
inline double small_expm1(double x) {
  const double square = x * x, fourth = square * square;
  const double low = (1.0 / 2 + x * (1.0 / 6)) + square * (1.0 / 24 + x * (1.0 / 120));
  const double middle =
      (1.0 / 720 + x * (1.0 / 5040)) + square * (1.0 / 40320 + x * (1.0 / 362880));
  return x + square * (low + fourth * (middle + fourth * (1.0 / 3628800 + x * (1.0 / 39916800))));
}

[[maybe_unused]] inline double expm1(double x) {
  if (std::abs(x) <= 0.125) return small_expm1(x);
  if (!(x < 700.0)) return exp(x);
  if (x < -40.0) return -1.0;
  const auto parts = exp_parts(x);
  const double scale = power_of_two(parts.exponent), high = scale * parts.high;
  const double less = high - 1.0, part = less - high;
  const double lost = (high - (less - part)) + (-1.0 - part);  // two_sum
  return less + (lost + scale * parts.low);
}

/// log(x) = high + low, |high| much larger than |low|.
struct LogParts {
  double high, low;
};

/// The logarithm of a normal positive number.
inline LogParts log_parts(double x) {
  constexpr std::uint64_t start = 0x3fe6000000000000;  // 11/16, where the first interval begins
  constexpr double log2_high = 0x1.62e42fefa3800p-1;
  constexpr double log2_low = 0x1.ef35793c76730p-45;  // high a multiple of 2^-42
  const auto bits = std::bit_cast<std::uint64_t>(x), from_start = bits - start;
  const auto k = double(Int(from_start) >> 52);
  const double z = std::bit_cast<double>(bits - (from_start & 0xfffull << 52));  // x = 2^k z
  const auto& c = math_tables::reciprocals[from_start >> 45 & 127];
  const double z_high = leading_half(z), a = z_high * c.value - 1.0,
               b = (z - z_high) * c.value;                      // exact
  const double r = a + b, r_low = (a - r) + b, square = r * r;  // z c - 1, |r| <= 2^-7
  const double third = 1.0 / 3 + r * (-1.0 / 4), fifth = 1.0 / 5 + r * (-1.0 / 6);
  const double seventh = 1.0 / 7 + r * (-1.0 / 8);
  const double remainder = square * (-0.5 + r * (third + square * (fifth + square * seventh)));
  const double known = k * log2_high + c.log_high, high = known + r;  // the first sum is exact
  return {high, ((known - high) + r) + (((r_low + c.log_low) + k * log2_low) + remainder)};
}

/// log x, or NaN or an infinity where it is that; of a subnormal x it is that of 2^54 x, less
/// `log_of_shift`.
template <class Log>
double log_or_limit(double x, Log log_of, double log_of_shift) {
  if (x >= std::numeric_limits<double>::min() && x < infinity) [[likely]]
    return log_of(x);
  if (x == 0.0) return -infinity;
  if (!(x > 0.0)) return not_a_number;
  return x == infinity ? x : log_of(x * 0x1p54) - log_of_shift;
}

[[maybe_unused]] inline double log(double x) {
  const auto normal = [](double u) {
    const auto parts = log_parts(u);
    return parts.high + parts.low;
  };
  return log_or_limit(x, normal, 0x1.2b708872320e2p+5);  // 54 log 2
}

[[maybe_unused]] inline double log2(double x) {
  constexpr double high = 0x1.7154768p+0;
  constexpr double low = -0x1.6a3e80f444178p-27;  // 1 / log 2, the first of 26 digits
  const auto normal = [](double u) {
    const auto parts = log_parts(u);
    const double sum = parts.high + parts.low, rest = (parts.high - sum) + parts.low;
    const double leading = leading_half(sum);
    return leading * high + (((sum - leading) + rest) * high + sum * low);
  };
  return log_or_limit(x, normal, 54.0);
}

[[maybe_unused]] inline double log1p(double x) {
  if (!(x > -1.0)) return x == -1.0 ? -infinity : not_a_number;
  if (x == infinity) return x;
  const double sum = 1.0 + x, part = sum - 1.0, lost = (1.0 - (sum - part)) + (x - part);
  const auto parts = log_parts(sum);
  return parts.high + (parts.low + lost / sum);
}

[[maybe_unused]] inline double tanh(double x) {
  const double twice = 2.0 * std::abs(x);
  if (!(twice < 2.0)) return std::copysign(1.0 - 2.0 / (exp(twice) + 1.0), x);
  const double more = expm1(twice), sum = 2.0 + more, lost = (2.0 - sum) + more;
  const double quotient = more / sum;
  return std::copysign(quotient - quotient * lost / sum, x);
}

}  // namespace
}  // namespace ensample
