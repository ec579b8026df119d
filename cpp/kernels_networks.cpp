// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "network_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const NetworkKernels network_kernels;
const NetworkKernels network_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
