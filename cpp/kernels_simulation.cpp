// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "simulation_kernels.hpp"

#include "simulate/lazy.hpp"

namespace ensample::ENSAMPLE_LEVEL {

namespace {

BadOption no_optimist(const Options& options, const ProblemSize&) {
  return options.stay >= 0 ? BadOption{} : BadOption{"stay", "a number of rounds, or 0 for members in turn"};
}

constexpr unsigned both_streams = member_stream | perturbation_stream;

constexpr SimulationKernel table[] = {
    {"lazy_ensemble", lazy_ensemble, nullptr, both_streams, no_optimist},
};

}  // namespace

extern const SimulationKernels simulation_kernels;
const SimulationKernels simulation_kernels{table};

}  // namespace ensample::ENSAMPLE_LEVEL
