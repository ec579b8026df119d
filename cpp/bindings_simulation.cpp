#include "bindings.hpp"

#include <cstring>

namespace ensample {
namespace {

bool all_within(ConstInts numbers, std::size_t end) {
  for (const std::int64_t number : numbers)
    if (number < 0 || static_cast<std::size_t>(number) >= end) return false;
  return true;
}

Noise noise_of(const Fields& field) {
  const std::int64_t noise = field;
  require(noise >= 0 && noise <= static_cast<std::int64_t>(Noise::sale), "noise", "a number of problems/noise.py");
  return static_cast<Noise>(noise);
}

FiniteProblem finite_problem(const Fields& f) {
  const FiniteProblem p{f["features"], f["by_coordinate"], f["means"],     f["spreads"],    noise_of(f["noise"]), f["best"],
                        f["warmup"],   f["opening"],       f["mean_path"], f["best_means"], f["period"]};
  const std::size_t arms = p.by_coordinate.columns;
  require(arms >= 1 && p.by_coordinate.rows >= 1, "by_coordinate", "at least one arm and one feature");
  require(p.features.rows >= arms && p.features.columns == p.by_coordinate.rows, "features", "[K + W, d], by_coordinate being [d, K]");
  require(p.means.size() == p.features.rows, "means", "one for each row of features");
  require(p.spreads.size() == p.features.rows, "spreads", "one for each row of features");
  require(all_within(p.warmup, p.features.rows), "warmup", "rows of features by number");
  require(all_within(p.opening, arms), "opening", "arms by number");
  require(p.mean_path.columns == arms, "mean_path", "[P, K]");
  require(p.best_means.size() == p.mean_path.rows, "best_means", "[P]");
  require(p.period >= 0, "period", "0 or more rounds");
  return p;
}

ContextualProblem contextual_problem(const Fields& f) {
  const ContextualProblem p{f["theta"], f["offered"], noise_of(f["noise"]), f["low"], f["high"],
                            link_of(static_cast<std::int64_t>(f["link"])), f["constant"]};
  require(p.theta.size() >= 1, "theta", "at least one feature");
  require(p.offered >= 0 && p.offered <= 1 << 30, "offered", "0 or more arms");
  return p;
}

/// Find the numbers of a run in a structured array of one element: each by its name and its type.
RunCounters& counters_of(nb::handle value) {
  struct Field {
    const char* name;
    std::size_t offset;
    int type;
  };
  static constexpr Field expected[] = {
#define DOUBLE_FIELD(name) {#name, offsetof(RunCounters, name), NPY_DOUBLE}
      DOUBLE_FIELD(regret),      DOUBLE_FIELD(rewards), DOUBLE_FIELD(squares), DOUBLE_FIELD(leverage), DOUBLE_FIELD(max_leverage),
      DOUBLE_FIELD(information), DOUBLE_FIELD(growth),  DOUBLE_FIELD(count),   DOUBLE_FIELD(origin),   DOUBLE_FIELD(next_calibration),
#undef DOUBLE_FIELD
      {"next_checkpoint", offsetof(RunCounters, next_checkpoint), NPY_INT64}};
  constexpr const char* wanted = "a structured array [1] with the fields of RunCounters";
  require(PyArray_Check(value.ptr()), "counters", wanted);
  auto* array = reinterpret_cast<PyArrayObject*>(value.ptr());
  const nb::object dtype = nb::steal(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  Py_INCREF(dtype.ptr());
  require(PyArray_ISCARRAY(array) && PyArray_SIZE(array) == 1 && PyArray_ITEMSIZE(array) == sizeof(RunCounters), "counters", wanted);
  const nb::object fields = nb::getattr(dtype, "fields");
  require(PyMapping_Check(fields.ptr()) != 0, "counters", wanted);
  for (const auto& field : expected) {
    const nb::object found = nb::steal(PyMapping_GetItemString(fields.ptr(), field.name));
    if (!found.is_valid()) PyErr_Clear();
    require(found.is_valid() && nb::cast<std::size_t>(found[1]) == field.offset &&
                reinterpret_cast<PyArray_Descr*>(nb::object(found[0]).ptr())->type_num == field.type,
            "counters", wanted);
  }
  void* data = PyArray_DATA(array);  // a packed dtype counts as aligned wherever it is
  require(reinterpret_cast<std::uintptr_t>(data) % alignof(RunCounters) == 0, "counters", "memory aligned to 8 bytes");
  return *static_cast<RunCounters*>(data);
}

RunState run_state(const Fields& f) {
  const ConstInts stop = f["stop"];
  require(stop.size() == 1, "stop", "[1]");
  return {f["lam"],     f["fixed_lam"], f["sizes_given"], f["intercept"], f["forgetting_rate"], f["scales"], f["prior"], f["prior_root"],
          f["gram"],    f["counted"],   f["inverse"],     f["mean"],      f["target"],          f["pulls"],  f["gain"],
          counters_of(f["counters"].object()), f["checkpoints"], f["regret"], f["scores"], stop[0]};
}

bool is_square(ConstMatrix matrix, std::size_t d) { return matrix.rows == d && matrix.columns == d; }

/// Raise unless a run has not begun and its arrays are of the sizes that a problem needs.
void check_state(const RunState& s, std::size_t d, std::size_t rows, std::size_t arms) {
  require(is_square(s.gram, d), "gram", "[d, d]");
  require(is_square(s.inverse, d), "inverse", "[d, d]");
  require(s.scales.rows == 6 && s.scales.columns == d, "scales", "[6, d]");
  require(s.prior.size() == d && s.prior_root.size() == d, "prior", "[d], as its root");
  require(s.mean.size() == d && s.target.size() == d && s.gain.size() == d, "mean", "[d], as target and gain");
  require(s.pulls.size() >= rows && s.pulls.size() % 16 == 0, "pulls", "[K + W], and more up to a multiple of 16");
  for (const std::int32_t count : s.pulls) require(count == 0, "pulls", "zeros: a run that has not begun");
  const bool learned = s.counters.next_calibration < infinity;
  require(s.counted.size() == (learned ? s.pulls.size() : 0), "counted", "as many as pulls where scales are learned, else none");
  for (const std::int32_t count : s.counted) require(count == 0, "counted", "zeros: a run that has not begun");
  require(s.scores.size() == arms, "scores", "[K]");
  require(s.counters.next_checkpoint == 0, "counters", "those of a run that has not begun");
  require(!s.checkpoints.empty() && s.regret.size() == s.checkpoints.size(), "checkpoints", "at least one, as many as regret");
  std::int64_t last = 0;
  for (const std::int64_t round : s.checkpoints) {
    require(round > last && round < std::int64_t{1} << 31, "checkpoints", "ascending numbers of rounds below 2^31");
    last = round;
  }
}

/// Raise unless all rounds of a run have a mean, and pulls can be counted in 32 bits.
void check_rounds(const FiniteProblem& p, std::int64_t horizon) {
  require(static_cast<std::int64_t>(p.warmup.size()) + horizon < std::int64_t{1} << 31, "warmup", "fewer than 2^31 rounds in all");
  const auto rows = static_cast<std::int64_t>(p.mean_path.rows);
  require(p.period == 0 || (horizon - 1) / p.period < rows, "mean_path", "means for all rounds");
}

/// Read one option by name into `Options`. The only list of their names and ranges.
class OptionReader {
 public:
  OptionReader(Options& options, const char* name, nb::object value) : name(name), value(std::move(value), name) { read(options); }

 private:
  const char* name;
  Fields value;
  bool found = false;

  void read(Options& o) {
    whole("size", o.size, 1);
    whole("stay", o.stay, -1);
    law("initial", o.initial);
    law("reward", o.reward);
    factor("factor", o.factor);
    flag("symmetric", o.symmetric);
    number("redraw_growth", o.redraw_growth);
    number("ageing", o.ageing);
    flag("adaptive", o.adaptive);
    flag("watch_norm", o.watch_norm);
    number("epsilon", o.epsilon);
    number("decay", o.decay);
    number("scale", o.scale);
    number("radius", o.radius);
    number("floor", o.floor);
    number("spread", o.spread);
    whole("stages", o.stages, 1);
    if (is("link")) o.link = link_of(static_cast<std::int64_t>(value));
    whole("kind", o.kind, 0);
    flag("from_base", o.from_base);
    if (is("basis")) o.basis = value;
    if (!found) {
      PyErr_Format(PyExc_TypeError, "argument `options`: expected names of options, got `%s`", name);
      throw nb::python_error();
    }
  }

  bool is(const char* known) {
    const bool same = std::strcmp(name, known) == 0;
    found = found || same;
    return same;
  }
  void whole(const char* known, std::int64_t& to, std::int64_t least, std::int64_t most = std::int64_t{1} << 62) {
    if (!is(known)) return;
    to = value;
    require(to >= least && to <= most, known, "a whole number in its range");
  }
  void number(const char* known, double& to) {
    if (!is(known)) return;
    to = value;
    require(to >= 0.0, known, "a number that is not negative");
  }
  void flag(const char* known, bool& to) {
    if (is(known)) to = value;
  }
  void law(const char* known, Law& to) {
    if (!is(known)) return;
    const std::int64_t kind = value["kind"];
    require(kind >= 0 && kind <= static_cast<std::int64_t>(LawKind::sphere), known, "a law with a kind from 0 to 3");
    to = {static_cast<LawKind>(kind), value["trials"], value["scale"]};
    require(to.trials >= 1 && to.trials <= std::int64_t{1} << 31, known, "a law with 1 to 2^31 trials");
  }
  void factor(const char* known, Inflation& to) {
    if (!is(known)) return;
    to = {value["base"], value["width"], value["tail"], value["determinant"], value["learned"], value["growth"]};
  }
};

Options options_of(nb::dict given) {
  Options options;
  for (const auto& [name, value] : given) {
    const char* text = PyUnicode_Check(name.ptr()) ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
    if (text == nullptr) PyErr_Clear();
    require(text != nullptr, "options", "names of options");
    OptionReader(options, text, nb::borrow(value));
  }
  require(options.reward.kind != LawKind::sphere, "reward", "a law of single numbers");
  return options;
}

Rngs rngs_of(nb::handle given, unsigned streams, bool contextual) {
  const Fields f(nb::borrow(given), "rngs");
  const Rngs rngs{f["noise"], f["member"], f["perturbation"], f["context"]};
  require(rngs.noise.bits != nullptr, "rngs", "a generator of the noise");
  require(rngs.member.bits != nullptr || !(streams & member_stream), "rngs", "a generator of members");
  require(rngs.perturbation.bits != nullptr || !(streams & perturbation_stream), "rngs", "a generator of perturbations");
  require(rngs.context.bits != nullptr || !contextual, "rngs", "a generator of contexts");
  return rngs;
}

const SimulationKernel& kernel_named(const char* name) {
  for (const auto& kernel : kernels->simulations)
    if (std::strcmp(kernel.name, name) == 0) return kernel;
  PyErr_Format(PyExc_ValueError, "argument `kernel`: expected the name of a kernel, got '%s'", name);
  throw nb::python_error();
}

void simulate(const char* name, nb::object problem_fields, nb::object state_fields, nb::object rng_fields, nb::dict option_values) {
  const SimulationKernel& kernel = kernel_named(name);
  const bool contextual = kernel.contextual != nullptr;
  const Options options = options_of(option_values);
  const Rngs streams = rngs_of(rng_fields, kernel.streams, contextual);
  RunState state = run_state(Fields(state_fields, "state"));
  FiniteProblem finite{};
  ContextualProblem moving{};
  if (contextual) {
    moving = contextual_problem(Fields(problem_fields, "problem"));
    check_state(state, moving.theta.size(), 0, static_cast<std::size_t>(moving.offered));
  } else {
    finite = finite_problem(Fields(problem_fields, "problem"));
    check_state(state, finite.features.columns, finite.features.rows, finite.by_coordinate.columns);
    check_rounds(finite, state.checkpoints.back());
  }
  require(all_within(options.basis, finite.by_coordinate.columns), "basis", "arms by number");
  if (kernel.check != nullptr) {
    const BadOption bad = kernel.check(options, {finite.features.rows, state.scores.size()});
    require(bad.name == nullptr, bad.name, bad.expected);
  }
  if (contextual)
    run(kernel.contextual, moving, state, streams, options);
  else
    run(kernel.finite, finite, state, streams, options);
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def("simulate", &simulate, "kernel"_a, "problem"_a, "state"_a, "rngs"_a, "options"_a,
             "Play a run to its end, or until state.stop[0] is set, by the algorithm of this name.");
}

}  // namespace ensample
