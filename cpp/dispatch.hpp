// Kernels by instruction-set level: each level is a table of tables, chosen when the module is imported.
#pragma once

#include <span>

#include "glm_kernels.hpp"
#include "linear_kernels.hpp"
#include "network_kernels.hpp"
#include "recipe_kernels.hpp"
#include "search_kernels.hpp"
#include "simulation_kernels.hpp"

namespace ensample {

struct Kernels {
  const char* name;  // of the level
  const GlmKernels& glm;
  const LinearKernels& linear;
  const NetworkKernels& networks;
  const RecipeKernels& recipes;
  const SearchKernels& search;
  const SimulationKernels& simulation;
};

/// Return the levels that this build has and this machine can run, the plainest first.
std::span<const Kernels* const> usable_kernels();

/// The level in use: the last of `usable_kernels()`, unless a test chooses another.
extern const Kernels* kernels;

}  // namespace ensample
