// Table of the glm kernels, one for each instruction-set level.
#pragma once

#include "random.hpp"
#include "views.hpp"

namespace ensample {

enum class MathFunction { exp, expm1, log, log1p, log2, tanh };
enum class Draw { uniform, normal, binomial_half };

struct GlmKernels {
  void (*evaluate)(MathFunction function, ConstVector values, Vector out);
  void (*draw)(Draw distribution, std::int64_t trials, Generator rng, Vector out);
};

}  // namespace ensample
