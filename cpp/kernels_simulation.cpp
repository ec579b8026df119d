// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "simulation_kernels.hpp"

#include "simulate/eager.hpp"
#include "simulate/fresh_stream.hpp"
#include "simulate/lazy.hpp"
#include "simulate/lazy_stream.hpp"
#include "simulate/moving_ensemble.hpp"
#include "simulate/newton_rounds.hpp"

namespace ensample::ENSAMPLE_LEVEL {

namespace {

BadOption no_optimist(const Options& options, const ProblemSize&) {
  return options.stay >= 0 ? BadOption{} : BadOption{"stay", "a number of rounds, or 0 for members in turn"};
}

BadOption not_exact(const Options& options, const ProblemSize&) {
  if (options.kind >= exact_kinds) return {"kind", "a number of ExactKind"};
  if (options.size > 1 << 24) return {"size", "at most 2^24 members"};
  return options.scale <= 1e6 ? BadOption{} : BadOption{"scale", "at most 10^6"};
}

constexpr unsigned both_streams = member_stream | perturbation_stream;

constexpr SimulationKernel table[] = {
    {"eager_ensemble", eager_ensemble, nullptr, both_streams, nullptr},
    {"eager_moving", nullptr, eager_moving, both_streams, no_optimist},
    {"fresh_stream", fresh_stream, nullptr, perturbation_stream, nullptr},
    {"lazy_ensemble", lazy_ensemble, nullptr, both_streams, no_optimist},
    {"lazy_moving", nullptr, lazy_moving, both_streams, no_optimist},
    {"lazy_stream", lazy_stream, nullptr, both_streams, no_optimist},
    {"newton_rounds", newton_rounds, nullptr, both_streams, not_exact},
};

}  // namespace

extern const SimulationKernels simulation_kernels;
const SimulationKernels simulation_kernels{table};

}  // namespace ensample::ENSAMPLE_LEVEL
