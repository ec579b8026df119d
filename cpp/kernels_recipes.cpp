// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "recipe_kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const RecipeKernels recipe_kernels;
const RecipeKernels recipe_kernels{};

}  // namespace ensample::ENSAMPLE_LEVEL
