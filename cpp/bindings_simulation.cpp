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

RunSettings run_settings(const Fields& f) {
  const ConstInts stop = f("stop", "[1]");
  const Fields sizes = f("sizes", "[d]");
  const RunSettings s{f["lam"],
                      f["fixed_lam"],
                      sizes.object().is_none() ? ConstVector() : ConstVector(sizes),
                      f["intercept"],
                      f["learns_scales"],
                      f["forgetting_rate"],
                      f("checkpoints", "[C]"),
                      stop[0]};
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

nb::tuple simulate(const char* name, nb::object problem_fields, nb::object setting_fields,
                   nb::object rng_fields, nb::dict option_values) {
  const SimulationKernel& kernel = kernel_named(name);
  const Options options = options_of(option_values);
  const Rngs rngs = rngs_of(rng_fields, kernel.streams, kernel.contextual != nullptr);
  if (kernel.check != nullptr) {
    const BadOption bad = kernel.check(options);
    require(bad.name == nullptr, bad.name, bad.expected);
  }
  Symbols symbols;
  const Fields given_problem(problem_fields, symbols), given(setting_fields, symbols);
  const auto play = [&](auto kernel_play, const auto& problem, Index dim, Index rows) {
    const RunSettings settings = run_settings(given);
    const auto [regret, regret_view] = new_array<Vector>({1, {settings.checkpoints.size()}});
    const auto [pulls, pulls_view] = new_array<Ints>({1, {rows}});
    const auto [mean, mean_view] = new_array<Vector>({1, {dim}});
    const auto [target, target_view] = new_array<Vector>({1, {dim}});
    const RunResults results{regret_view, pulls_view, mean_view, target_view};
    if constexpr (std::is_same_v<decltype(problem), const FiniteProblem&>)
      check_rounds(problem, settings.checkpoints.back());
    run(kernel_play, problem, settings, results, rngs, options);
    return nb::make_tuple(regret, pulls, mean, target);
  };
  if (kernel.contextual != nullptr) {
    const ContextualProblem problem = contextual_problem(given_problem);
    require(options.basis.empty(), "basis", "no arms where none stand");
    return play(kernel.contextual, problem, problem.theta.size(), 0);
  }
  const FiniteProblem problem = finite_problem(given_problem);
  require(all_within(options.basis, problem.by_coordinate.columns), "basis", "arms by number");
  return play(kernel.finite, problem, problem.features.columns, problem.features.rows);
}

}  // namespace

void bind_simulation(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "simulate", &simulate, "kernel"_a, "problem"_a, "settings"_a, "rngs"_a, "options"_a,
      "Play a run to its end, or until settings.stop[0] is set, by the algorithm of this name.\n\n"
      "Return the regret at the checkpoints, the pulls of all arms, theta_hat and b.");
}

}  // namespace ensample
