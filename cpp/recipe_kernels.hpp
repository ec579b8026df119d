// Table of the kernels of other linear recipes, one for each instruction-set level.
#pragma once

#include "views.hpp"

namespace ensample {

struct RecipeKernels {};

}  // namespace ensample
