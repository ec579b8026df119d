// Table of the network kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct NetworkKernels {};

}  // namespace ensample
