// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "kernels.hpp"

#include "simulate/eager.hpp"
#include "simulate/ensemble_plus_plus.hpp"
#include "simulate/fresh_stream.hpp"
#include "simulate/greedy.hpp"
#include "simulate/history.hpp"
#include "simulate/information_directed.hpp"
#include "simulate/kveton_phe.hpp"
#include "simulate/lazy.hpp"
#include "simulate/lazy_stream.hpp"
#include "simulate/linucb.hpp"
#include "simulate/moving_ensemble.hpp"
#include "simulate/multiplier_bootstrap.hpp"
#include "simulate/newton_rounds.hpp"
#include "simulate/sup_linucb.hpp"

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

/// Of kernels that keep numbers of every member.
BadOption holds_all(const Options& options, const ProblemSize&) {
  return options.size <= std::int64_t{1} << 24 ? BadOption{} : BadOption{"size", "at most 2^24 members, all of which are kept"};
}

BadOption counts_pseudo_rewards(const Options& options, const ProblemSize&) {
  return options.scale > 0.0 && options.scale <= 1e6 ? BadOption{} : BadOption{"scale", "a number above 0, at most 1e6"};
}

BadOption has_few_stages(const Options& options, const ProblemSize&) {
  return options.stages <= 64 ? BadOption{} : BadOption{"stages", "at most 64"};
}

constexpr unsigned both_streams = member_stream | perturbation_stream;

constexpr SimulationKernel table[] = {
    {"eager_ensemble", eager_ensemble, nullptr, both_streams, nullptr},
    {"eager_moving", nullptr, eager_moving, both_streams, no_optimist},
    {"ensemble_plus_plus", ensemble_plus_plus, nullptr, both_streams, holds_all},
    {"epsilon_greedy", epsilon_greedy, nullptr, member_stream, nullptr},
    {"fresh_moving_stream", nullptr, fresh_moving_stream, perturbation_stream, nullptr},
    {"fresh_stream", fresh_stream, nullptr, perturbation_stream, nullptr},
    {"gaussian_history", gaussian_history, nullptr, perturbation_stream, nullptr},
    {"informed_ensemble", informed_ensemble, nullptr, both_streams, holds_all},
    {"informed_by_fresh_members", informed_by_fresh_members, nullptr, both_streams, holds_all},
    {"kveton_phe", play<KvetonPHE>, nullptr, perturbation_stream, counts_pseudo_rewards},
    {"lazy_ensemble", play<LazyEnsemble>, nullptr, both_streams, no_optimist},
    {"lazy_moving", nullptr, lazy_moving, both_streams, no_optimist},
    {"lazy_moving_stream", nullptr, lazy_moving_stream, both_streams, no_optimist},
    {"lazy_stream", play<LazyStream>, nullptr, both_streams, no_optimist},
    {"linucb", play<LinUCB>, nullptr, no_stream, nullptr},
    {"moving_history", nullptr, moving_history, perturbation_stream, nullptr},
    {"multiplier_bootstrap", multiplier_bootstrap, nullptr, both_streams, holds_all},
    {"newton_rounds", play<NewtonRounds>, nullptr, both_streams, not_exact},
    {"summed_history", summed_history, nullptr, perturbation_stream, nullptr},
    {"sup_linucb", sup_linucb, nullptr, no_stream, has_few_stages},
};

}  // namespace

extern const std::span<const SimulationKernel> simulation_kernels;
constinit const std::span<const SimulationKernel> simulation_kernels{table};

}  // namespace ensample::ENSAMPLE_LEVEL
