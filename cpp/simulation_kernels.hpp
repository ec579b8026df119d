// Table of the simulation kernels, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct SimulationKernels {};

}  // namespace ensample
