// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "search_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const SearchKernels search_kernels;
const SearchKernels search_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
