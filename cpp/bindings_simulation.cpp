// Simulated runs.
#include <cstring>

#include "bindings.hpp"

namespace ensample {
namespace {

bool all_within(ConstInts numbers, Index end) {
  for (const Int number : numbers)
    if (number < 0 || Index(number) >= end) return false;
  return true;
}

/// Read a code of an enumeration whose last value is given.
template <class Enum>
Enum code_of(const Fields& field, Enum last, const char* name, const char* expected) {
  const Int code = field;
  require(code >= 0 && code <= Int(last), name, expected);
  return static_cast<Enum>(code);
}

Noise noise_of(const Fields& field) {
  return code_of(field, Noise::sale, "noise", "a number of problems/noise.py");
}

Link link_of(const Fields& field) {
  const Int code = field;
  require(is_link(code), "link", "the code of a link that the core knows");
  return static_cast<Link>(code);
}

FiniteProblem finite_problem(const Fields& f) {
  const ConstMatrix by_coordinate = f("by_coordinate", "[d, K]");
  const FiniteProblem p{f("features", "[R, d]"),
                        by_coordinate,
                        f("means", "[R]"),
                        f("spreads", "[R]"),
                        noise_of(f["noise"]),
                        f["best"],
                        f["warmup"],
                        f["opening"],
                        f("mean_path", "[P*, K]"),
                        f("best_means", "[P*]"),
                        f["period"]};
  require(p.features.rows >= by_coordinate.columns, "features", "a row for each arm at least");
  require(all_within(p.warmup, p.features.rows), "warmup", "rows of features by number");
  require(all_within(p.opening, by_coordinate.columns), "opening", "arms by number");
  require(p.period >= 0, "period", "0 or more rounds");
  return p;
}

ContextualProblem contextual_problem(const Fields& f) {
  const ContextualProblem p{f("theta", "[d]"), f["offered"],       noise_of(f["noise"]), f["low"],
                            f["high"],         link_of(f["link"]), f["constant"]};
  require(p.offered >= 0 && p.offered <= 1 << 30, "offered", "0 or more arms");
  return p;
}

/// Find the numbers of a run in a structured array of one element: each by its name and its type.
RunCounters& counters_of(nb::handle value) {
  struct Field {
    const char* name;
    Index offset;
    int type = NPY_DOUBLE;
  };
#define FIELD(name) #name, offsetof(RunCounters, name)
  static constexpr Field expected[] = {{FIELD(regret)},
                                       {FIELD(rewards)},
                                       {FIELD(squares)},
                                       {FIELD(leverage)},
                                       {FIELD(max_leverage)},
                                       {FIELD(information)},
                                       {FIELD(growth)},
                                       {FIELD(count)},
                                       {FIELD(origin)},
                                       {FIELD(next_calibration)},
                                       {FIELD(next_checkpoint), NPY_INT64}};
#undef FIELD
  const auto require_layout = [](bool condition) {
    require(condition, "counters", "a structured array [1] with the fields of RunCounters");
  };
  require_layout(PyArray_Check(value.ptr()));
  auto* array = reinterpret_cast<PyArrayObject*>(value.ptr());
  const nb::object dtype = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  require_layout(PyArray_ISCARRAY(array) && PyArray_SIZE(array) == 1);
  require_layout(PyArray_ITEMSIZE(array) == sizeof(RunCounters));
  const nb::object fields = nb::getattr(dtype, "fields");
  require_layout(PyMapping_Check(fields.ptr()) != 0);
  for (const auto& field : expected) {
    const nb::object found = nb::steal(PyMapping_GetItemString(fields.ptr(), field.name));
    if (!found.is_valid()) PyErr_Clear();
    require_layout(found.is_valid() && nb::cast<Index>(found[1]) == field.offset);
    require_layout(reinterpret_cast<PyArray_Descr*>(nb::object(found[0]).ptr())->type_num ==
                   field.type);
  }
  void* data = PyArray_DATA(array);  // a packed dtype counts as aligned wherever it is
  require(reinterpret_cast<std::uintptr_t>(data) % alignof(RunCounters) == 0, "counters",
          "memory aligned to 8 bytes");
  return *static_cast<RunCounters*>(data);
}

bool is_zero(Counts counts) {
  for (const std::int32_t count : counts)
    if (count != 0) return false;
  return true;
}

/// Read a run that has not begun, with arrays of the sizes that a problem needs.
RunState run_state(const Fields& f, Index rows, Index arms) {
  const ConstInts stop = f("stop", "[1]");
  const RunState s{f["lam"],
                   f["fixed_lam"],
                   f["sizes_given"],
                   f["intercept"],
                   f["forgetting_rate"],
                   f("scales", "[6, d]"),
                   f("prior", "[d]"),
                   f("prior_root", "[d]"),
                   f("gram", "[d, d]"),
                   f["counted"],
                   f("inverse", "[d, d]"),
                   f("mean", "[d]"),
                   f("target", "[d]"),
                   f["pulls"],
                   f("gain", "[d]"),
                   counters_of(f["counters"].object()),
                   f("checkpoints", "[C]"),
                   f("regret", "[C]"),
                   f["scores"],
                   stop[0]};
  require(s.pulls.size() >= rows && s.pulls.size() % 16 == 0, "pulls",
          "[K + W], and more up to a multiple of 16");
  require(is_zero(s.pulls), "pulls", "zeros: a run that has not begun");
  const bool learned = s.counters.next_calibration < infinity;
  require(s.counted.size() == (learned ? s.pulls.size() : 0) && is_zero(s.counted), "counted",
          "as many zeros as pulls where scales are learned, else none");
  require(s.scores.size() == arms, "scores", "[K]");
  require(s.counters.next_checkpoint == 0, "counters", "those of a run that has not begun");
  Int last = 0;
  for (const Int round : s.checkpoints) {
    const bool ascends = round > last && round < Int{1} << 31;
    require(ascends, "checkpoints", "ascending numbers of rounds below 2^31");
    last = round;
  }
  return s;
}

/// Raise unless all rounds of a run have a mean, and pulls can be counted in 32 bits.
void check_rounds(const FiniteProblem& p, Int horizon) {
  const auto warm = Int(p.warmup.size()), rows = Int(p.mean_path.rows);
  require(warm + horizon < Int{1} << 31, "warmup", "fewer than 2^31 rounds in all");
  require(p.period == 0 || (horizon - 1) / p.period < rows, "mean_path", "means for all rounds");
}

/// Read one option by name into `Options`. The only list of their names and ranges.
class OptionReader {
 public:
  OptionReader(Options& options, const char* name, nb::object given)
      : name(name), value(std::move(given), name, {}, none) {
    read(options);
    if (found) return;
    PyErr_Format(PyExc_TypeError, "argument `options`: expected names of options, got `%s`", name);
    throw nb::python_error();
  }

