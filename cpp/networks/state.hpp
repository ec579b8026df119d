// Networks as Python hands them over: their shape, and what a round of training reads and writes.
#pragma once

#include "views.hpp"

namespace ensample {

enum class Activation : Int { relu, leaky, tanh };

/// m networks R^d -> R of one shape.
struct NetworkShape {
  ConstInts widths;  // [L + 1], from the features to the one output
  Index members;
  Activation activation;

  Index layers() const { return widths.size() - 1; }
  Index dim() const { return width(0); }
  Index width(Index k) const { return Index(widths[k]); }
  Index hidden_units() const {
    Index sum = 0;
    for (Index k = 1; k < layers(); ++k) sum += width(k);
    return sum;
  }
  Index widest() const {
    Index most = 0;
    for (Index k = 1; k < layers(); ++k) most = most < width(k) ? width(k) : most;
    return most;
  }
  /// Return the index of the first matrix of a layer; of layer L, the number of all weights.
  Index begin(Index layer) const {
    Index place = 0;
    for (Index k = 0; k < layer; ++k) place += members * (width(k) + 1) * width(k + 1);
    return place;
  }
  Index weights() const { return begin(layers()); }

  template <class T>
  View<T> matrix(std::span<T> values, Index layer, Index member) const {
    const Index in = width(layer), out = width(layer + 1);
    return {values.data() + begin(layer) + member * in * out, in, out};
  }
  template <class T>
  std::span<T> bias(std::span<T> values, Index layer, Index member) const {
    const Index in = width(layer), out = width(layer + 1);
    return {values.data() + begin(layer) + (members * in + member) * out, out};
  }
};

enum class NetworkLoss : Int { squared, logistic };

/// Options of training.
struct NetworkTraining {
  NetworkLoss loss;
  double rate;
  double prior;  // what multiplies the outputs of prior networks
  bool learns_scale;
  double
      scale;  // of perturbations: times sigma where it is learned, else in the units of the rewards
  bool learns_pull;
  double pull;  // lam where it is not learned as sigma^2 in units of the rewards' spread
};

/// Observations in memory, and what each member adds to them, by place.
struct NetworkMemory {
  Matrix features;            // [C, d]
  Vector rewards;             // [C]
  Ints rounds;                // [C]
  ConstMatrix perturbations;  // [C, m]
  ConstMatrix prior_outputs;  // [C, m], or [C, 0] where there are no prior networks
};

/// State of an ensemble besides its memory.
struct NetworkState {
  Matrix weights;  // [3, n] with the moments of Adam, or [1, n]
  Vector numbers;  // [4 d + 4]: sizes, squares, seen of features; the newest features and reward;
                   // units of rewards
  Ints counts;     // [4]: observations, minibatches; round and place of the newest observation
};

/// Weights at the start, and the strengths of the pull to them by runs of equal strengths.
struct NetworkAnchor {
  ConstVector weights;  // [n]
  ConstInts ends;       // the last being n
  ConstVector strengths;
};

/// The newest observation, and the places of memory that its minibatches learn from.
struct NewObservation {
  ConstVector x;
  double y;
  Int round, place;           // place -1: it is not kept
  ConstVector prior_outputs;  // [m] or [0], in the units before it
  ConstMatrix feature_units;  // [3, d] with it
  View<const Int> places;     // [steps, B]
};

}  // namespace ensample
