// How a vector of weights of many networks is cut: for each layer matrices [m, in, out], then biases [m, out].
#pragma once

#include "views.hpp"

namespace ensample {

enum class Activation : std::int64_t { relu, leaky, tanh };

/// m networks R^d -> R of one shape.
struct NetworkShape {
  ConstInts widths;  // [L + 1], from the features to the one output
  std::size_t members;
  Activation activation;

  std::size_t layers() const { return widths.size() - 1; }
  std::size_t dim() const { return width(0); }
  std::size_t width(std::size_t k) const { return static_cast<std::size_t>(widths[k]); }
  std::size_t hidden_units() const {
    std::size_t sum = 0;
    for (std::size_t k = 1; k < layers(); ++k) sum += width(k);
    return sum;
  }
  std::size_t widest() const {
    std::size_t most = 0;
    for (std::size_t k = 1; k < layers(); ++k) most = most < width(k) ? width(k) : most;
    return most;
  }
  /// Where the matrices of a layer begin; of layer L, the number of all weights.
  std::size_t begin(std::size_t layer) const {
    std::size_t place = 0;
    for (std::size_t k = 0; k < layer; ++k) place += members * (width(k) + 1) * width(k + 1);
    return place;
  }
  std::size_t weights() const { return begin(layers()); }

  template <class T>
  View<T> matrix(std::span<T> values, std::size_t layer, std::size_t member) const {
    const std::size_t in = width(layer), out = width(layer + 1);
    return {values.data() + begin(layer) + member * in * out, in, out};
  }
  template <class T>
  std::span<T> bias(std::span<T> values, std::size_t layer, std::size_t member) const {
    const std::size_t in = width(layer), out = width(layer + 1);
    return {values.data() + begin(layer) + (members * in + member) * out, out};
  }
};

}  // namespace ensample
