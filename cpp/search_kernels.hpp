// Table of the search kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct SearchKernels {};

}  // namespace ensample
