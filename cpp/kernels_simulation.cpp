// The simulated runs of one instruction-set level: compiled once for each, with
// -DENSAMPLE_LEVEL=<its name>.
#include "kernels.hpp"

#include "simulate/bootstrap.hpp"
#include "simulate/eager.hpp"
#include "simulate/history.hpp"
#include "simulate/lazy.hpp"
#include "simulate/moving_ensemble.hpp"
#include "simulate/newton_rounds.hpp"
#include "simulate/one_estimate.hpp"

namespace ensample::ENSAMPLE_LEVEL {
namespace {

BadOption require(bool condition, const char* name, const char* expected) {
  return condition ? BadOption{} : BadOption{name, expected};
}

BadOption has_lazy_rule(const Options& options) {
  return require(options.rule != MemberRule::optimistic, "rule", "0 (random) or 1 (round robin)");
}

BadOption has_exact_kind(const Options& options) {
  if (options.kind >= exact_kinds) return {"kind", "a number of ExactKind"};
  if (options.size > 1 << 24) return {"size", "at most 2^24 members"};
  return require(options.scale <= 1e6, "scale", "at most 10^6");
}

/// For kernels that keep numbers of every member.
BadOption holds_all(const Options& options) {
  return require(options.size <= 1 << 24, "size", "at most 2^24 members, all of which are kept");
}

BadOption counts_pseudo_rewards(const Options& options) {
  return require(options.scale > 0.0 && options.scale <= 1e6, "scale",
                 "a number above 0, at most 1e6");
}

BadOption has_few_stages(const Options& options) {
  return require(options.stages <= 64, "stages", "at most 64");
}

constexpr unsigned both_streams = member_stream | perturbation_stream;

constexpr SimulationKernel table[] = {
    {"eager_ensemble", play<EagerEnsemble>, nullptr, both_streams, nullptr},
    {"eager_moving", nullptr, play_contextual<eager_moving>, both_streams, has_lazy_rule},
    {"ensemble_plus_plus", play<EnsemblePlusPlus>, nullptr, both_streams, holds_all},
    {"epsilon_greedy", play<EpsilonGreedy>, nullptr, member_stream, nullptr},
    {"fresh_moving_stream", nullptr, play_contextual<fresh_moving_stream>, perturbation_stream,
     nullptr},
    {"fresh_stream", play<FreshStreamRun>, nullptr, perturbation_stream, nullptr},
    {"gaussian_history", play<GaussianHistory>, nullptr, perturbation_stream, nullptr},
    {"informed_ensemble", play<InformedEnsemble>, nullptr, both_streams, holds_all},
    {"informed_by_fresh_members", play<InformedByFreshMembers>, nullptr, both_streams, holds_all},
    {"kveton_phe", play<KvetonPHE>, nullptr, perturbation_stream, counts_pseudo_rewards},
    {"lazy_ensemble", play<LazyEnsemble>, nullptr, both_streams, has_lazy_rule},
    {"lazy_moving", nullptr, play_contextual<lazy_moving<false>>, both_streams, has_lazy_rule},
    {"lazy_moving_stream", nullptr, play_contextual<lazy_moving<true>>, both_streams,
     has_lazy_rule},
    {"lazy_stream", play<LazyStream>, nullptr, both_streams, has_lazy_rule},
    {"linucb", play<LinUCB>, nullptr, no_stream, nullptr},
    {"moving_history", nullptr, play_contextual<moving_history>, perturbation_stream, nullptr},
    {"multiplier_bootstrap", play<MultiplierBootstrap>, nullptr, both_streams, holds_all},
    {"newton_rounds", play<NewtonRounds>, nullptr, both_streams, has_exact_kind},
    {"summed_history", play<SummedHistory>, nullptr, perturbation_stream, nullptr},
    {"sup_linucb", play<SupLinUCB>, nullptr, no_stream, has_few_stages},
};

}  // namespace

extern const std::span<const SimulationKernel> simulation_kernels;
constinit const std::span<const SimulationKernel> simulation_kernels{table};

}  // namespace ensample::ENSAMPLE_LEVEL
