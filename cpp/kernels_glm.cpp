// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "glm_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const GlmKernels glm_kernels;
const GlmKernels glm_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
