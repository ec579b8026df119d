// Networks as Python hands them over: their shape, and what a round of training reads and writes.
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

enum class NetworkLoss : std::int64_t { squared, logistic };

/// How members are trained.
struct NetworkTraining {
  NetworkLoss loss;
  double rate;
  double prior;  // what multiplies the outputs of prior networks
  bool learns_scale;
  double scale;  // of perturbations: times sigma where it is learned, else in the units of the rewards
  bool learns_pull;
  double pull;  // lam where it is not learned as sigma^2 in units of the rewards' spread
};

/// Observations in memory, and what each member adds to them, by place.
struct NetworkMemory {
  Matrix features;                  // [C, d]
  Vector rewards;                   // [C]
  Ints rounds;   // [C]
  ConstMatrix perturbations;        // [C, m]
  ConstMatrix prior_outputs;        // [C, m], or [C, 0] where there are no prior networks
};

/// What an observation changes besides the memory.
struct NetworkState {
  Matrix weights;                    // [3, n] with the moments of Adam, or [1, n]
  Vector numbers;                    // [4 d + 4]: sizes, squares, seen of features; the newest features and reward; units of rewards
  Ints counts;    // [4]: observations, minibatches; round and place of the newest observation
};

/// What weights are pulled to, how strongly, by runs of equal strengths.
struct NetworkAnchor {
  ConstVector weights;                 // [n]
  ConstInts ends;  // the last being n
  ConstVector strengths;
};

/// The newest observation, and the places of memory that its minibatches learn from.
struct NewObservation {
  ConstVector x;
  double y;
  std::int64_t round, place;           // place -1: it is not kept
  ConstVector prior_outputs;           // [m] or [0], in the units before it
  ConstMatrix feature_units;           // [3, d] with it
  View<const std::int64_t> places;     // [steps, B]
};

}  // namespace ensample
