#include "kernels.hpp"

#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ensample {

#if defined(ENSAMPLE_HAS_portable)
namespace portable {
extern const Kernels all_kernels;
}
#endif
#if defined(ENSAMPLE_HAS_x86_64)
namespace x86_64 {
extern const Kernels all_kernels;
}
#endif
#if defined(ENSAMPLE_HAS_x86_64_v3)
namespace x86_64_v3 {
extern const Kernels all_kernels;
}
#endif
#if defined(ENSAMPLE_HAS_x86_64_v4)
namespace x86_64_v4 {
extern const Kernels all_kernels;
}
#endif

namespace {

#if defined(__x86_64__)
/// Result of CPUID for one leaf: zeros if the processor does not have it.
struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  explicit Cpuid(unsigned leaf) { __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx); }
};

constexpr bool has_all(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

/// Return the registers that the operating system saves (XCR0).
unsigned saved_registers() {
  if (!has_all(Cpuid(1).ecx, bit_OSXSAVE)) return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Return 1, 3 or 4: the highest x86-64 level of this machine that kernels are compiled for.
/// __builtin_cpu_supports would be shorter, but does not link into every shared object.
int machine_level() {
  constexpr unsigned ymm = 0x06, zmm = 0xe6, bit_lzcnt = 1u << 5;
  const unsigned saved = saved_registers(), extended = Cpuid(7).ebx;
  const bool v3 =
      has_all(saved, ymm) && has_all(Cpuid(1).ecx, bit_AVX | bit_FMA | bit_F16C | bit_MOVBE) &&
      has_all(extended, bit_AVX2 | bit_BMI | bit_BMI2) && has_all(Cpuid(0x80000001).ecx, bit_lzcnt);
  const bool v4 =
      v3 && has_all(saved, zmm) &&
      has_all(extended, bit_AVX512F | bit_AVX512VL | bit_AVX512BW | bit_AVX512DQ | bit_AVX512CD);
  return v4 ? 4 : v3 ? 3 : 1;
}
#endif

std::vector<const Kernels*> find_usable() {
  std::vector<const Kernels*> found;
#if defined(ENSAMPLE_HAS_portable)
  found.push_back(&portable::all_kernels);
#endif
#if defined(ENSAMPLE_HAS_x86_64)
  found.push_back(&x86_64::all_kernels);
#endif
#if defined(ENSAMPLE_HAS_x86_64_v3)
  if (machine_level() >= 3) found.push_back(&x86_64_v3::all_kernels);
#endif
#if defined(ENSAMPLE_HAS_x86_64_v4)
  if (machine_level() >= 4) found.push_back(&x86_64_v4::all_kernels);
#endif
  return found;
}

}  // namespace

std::span<const Kernels* const> usable_kernels() {
  static const std::vector<const Kernels*> usable = find_usable();
  return usable;
}

const Kernels* kernels = usable_kernels().back();

}  // namespace ensample
