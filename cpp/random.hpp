// NumPy's random numbers: its bit generators by their public C structure, its distributions by the library that its wheels
// carry for C extensions (numpy/random/lib), which is linked in.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ziggurat.hpp"

extern "C" {
#include <numpy/random/bitgen.h>
std::int64_t random_binomial(bitgen_t* bits, double chance, std::int64_t n, void* known);
}

namespace ensample {

namespace {  // each instruction set has one of its own: the linker would keep any of them

[[gnu::noinline, maybe_unused]] double normal_tail(bitgen_t* bits, bool negative) {
  for (;;) {
    const double x = -ziggurat::inverse_right_end * std::log1p(-bits->next_double(bits->state));
    const double y = -std::log1p(-bits->next_double(bits->state));
    if (y + y > x * x) return negative ? -(ziggurat::right_end + x) : ziggurat::right_end + x;
  }
}

}  // namespace

/// A stream of random numbers that somebody else owns.
struct Generator {
  bitgen_t* bits;

  [[gnu::always_inline]] double uniform() const { return bits->next_double(bits->state); }
  /// As NumPy's random_standard_normal, bit for bit. That branches on the sign, a coin's, and takes three times as long.
  [[gnu::always_inline]] double normal() const {
    for (;;) {
      const std::uint64_t word = bits->next_uint64(bits->state), layer = word & 0xff, size = word >> 9 & 0xfffffffffffff;
      const double x = static_cast<double>(static_cast<std::int64_t>(size)) * ziggurat::w[layer];
      const double signed_x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ (word & 0x100) << 55);
      if (size < ziggurat::k[layer]) [[likely]]
        return signed_x;
      if (layer == 0) return normal_tail(bits, size >> 8 & 1);
      const double high = ziggurat::f[layer - 1], low = ziggurat::f[layer];
      if ((high - low) * uniform() + low < std::exp(-0.5 * signed_x * signed_x)) return signed_x;
    }
  }
  [[gnu::always_inline]] std::int64_t binomial_half(std::int64_t tosses) const {
    alignas(16) unsigned char known[256] = {};  // NumPy's binomial_t, to which nothing is known yet
    return random_binomial(bits, 0.5, tosses, known);
  }
};

}  // namespace ensample
