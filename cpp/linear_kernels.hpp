// Table of the linear kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct LinearKernels {};

}  // namespace ensample
