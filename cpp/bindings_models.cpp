// Generalised linear models, networks, search over many arms, and the functions that tests compare
// with NumPy's.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"

namespace ensample {
namespace {

constexpr Parameter rng{"rng"}, link{"link"}, rows{"rows", "[n*, d]"}, prior{"prior", "[d]"};
constexpr Parameter counts{"counts", "[n*]"}, totals{"totals", "[n*]"}, slopes{"slopes", "[n*]"};
constexpr Parameter shift{"shift", "[d]"}, theta{"theta", "[d]"}, predictors{"predictors", "[n*]"},
    out{"out", "[n*]"};

// --- Functions of math.hpp and random.hpp --------------------------------------------------------

void evaluate(std::string name, ConstVector values, Vector out) {
  constexpr const char* names[] = {"exp",   "expm1", "log",
                                   "log1p", "log2",  "tanh"};  // as MathFunction
  for (int i = 0; i < 6; ++i)
    if (name == names[i]) return kernels->evaluate(static_cast<MathFunction>(i), values, out);
  require(false, "name", "exp, expm1, log, log1p, log2 or tanh");
}

void draw_normal(Generator rng, Vector out) { kernels->draw(Draw::normal, 0, rng, out); }
void draw_uniform(Generator rng, Vector out) { kernels->draw(Draw::uniform, 0, rng, out); }

void draw_binomial(Generator rng, Int trials, Vector out) {
  require(trials >= 0 && trials < Int{1} << 52, "trials", "a number from 0 to 2^52");
  kernels->draw(Draw::binomial_half, trials, rng, out);
}

// --- Generalised linear models -------------------------------------------------------------------

std::pair<double, double> predict(Matrix state, ConstVector x) {
  const Prediction found = kernels->predict(state, x);
  return {found.predictor, found.leverage};
}

bool minimise(Link link, ConstMatrix rows, ConstVector counts, ConstVector totals,
              ConstVector prior, ConstVector shift, double tolerance, Vector theta) {
  return kernels->minimise(link, {rows, counts, totals, prior, shift}, tolerance, theta);
}

double newton_step(ConstMatrix rows, ConstVector counts, ConstVector totals, ConstVector prior,
                   ConstVector shift, ConstVector theta, ConstVector means, ConstVector slopes,
                   Vector step) {
  return kernels->newton_step({rows, counts, totals, prior, shift}, theta, means, slopes, step);
}

void hessian(ConstMatrix rows, ConstVector counts, ConstVector slopes, ConstVector prior,
             Matrix hessian) {
  kernels->set_hessian({rows, counts, counts, prior, prior}, slopes, hessian);
}

void bind_generalised(nb::module_& module) {
  bind(module, "evaluate", evaluate, {"name", {"values", "[n*]"}, out});
  bind(module, "draw_uniform", draw_uniform, {rng, out});
  bind(module, "draw_normal", draw_normal, {rng, out});
  bind(module, "draw_binomial", draw_binomial, {rng, "trials", out});
  bind(module, "link_means", &Kernels::link_means, {link, predictors}, "[n]");
  bind(module, "link_slopes", &Kernels::link_slopes, {link, predictors}, "[n]");
  bind(module, "implicit_step", &Kernels::implicit_step, {link, "predictor", "leverage", "y"});
  bind(module, "predict", predict, {{"state", "[3d+9|3d+11, d]"}, {"x", "[d]"}});
  bind(module, "minimise", minimise,
       {link, rows, counts, totals, prior, shift, "tolerance", theta});
  bind(module, "newton_step", newton_step,
       {rows, counts, totals, prior, shift, theta, {"means", "[n*]"}, slopes, {"step", "[d]"}});
  bind(module, "hessian", hessian, {rows, counts, slopes, prior}, "[d, d]");
}

// --- Networks ------------------------------------------------------------------------------------

constexpr Int max_count = Int{1} << 53, max_width = 1 << 20, max_members = 1 << 30;
constexpr double max_numbers = 1e15;  // of all weights, or of a workspace: more cannot be addressed

/// The shape of networks; `symbols` has its sizes of features, weights and members.
NetworkShape shape_of(const nb::object& tuple, Symbols& symbols) {
  const Fields fields(tuple, symbols);
  const ConstInts widths = fields["widths"];
  const Int members = fields["members"], activation = fields["activation"];
  require(widths.size() >= 3 && widths.back() == 1, "widths",
          "those of features, hidden layers and one output");
  for (const Int width : widths)
    require(width >= 1 && width <= max_width, "widths", "numbers from 1 to 2^20");
  require(members >= 1 && members <= max_members, "members", "a number from 1 to 2^30");
  require(activation >= 0 && activation <= 2, "activation", "0 (relu), 1 (leaky) or 2 (tanh)");
  double count = 0.0;
  for (Index k = 0; k + 1 < widths.size(); ++k)
    count += double(members) * double(widths[k] + 1) * double(widths[k + 1]);
  require(count <= max_numbers, "widths", "networks whose weights can be counted");
  const NetworkShape shape{widths, Index(members), Activation{activation}};
  symbols = {{'d', shape.dim()}, {'n', shape.weights()}, {'m', shape.members}};
  return shape;
}

void network_outputs(nb::object shape_fields, ConstVector weights, Int first, ConstMatrix rows,
                     Matrix outputs) {
  Symbols symbols;
  const NetworkShape shape = shape_of(shape_fields, symbols);
  symbols.require(weights, "weights", "[n]");
  symbols.require(rows, "rows", "[K, d]");
  symbols.require(outputs, "outputs", "[k, K]");
  require(first >= 0 && Index(first) < shape.members && outputs.rows <= shape.members - first,
          "first", "the number of a member that as many others follow");
  run(&Kernels::network_outputs, shape, weights, Index(first), rows, outputs);
}

void network_gradient(nb::object shape_fields, ConstVector weights, ConstMatrix rows,
                      ConstMatrix slopes, Vector gradient) {
  Symbols symbols;
  const NetworkShape shape = shape_of(shape_fields, symbols);
  symbols.require(weights, "weights", "[n]");
  symbols.require(rows, "rows", "[B, d]");
  symbols.require(slopes, "slopes", "[m, B]");
  symbols.require(gradient, "gradient", "[n]");
  run(&Kernels::network_gradient, shape, weights, rows, slopes, gradient);
}

Index workspace_size(const NetworkShape& shape, Index weight_rows, Index batch) {
  const double rows = 1.0 + double(batch);
  const double units = double(shape.hidden_units() + shape.dim() + 8);
  const bool can_count = rows * units * double(shape.members) <= max_numbers;
  require(can_count, "batch", "a batch whose units can be counted");
  return kernels->network_workspace(shape, weight_rows, batch);
}

Index network_workspace(nb::object shape_fields, Int weight_rows, Int batch) {
  Symbols symbols;
  const NetworkShape shape = shape_of(shape_fields, symbols);
  require(weight_rows == 1 || weight_rows == 3, "weight_rows", "1, or 3 with the moments of Adam");
  require(batch >= 1 && batch <= max_members, "batch", "a number from 1 to 2^30");
  return workspace_size(shape, Index(weight_rows), Index(batch));
}

NetworkTraining training_of(const Fields& fields) {
  const Int loss = fields["loss"];
  require(loss == 0 || loss == 1, "loss", "0 (squared) or 1 (logistic)");
  return {NetworkLoss{loss}, fields["rate"],        fields["prior"], fields["learns_scale"],
          fields["scale"],   fields["learns_pull"], fields["pull"]};
}

NetworkAnchor anchor_of(const Fields& fields, const NetworkShape& shape) {
  const NetworkAnchor anchor{fields("weights", "[n]"), fields("ends", "[R]"),
                             fields("strengths", "[R]")};
  Int begin = 0;
  for (const Int end : anchor.ends) {
    require(end > begin, "ends", "increasing numbers above 0");
    begin = end;
  }
  require(Index(begin) == shape.weights(), "ends", "ends of runs, the last being n");
  return anchor;
}

NetworkState state_of(const Fields& fields) {
  const NetworkState state{fields("weights", "[1|3, n]"), fields("numbers", "[4d+4]"),
                           fields("counts", "[4]")};
  for (const Int count : state.counts.first(2))
    require(count >= 0 && count < max_count, "counts", "numbers of observations and minibatches");
  return state;
}

NetworkMemory memory_of(const Fields& fields) {
  return {fields("features", "[C, d]"), fields("rewards", "[C]"), fields("rounds", "[C]"),
          fields("perturbations", "[C, m]"), fields("prior_outputs", "[C, 0|m]")};
}

NewObservation observation_of(const Fields& fields, const NetworkMemory& memory) {
  const NewObservation now{fields("x", "[d]"),
                           fields["y"],
                           fields["round"],
                           fields("place", "-1..C"),
                           fields("prior_outputs", "[0|m]"),
                           fields("feature_units", "[3, d]"),
                           fields("places", "[s, B]")};
  require(now.prior_outputs.size() == memory.prior_outputs.columns, "prior_outputs",
          "as many as in memory");
  require(now.places.columns <= max_members, "places", "at most 2^30 a minibatch");
  for (const Int place : now.places.items())
    require(place >= 0 && Index(place) < memory.rewards.size(), "places", "places in memory");
  return now;
}

bool network_learn(nb::object shape_fields, nb::object training, nb::object anchor,
                   nb::object state, nb::object memory, nb::object observation, Vector workspace) {
  Symbols symbols;
  const NetworkShape shape = shape_of(shape_fields, symbols);
  const NetworkTraining train = training_of(Fields(training, symbols));
  const NetworkState learned = state_of(Fields(state, symbols));
  const NetworkAnchor start = anchor_of(Fields(anchor, symbols), shape);
  const NetworkMemory kept = memory_of(Fields(memory, symbols));
  const NewObservation now = observation_of(Fields(observation, symbols), kept);
  const Index size = workspace_size(shape, learned.weights.rows, now.places.columns);
  require(workspace.size() >= size, "workspace", "an array as long as network_workspace() says");
  return run(&Kernels::network_learn, shape, train, start, learned, kept, now, workspace.data());
}

void learn_sizes(Matrix units, ConstVector x, Int count) {
  require(count >= 1 && count <= max_count, "count", "a number of observations, at least 1");
  kernels->learn_sizes(units, x, count);
}

void bind_networks(nb::module_& module) {
  using namespace nb::literals;
  module.def("network_outputs", &network_outputs, "shape"_a, "weights"_a, "first"_a, "rows"_a,
             "outputs"_a);
  module.def("network_gradient", &network_gradient, "shape"_a, "weights"_a, "rows"_a, "slopes"_a,
             "gradient"_a);
  module.def("network_workspace", &network_workspace, "shape"_a, "weight_rows"_a, "batch"_a);
  module.def("network_learn", &network_learn, "shape"_a, "training"_a, "anchor"_a, "state"_a,
             "memory"_a, "observation"_a, "workspace"_a);
  bind(module, "scale_rows", &Kernels::scale_rows,
       {{"rows", "[n*, d*]"}, {"sizes", "[d*]"}, {"seen", "[n*, d*]"}});
  bind(module, "learn_sizes", learn_sizes, {{"units", "[3, d*]"}, {"x", "[d*]"}, "count"});
}

// --- Search over many arms -----------------------------------------------------------------------

/// Bytes of codes of so many arms: two features a byte, and one byte for the radius.
Index size_of_codes(ConstMatrix rows) {
  const Index tiles = (rows.rows + search_tile - 1) / search_tile;
  return tiles * ((rows.columns + 1) / 2 + 1) * search_tile;
}

void require_codes(ConstMatrix rows, ConstCodes codes) {
  require(codes.size() == size_of_codes(rows), "codes", "the size that `size_of_codes` returns");
}

void encode_arms(ConstMatrix rows, Matrix table, Codes codes) {
  require_codes(rows, codes);
  kernels->encode_arms(rows, table, codes);
}

Index find_best_arm(ConstMatrix rows, ConstMatrix table, ConstCodes codes, ConstVector theta) {
  require_codes(rows, codes);
  return kernels->find_best_arm(rows, table, codes, theta);
}

void find_best_arms(ConstMatrix rows, ConstMatrix table, ConstCodes codes, ConstMatrix thetas,
                    Ints chosen, Vector scores) {
  require_codes(rows, codes);
  kernels->find_best_arms(rows, table, codes, thetas, chosen, scores);
}

void bind_search(nb::module_& module) {
  constexpr Parameter arms{"rows", "[K, d]"}, table{"table", "[4, d]"}, codes{"codes"},
      offer{"by_coordinate", "[d, K]"};
  constexpr Parameter thetas{"thetas", "[d, m*]"}, chosen{"chosen", "[m*]"},
      scores{"scores", "[m*]"};
  bind(module, "greedy_arm", &Kernels::greedy_arm, {theta, offer});
  bind(module, "greedy_arms", &Kernels::greedy_arms, {thetas, offer, chosen, scores});
  bind(module, "scan_arms", &Kernels::scan_arms, {arms, theta});
  bind(module, "size_of_codes", size_of_codes, {"rows"});
  bind(module, "encode_arms", encode_arms, {arms, table, codes});
  bind(module, "find_best_arm", find_best_arm, {arms, table, codes, theta});
  bind(module, "find_best_arms", find_best_arms, {arms, table, codes, thetas, chosen, scores});
  module.attr("MAX_SEARCH_DIM") = max_search_dim;
}

}  // namespace

void bind_models(nb::module_& module) {
  bind_generalised(module);
  bind_networks(module);
  bind_search(module);
}

}  // namespace ensample
