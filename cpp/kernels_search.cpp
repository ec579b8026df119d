// Compiled once for each instruction-set level, with -DENSAMPLE_LEVEL=<its name>.
#include "search_kernels.hpp"

#include "greedy.hpp"
#include "search.hpp"

namespace ensample::ENSAMPLE_LEVEL {

extern const SearchKernels search_kernels;
const SearchKernels search_kernels{
    .greedy_arm = &greedy_arm,
    .greedy_arms = &greedy_arms,
    .scan_arms = &scan_arms,
    .encode_arms = &encode_arms,
    .find_best_arm = &find_best_arm,
    .find_best_arms = &find_best_arms,
};

}  // namespace ensample::ENSAMPLE_LEVEL
