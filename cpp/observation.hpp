// What ridge regression learns of an observation.
#pragma once

#include "linear_kernels.hpp"
#include "stream.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// Call learn(sqrt(w) x, r) with what ridge regression learns of an observation of a generalised linear model.
template <class Learn>
void as_response(const RidgeState& ridge, const Observation& observed, Learn&& learn) {
  const auto response = respond(ridge, observed.link, observed.x, observed.y);
  Buffer<double> weighted(observed.x.size(), Fill::none);
  for (std::size_t i = 0; i < observed.x.size(); ++i) weighted[i] = response.root_weight * observed.x[i];
  learn(ConstVector{weighted.data(), weighted.size()}, response.reward);
}

/// Call learn(x, y) with features and reward as they are learned: with an intercept (x, 1), and y less the first reward, which
/// `origin` [1] keeps; by a link as responses; else as they are.
template <class Learn>
void as_learned(const RidgeState& ridge, const Observation& observed, Learn&& learn) {
  if (observed.link != Link::identity) return as_response(ridge, observed, learn);
  if (observed.origin.empty()) return learn(observed.x, observed.y);
  if (ridge.seen == 0.0) observed.origin[0] = observed.y;
  Buffer<double> buffer(observed.x.size() + 1, Fill::none);
  for (std::size_t i = 0; i < observed.x.size(); ++i) buffer[i] = observed.x[i];
  buffer[observed.x.size()] = 1.0;
  learn(ConstVector{buffer.data(), buffer.size()}, observed.y - observed.origin[0]);
}

}  // namespace ensample::ENSAMPLE_LEVEL
