// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "linear_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
