// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "network_kernels.hpp"
#include "networks/round.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const NetworkKernels network_kernels;
const NetworkKernels network_kernels{&outputs_of, &gradient_of, &learn_networks, &workspace_size, &scale_rows, &learn_sizes};

}  // namespace ensample::ENSAMPLE_LEVEL
