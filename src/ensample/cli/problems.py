"""The problem that `race` and `measure` play on, and what both print."""

from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from typing import Any

from rich.markup import escape

from ensample.checks import whole
from ensample.cli.console import output, table
from ensample.cli.options import option
from ensample.cli.policies import POLICIES, RECIPES, fields_of, find_here
from ensample.codec import PARTS, THEOREM, classes_of
from ensample.errors import InvalidArgument
from ensample.lab.build import build_problem
from ensample.problems import Family, Problem, families_by_name
from ensample.problems import problem as family_named

OWN = "the problem's own"


def complete_problems(incomplete: str) -> list[str]:
    return [name for name in families_by_name() if name.startswith(incomplete)]


def complete_policies(incomplete: str) -> list[str]:
    """Return completions of the last of the names in a list with commas.

    >>> complete_policies("es-10,lin")
    ['es-10,linphe', 'es-10,linucb']
    """
    before, comma, last = incomplete.rpartition(",")
    names = [name for name in [*POLICIES, *RECIPES] if name.startswith(last)]
    return [f"{before}{comma}{name}" for name in names]


@dataclass(frozen=True, kw_only=True)
class ProblemOptions:
    """Options of the problem that `race` and `measure` play on."""

    problem: str = option(
        "sphere",
        f"one of {', '.join(families_by_name())}, or mymodule:my_problem",
        autocompletion=complete_problems,
    )
    dim: int | None = option(None, "d, the number of features", show_default=OWN)
    arms: int | None = option(None, "K, the number of arms", show_default=OWN)
    noise: float | None = option(None, "sigma of the rewards", show_default=OWN)

    def build(self) -> Problem | Family:
        """Return a family of ours, or something in a module of the user's own."""
        options = {"dim": self.dim, "arms": self.arms, "noise": self.noise}
        given = {name: value for name, value in options.items() if value is not None}
        if ":" not in self.problem:
            return family_named(self.problem, **given)
        find_here()
        try:
            return build_problem({"family": self.problem, **given})
        except InvalidArgument as error:
            argument = "problem" if error.argument == "family" else error.argument
            raise type(error)(argument, error.value, error.expected) from error


def check_counts(**options: int | None) -> None:
    """Raise unless each of these options that is given is a whole number that can be."""
    for name, value in options.items():
        if value is not None:
            whole(name, value, 0 if name == "seed" else 1)


def options_of(family: Problem | Family) -> dict[str, Any]:
    """Return the fields of a family: numbers, or text."""
    found: dict[str, Any] = asdict(family) if is_dataclass(family) else {}
    return {
        name: value if isinstance(value, int | float) else repr(value)
        for name, value in found.items()
    }


def title_of(name: str, family: Problem | Family, horizon: int, runs: int, seed: int) -> str:
    numbers = {k: v for k, v in options_of(family).items() if isinstance(v, int | float)}
    options = ", ".join(f"{option} {value:g}" for option, value in numbers.items())
    problem = f"{name}: {options}" if options else name
    return f"{problem}; {horizon:,} rounds, {runs:,} runs, seed {seed}"


def print_skipped(skipped: dict[str, str]) -> None:
    for name, reason in skipped.items():
        output.print(f"{name} skipped: {reason}", highlight=False, markup=False)


def show_names() -> None:
    """Print `ensample race --list`: problems, policies, recipes and what their fields may be."""
    problems = table(title="--problem")
    short = table(title="--policies")
    recipes = table(title="--policies, with fields")
    for each, columns in (problems, ("options", "")), (short, ("",)), (recipes, ("fields", "")):
        each.add_column("name", no_wrap=True)
        for column in columns:
            each.add_column(column)
    for name, family in families_by_name().items():
        sentence = first_sentence(family).removeprefix(f"`{name}`: ")
        problems.add_row(name, options_with_defaults(family), escape(sentence))
    problems.add_row(
        "module:Name", "its own", "a problem, a family, or the class of one, in a module of yours"
    )
    for name, contender in POLICIES.items():
        short.add_row(name, contender.label)
    short.add_row("es-N", "ES, m = N, for any N")
    for name, kind in RECIPES.items():
        theorem = f"\n{name}.{THEOREM}" if hasattr(kind, THEOREM) else ""
        recipes.add_row(f"{name}{theorem}", escape(fields_of(kind)), escape(first_sentence(kind)))
    recipes.add_row("module:Name", "its own", "a recipe, or the class of one, in a module of yours")
    for each in (problems, short, recipes):
        output.print(each)
    parts = f"laws, rules and models: {', '.join(classes_of(PARTS))}"
    output.print(f"Fields are numbers, text, noise, radius, and {parts}.", highlight=False)


def options_with_defaults(family: Any) -> str:
    return ", ".join(f"{item.name} {default_of(item)}".rstrip() for item in fields(family))


def default_of(item: Any) -> str:
    """Return a field's default in few digits; empty where it has none."""
    value = item.default
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    return "" if value is MISSING else repr(value)


def first_sentence(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".")
