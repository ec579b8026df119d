// Table of the simulation kernels, one for each instruction-set level.
#pragma once

#include "simulate/state.hpp"

namespace ensample {

/// What is wrong with an option: nothing where `name` is null.
struct BadOption {
  const char* name = nullptr;
  const char* expected = nullptr;
};

/// How many rows of features there are, and arms on offer.
struct ProblemSize {
  std::size_t rows, arms;
};

/// Streams of random numbers that a kernel draws from, beside the noise's: flags.
enum Streams : unsigned { no_stream = 0, member_stream = 1, perturbation_stream = 2 };

/// One algorithm, for one of the two kinds of problems. It plays a run to its end, or until `RunState::stop` is set.
struct SimulationKernel {
  const char* name;
  void (*finite)(const FiniteProblem&, RunState&, const Rngs&, const Options&);
  void (*contextual)(const ContextualProblem&, RunState&, const Rngs&, const Options&);
  unsigned streams;
  BadOption (*check)(const Options&, const ProblemSize&);  // null if all values within their ranges will do
};

struct SimulationKernels {
  std::span<const SimulationKernel> table;
};

}  // namespace ensample
