#include "bindings.hpp"

namespace ensample {
namespace {

constexpr std::int64_t max_count = std::int64_t{1} << 53, max_width = 1 << 20, max_members = 1 << 30;
constexpr double max_numbers = 1e15;  // of all weights, or of a workspace: more cannot be addressed

NetworkShape shape_of(ConstInts widths, std::int64_t members, std::int64_t activation) {
  require(widths.size() >= 3 && widths.back() == 1, "widths", "those of features, hidden layers and one output");
  for (const std::int64_t width : widths) require(width >= 1 && width <= max_width, "widths", "numbers from 1 to 2^20");
  require(members >= 1 && members <= max_members, "members", "a number from 1 to 2^30");
  require(activation >= 0 && activation <= 2, "activation", "0 (relu), 1 (leaky) or 2 (tanh)");
  double count = 0.0;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k)
    count += static_cast<double>(members) * static_cast<double>(widths[k] + 1) * static_cast<double>(widths[k + 1]);
  require(count <= max_numbers, "widths", "networks whose weights can be counted");
  return {widths, static_cast<std::size_t>(members), Activation{activation}};
}

NetworkShape shape_of(const Fields& shape) {
  return shape_of(shape["widths"], shape["members"], shape["activation"]);
}

void network_outputs(nb::object shape_fields, ConstVector weights, std::int64_t first, ConstMatrix rows,
                     Matrix outputs) {
  const NetworkShape shape = shape_of(Fields(shape_fields));
  require(weights.size() == shape.weights(), "weights", "[n]");
  require(rows.rows > 0 && rows.columns == shape.dim(), "rows", "[K, d], K > 0");
  require(outputs.columns == rows.rows && outputs.rows > 0, "outputs", "[members, K]");
  require(first >= 0 && static_cast<std::size_t>(first) < shape.members && outputs.rows <= shape.members - first, "first",
          "the number of a member that as many others follow");
  run(kernels->networks.outputs, shape, weights, static_cast<std::size_t>(first), rows, outputs);
}

void network_gradient(nb::object shape_fields, ConstVector weights, ConstMatrix rows,
                      ConstMatrix slopes, Vector gradient) {
  const NetworkShape shape = shape_of(Fields(shape_fields));
  require(weights.size() == shape.weights(), "weights", "[n]");
  require(rows.rows > 0 && rows.columns == shape.dim(), "rows", "[B, d], B > 0");
  require(slopes.rows == shape.members && slopes.columns == rows.rows, "slopes", "[m, B]");
  require(gradient.size() == shape.weights(), "gradient", "[n]");
  run(kernels->networks.gradient, shape, weights, rows, slopes, gradient);
}

std::size_t workspace_size(const NetworkShape& shape, std::size_t weight_rows, std::size_t batch) {
  const double rows = 1.0 + static_cast<double>(batch), units = static_cast<double>(shape.hidden_units() + shape.dim() + 8);
  require(rows * units * static_cast<double>(shape.members) <= max_numbers, "batch", "a batch whose units can be counted");
  return kernels->networks.workspace_size(shape, weight_rows, batch);  // keeps the GIL: a formula
}

std::size_t network_workspace(nb::object shape_fields, std::int64_t weight_rows, std::int64_t batch) {
  const NetworkShape shape = shape_of(Fields(shape_fields));
  require(weight_rows == 1 || weight_rows == 3, "weight_rows", "1, or 3 with the moments of Adam");
  require(batch >= 1 && batch <= max_members, "batch", "a number from 1 to 2^30");
  return workspace_size(shape, static_cast<std::size_t>(weight_rows), static_cast<std::size_t>(batch));
}

NetworkTraining training_of(const Fields& fields) {
  const std::int64_t loss = fields["loss"];
  require(loss == 0 || loss == 1, "loss", "0 (squared) or 1 (logistic)");
  return {NetworkLoss{loss},      fields["rate"],        fields["prior"], fields["learns_scale"],
          fields["scale"], fields["learns_pull"], fields["pull"]};
}

NetworkAnchor anchor_of(const Fields& fields, std::size_t n) {
  const NetworkAnchor anchor{fields["weights"], fields["ends"], fields["strengths"]};
  require(anchor.weights.size() == n, "weights", "[n], as many as the shape has");
  require(!anchor.ends.empty() && anchor.ends.back() == static_cast<std::int64_t>(n), "ends", "ends of runs, the last being n");
  std::int64_t begin = 0;
  for (const std::int64_t end : anchor.ends) {
    require(end > begin, "ends", "increasing numbers above 0");
    begin = end;
  }
  require(anchor.strengths.size() == anchor.ends.size(), "strengths", "one for each of `ends`");
  return anchor;
}

NetworkState state_of(const Fields& fields, const NetworkShape& shape) {
  const NetworkState state{fields["weights"], fields["numbers"], fields["counts"]};
  require((state.weights.rows == 1 || state.weights.rows == 3) && state.weights.columns == shape.weights(), "weights",
          "[1, n], or [3, n] with the moments of Adam");
  require(state.numbers.size() == 4 * shape.dim() + 4, "numbers", "[4 d + 4]");
  require(state.counts.size() == 4, "counts", "[4]");
  for (const std::int64_t count : state.counts.first(2))
    require(count >= 0 && count < max_count, "counts", "numbers of observations and minibatches");
  return state;
}

NetworkMemory memory_of(const Fields& fields, const NetworkShape& shape) {
  const NetworkMemory memory{fields["features"], fields["rewards"], fields["rounds"], fields["perturbations"],
                             fields["prior_outputs"]};
  const std::size_t capacity = memory.features.rows;
  require(capacity > 0 && memory.features.columns == shape.dim(), "features", "[C, d], C > 0");
  require(memory.rewards.size() == capacity, "rewards", "[C]");
  require(memory.rounds.size() == capacity, "rounds", "[C]");
  require(memory.perturbations.rows == capacity && memory.perturbations.columns == shape.members, "perturbations", "[C, m]");
  require(memory.prior_outputs.rows == capacity &&
              (memory.prior_outputs.columns == 0 || memory.prior_outputs.columns == shape.members),
          "prior_outputs", "[C, m], or [C, 0]");
  return memory;
}

NewObservation observation_of(const Fields& fields, const NetworkShape& shape, const NetworkMemory& memory) {
  const NewObservation now{fields["x"],     fields["y"],           fields["round"],         fields["place"],
                           fields["prior_outputs"], fields["feature_units"], fields["places"]};
  const auto capacity = static_cast<std::int64_t>(memory.rewards.size());
  require(now.x.size() == shape.dim(), "x", "[d]");
  require(now.place >= -1 && now.place < capacity, "place", "a place in memory, or -1");
  require(now.prior_outputs.size() == memory.prior_outputs.columns, "prior_outputs", "[m], or [0]");
  require(now.feature_units.rows == 3 && now.feature_units.columns == shape.dim(), "feature_units", "[3, d]");
  require(now.places.rows > 0 && now.places.columns > 0 && now.places.columns <= max_members, "places", "[steps, B]");
  for (std::size_t i = 0; i < now.places.rows * now.places.columns; ++i)
    require(now.places.data[i] >= 0 && now.places.data[i] < capacity, "places", "places in memory");
  return now;
}

bool network_learn(nb::object shape_fields, nb::object training_fields, nb::object anchor_fields, nb::object state_fields,
                   nb::object memory_fields, nb::object observation_fields, Vector workspace) {
  const NetworkShape shape = shape_of(Fields(shape_fields));
  const NetworkTraining training = training_of(Fields(training_fields));
  const NetworkState state = state_of(Fields(state_fields), shape);
  const NetworkAnchor anchor = anchor_of(Fields(anchor_fields), shape.weights());
  const NetworkMemory memory = memory_of(Fields(memory_fields), shape);
  const NewObservation now = observation_of(Fields(observation_fields), shape, memory);
  require(workspace.size() >= workspace_size(shape, state.weights.rows, now.places.columns), "workspace",
          "an array as long as network_workspace() says");
  return run(kernels->networks.learn, shape, training, anchor, state, memory, now, workspace.data());
}

void scale_rows(ConstMatrix rows, ConstVector sizes, Matrix seen) {
  require(sizes.size() == rows.columns, "sizes", "[d]");
  require(seen.rows == rows.rows && seen.columns == rows.columns, "seen", "an array of the shape of `rows`");
  run(kernels->networks.scale_rows, rows, sizes, seen);
}

void learn_sizes(Matrix units, ConstVector x, std::int64_t count) {
  require(units.rows == 3 && units.columns == x.size(), "units", "[3, d]: sizes, squares, seen");
  require(count >= 1 && count <= max_count, "count", "a number of observations, at least 1");
  run(kernels->networks.learn_sizes, units[0], units[1], units[2], x, count);
}

}  // namespace

void bind_networks(nb::module_& module) {
  module.def("network_outputs", &network_outputs, "shape"_a, "weights"_a, "first"_a, "rows"_a, "outputs"_a,
             "Compute the outputs [n, K] of n members from number `first` on.");
  module.def("network_gradient", &network_gradient, "shape"_a, "weights"_a, "rows"_a, "slopes"_a, "gradient"_a,
             "Compute the gradient [n] of a loss whose derivatives by the outputs are `slopes` [m, B].");
  module.def("network_workspace", &network_workspace, "shape"_a, "weight_rows"_a, "batch"_a,
             "Return the length of the array that `network_learn` writes to.");
  module.def("network_learn", &network_learn, "shape"_a, "training"_a, "anchor"_a, "state"_a, "memory"_a, "observation"_a,
             "workspace"_a, "Learn an observation by minibatches; return False, and change nothing, if a gradient is not finite.");
  module.def("scale_rows", &scale_rows, "rows"_a, "sizes"_a, "seen"_a, "Divide features by their typical sizes.");
  module.def("learn_sizes", &learn_sizes, "units"_a, "x"_a, "count"_a,
             "Learn typical sizes of features, in place, from observation number `count`.");
}

}  // namespace ensample