 private:
  const char* name;
  Symbols none;
  Fields value;
  bool found = false;

  void read(Options& o) {
    whole("size", o.size, 1);
    if (is("rule"))
      o.rule = code_of(value, MemberRule::optimistic, "rule", "a number of MemberRule");
    whole("stay", o.stay, 1);
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
    if (is("link")) o.link = link_of(value);
    whole("kind", o.kind, 0);
    flag("from_base", o.from_base);
    if (is("basis")) o.basis = value;
  }

  bool is(const char* known) {
    const bool same = std::strcmp(name, known) == 0;
    found = found || same;
    return same;
  }
  void whole(const char* known, Int& to, Int least) {
    if (!is(known)) return;
    to = value;
    require(to >= least && to <= Int{1} << 62, known, "a whole number in its range");
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
    const LawKind kind =
        code_of(value["kind"], LawKind::sphere, known, "a law with a kind from 0 to 3");
    to = {kind, value["trials"], value["scale"]};
    require(to.trials >= 1 && to.trials <= Int{1} << 31, known, "a law with 1 to 2^31 trials");
  }
  void factor(const char* known, Inflation& to) {
    if (!is(known)) return;
    to = {value["base"],        value["width"],   value["tail"],
          value["determinant"], value["learned"], value["growth"]};
  }
};

Options options_of(nb::dict given) {
  Options options;
  for (const auto& [name, value] : given) {
    const char* text =
        PyUnicode_Check(name.ptr()) ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
    if (text == nullptr) PyErr_Clear();
    require(text != nullptr, "options", "names of options");
    OptionReader(options, text, nb::borrow(value));
  }
  require(options.reward.kind != LawKind::sphere, "reward", "a law of single numbers");
  return options;
}

Rngs rngs_of(nb::handle given, unsigned streams, bool contextual) {
  Symbols none;
  const Fields f(nb::borrow(given), none);
  const Rngs rngs{f["noise"], f["member"], f["perturbation"], f["context"]};
  require(rngs.noise.bits != nullptr, "rngs", "a generator of the noise");
  require(rngs.member.bits != nullptr || !(streams & member_stream), "rngs",
          "a generator of members");
  require(rngs.perturbation.bits != nullptr || !(streams & perturbation_stream), "rngs",
          "a generator of perturbations");
  require(rngs.context.bits != nullptr || !contextual, "rngs", "a generator of contexts");
  return rngs;
}

const SimulationKernel& kernel_named(const char* name) {
  for (const auto& kernel : kernels->simulations)
    if (std::strcmp(kernel.name, name) == 0) return kernel;
  PyErr_Format(PyExc_ValueError, "argument `kernel`: expected the name of a kernel, got '%s'",
               name);
  throw nb::python_error();
}

void simulate(const char* name, nb::object problem_fields, nb::object state_fields,
              nb::object rng_fields, nb::dict option_values) {
  const SimulationKernel& kernel = kernel_named(name);
  const Options options = options_of(option_values);
  const Rngs rngs = rngs_of(rng_fields, kernel.streams, kernel.contextual != nullptr);
  if (kernel.check != nullptr) {
    const BadOption bad = kernel.check(options);
    require(bad.name == nullptr, bad.name, bad.expected);
  }
  Symbols symbols;
  const Fields given_problem(problem_fields, symbols), given_state(state_fields, symbols);
  if (kernel.contextual != nullptr) {
    const ContextualProblem problem = contextual_problem(given_problem);
    RunState state = run_state(given_state, 0, Index(problem.offered));
    require(options.basis.empty(), "basis", "no arms where none stand");
    run(kernel.contextual, problem, state, rngs, options);
  } else {
    const FiniteProblem problem = finite_problem(given_problem);
    const Index arms = problem.by_coordinate.columns;
    RunState state = run_state(given_state, problem.features.rows, arms);
    check_rounds(problem, state.checkpoints.back());
    require(all_within(options.basis, arms), "basis", "arms by number");
    run(kernel.finite, problem, state, rngs, options);
  }
}

}  // namespace

void bind_simulation(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "simulate", &simulate, "kernel"_a, "problem"_a, "state"_a, "rngs"_a, "options"_a,
      "Play a run to its end, or until state.stop[0] is set, by the algorithm of this name.");
}

}  // namespace ensample
