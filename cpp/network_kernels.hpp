// Table of the kernels of networks, one for each instruction-set level.
#pragma once

#include "networks/learning.hpp"
#include "networks/shape.hpp"
#include "views.hpp"

namespace ensample {

struct NetworkKernels {
  void (*outputs)(const NetworkShape&, ConstVector weights, std::size_t first, ConstMatrix rows, Matrix outputs);
  void (*gradient)(const NetworkShape&, ConstVector weights, ConstMatrix rows, ConstMatrix slopes, Vector gradient);
  bool (*learn)(const NetworkShape&, const NetworkTraining&, const NetworkAnchor&, const NetworkState&, const NetworkMemory&,
                const NewObservation&, double* workspace);
  std::size_t (*workspace_size)(const NetworkShape&, std::size_t planes, std::size_t batch);
  void (*scale_rows)(ConstMatrix rows, ConstVector sizes, Matrix seen);
  void (*learn_sizes)(Vector sizes, Vector squares, Vector seen, ConstVector x, std::int64_t count);
};

}  // namespace ensample
