// Arguments of calls that learn by ridge regression, checked.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "linear_kernels.hpp"

namespace ensample {

/// Return the dimension d of a state [3d + 9, d], or [3d + 11, d] where the past fades.
inline std::size_t dim_of_state(const Array2<double>& state) {
  const std::size_t d = state.shape[1], rest = state.shape[0] - 3 * d;
  require(d > 0 && state.shape[0] > 3 * d && (rest == 9 || rest == 11), "state", "a ridge regression, [3d + 9, d] or [3d + 11, d]");
  return d;
}

inline bool fades(const Array2<double>& state) { return state.shape[0] == 3 * state.shape[1] + 11; }

/// How scales are learned: not at all if `scales` is None.
inline ScaleLearning learning_of(const std::optional<Array2<double>>& scales, std::size_t d, double strength, bool sizes_given,
                                 bool intercept) {
  if (!scales) return {{}, strength, sizes_given, intercept};
  require(scales->shape[0] == 6 && scales->shape[1] == d, "scales", "None or [6, d]");
  return {view_of(*scales), strength, sizes_given, intercept};
}

/// A link that the core knows, by its code; the identity for None.
inline Link link_of(std::optional<std::int64_t> code) {
  require(!code || *code == static_cast<std::int64_t>(Link::logistic) || *code == static_cast<std::int64_t>(Link::identity), "link",
          "None or the code of a link that the core knows");
  return code ? static_cast<Link>(*code) : Link::identity;
}

/// Features [d] and a reward; with an `origin` [1] the state has a constant feature beside them.
inline Observation observation_of(const Array1<const double>& x, double y, const std::optional<Array1<double>>& origin, std::size_t d,
                                  std::optional<std::int64_t> link = {}) {
  require(!origin || origin->shape[0] == 1, "origin", "None or an array of 1 number");
  require(x.shape[0] + (origin ? 1 : 0) == d, "x", "one number for each feature of the state");
  require(!origin || !link, "link", "None where there is an origin");
  return {span_of(x), y, origin ? span_of(*origin) : Vector{}, link_of(link)};
}

}  // namespace ensample
