// What a round of training reads and writes: views of arrays that Python owns.
#pragma once

#include "views.hpp"

namespace ensample {

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
