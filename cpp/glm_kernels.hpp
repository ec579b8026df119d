// Table of the glm kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct GlmKernels {};

}  // namespace ensample
