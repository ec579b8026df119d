// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "simulation_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const SimulationKernels simulation_kernels;
const SimulationKernels simulation_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
