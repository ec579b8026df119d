// Forgetting: an observation counts half as much after every half-life. The rate is log 2 / half-life, 0 if nothing is forgotten.
#pragma once

#include "math.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// g = 2^(-1 / half-life), the weight that an observation keeps after one more.
inline double kept_share(double rate) { return exp(-rate); }

/// 1 + g + ... + g^(count - 1): how many full observations `count` faded ones are worth.
inline double effective_count(double count, double rate) {
  return rate > 0.0 ? expm1(-rate * count) / expm1(-rate) : count;
}

}  // namespace ensample::ENSAMPLE_LEVEL
