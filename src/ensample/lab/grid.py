"""From the tables of a study to its cells: a list in a table stands for one cell for each of its items."""

import itertools
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.checks import whole
from ensample.errors import InvalidArgument
from ensample.lab.build import Unsuitable, build_problem, build_recipe, label_of
from ensample.lab.cell import Cell
from ensample.lab.mistakes import Mistakes, mistakes_of
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import one_of

if TYPE_CHECKING:
    from ensample.lab.study import Study


Table = dict[str, Any]
ABOUT_POLICY = ("label", "problems")  # keys of a policy that are not fields of its recipe
LONGEST = (1 << 31) - 1  # rounds that a kernel can count
MOST_CELLS = 1_000_000  # a file each; more is a slip
ENOUGH = 20  # combinations of a table that cannot be built
EXAMPLES = {"family": "sphere", "recipe": "EnsembleSampling"}
EXAMPLE_HORIZON = 1_000


class Given(NamedTuple):
    """A [problem] or [[policy]] of the file."""

    where: str  # how errors call it
    label: str
    options: Table  # what it is built from
    problems: list[str] | None  # the labels of the problems that a policy is for; None for all


def axes_of(table: Table) -> list[str]:
    """The keys whose value is a list, in the order of the file."""
    return [key for key, value in table.items() if isinstance(value, list)]


def expand(table: Table) -> Iterator[Table]:
    """All combinations; the first axis changes slowest.

    >>> list(expand({"dim": [2, 5], "arms": 10}))
    [{'dim': 2, 'arms': 10}, {'dim': 5, 'arms': 10}]
    """
    choices = [value if isinstance(value, list) else [value] for value in table.values()]
    return (dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*choices))


def cells_of(study: "Study", mistakes: Mistakes) -> list[Cell]:
    """The grid, problem by problem; without the cells that cannot be, whose mistakes are noted."""
    problems, policies = (
        entries(study, "problem", "family", mistakes),
        entries(study, "policy", "recipe", mistakes),
    )
    check_problems(study, problems, policies, mistakes)
    check_baseline(study, policies, mistakes)
    if not fits(study, problems, policies, mistakes):
        return []
    cells: dict[str, Cell] = {}
    recipes = Recipes(mistakes)
    for place in places(study, problems, mistakes):
        for policy in policies:
            if policy.problems is not None and place.label not in policy.problems:
                continue
            for chosen, recipe in recipes.of(policy, place):
                own = {
                    axis: shown(getattr(recipe, axis, chosen[axis]))
                    for axis in axes_of(policy.options)
                }
                own = {
                    f"policy {axis}" if axis in place.axes else axis: value
                    for axis, value in own.items()
                }
                cell = Cell(
                    len(cells),
                    policy.label,
                    place.label,
                    place.axes | own,
                    recipe,
                    place.family,
                    place.horizon,
                )
                if cell.name in cells:
                    mistakes.add(
                        "cell", cell.name, "cells that differ, and this one is there twice"
                    )
                cells[cell.name] = cell
    if mistakes:
        for policy in policies:  # also those that met no problem because all of them are wrong
            recipes.look_at(policy)
    return list(cells.values())


class Arena(NamedTuple):
    """A problem and a horizon that policies are set against."""

    label: str
    axes: Table
    family: Problem | Family
    horizon: int


class Recipes:
    """Builds recipes, and looks no longer at policies that have shown enough mistakes."""

    def __init__(self, mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        self.failures: Counter[str] = Counter()
        self.seen: set[str] = set()

    def of(self, policy: Given, place: Arena) -> Iterator[tuple[Table, Recipe]]:
        """(options, recipe) for each combination that can be built."""
        self.seen.add(policy.where)
        for chosen in expand(policy.options):
            if self.failures[policy.where] >= ENOUGH:
                return
            try:
                recipe = build_recipe(chosen, place.family, place.horizon)
            except InvalidArgument:
                self.failures[policy.where] += 1
                build = partial(build_recipe, problem=place.family, horizon=place.horizon)
                found = mistakes_of(build, chosen, "recipe")
                note(
                    self.mistakes,
                    policy.where,
                    (with_problem(error, place.label) for error in found),
                )
            else:
                yield chosen, recipe

    def look_at(self, policy: Given) -> None:
        """At one that has met no problem, on a problem of ours."""
        if policy.where not in self.seen:
            deque(
                self.of(
                    policy,
                    Arena("", {}, build_problem({"family": EXAMPLES["family"]}), EXAMPLE_HORIZON),
                ),
                maxlen=0,
            )


def with_problem(error: InvalidArgument, label: str) -> InvalidArgument:
    """The error names the problem where it is about that, too."""
    if not isinstance(error, Unsuitable) or not label:
        return error
    return Unsuitable(error.argument, error.value, f"{error.expected} (on {label!r})")


def note(mistakes: Mistakes, where: str, errors: Iterable[InvalidArgument]) -> None:
    for error in errors:
        with mistakes.noted(where):
            raise error


def check_problems(
    study: "Study", problems: list[Given], policies: list[Given], mistakes: Mistakes
) -> None:
    """The labels that policies name must be those of problems; where a problem is not understood, nobody knows."""
    if len(problems) < len(tables_of(study.problem)):
        return
    labels = list(dict.fromkeys(problem.label for problem in problems))
    for policy in policies:
        for wanted in policy.problems or []:
            if wanted not in labels:
                mistakes.add(f"{policy.where}.problems", wanted, one_of(str(wanted), labels))


def check_baseline(study: "Study", policies: list[Given], mistakes: Mistakes) -> None:
    if len(policies) < len(tables_of(study.policy)) or mistakes.touch("baseline"):
        return
    labels = list(dict.fromkeys(policy.label for policy in policies))
    if study.baseline and study.baseline not in labels:
        mistakes.add("baseline", study.baseline, one_of(study.baseline, labels))


def fits(study: "Study", problems: list[Given], policies: list[Given], mistakes: Mistakes) -> bool:
    """Whether the grid is small enough to be written down; it is counted, not made."""
    count = 0
    for problem in problems:
        facing = [
            policy
            for policy in policies
            if policy.problems is None or problem.label in policy.problems
        ]
        count += combinations(with_horizon(study, problem)) * max(
            1, sum(combinations(policy.options) for policy in facing)
        )
    if count > MOST_CELLS:
        mistakes.add(
            "cells", count, f"a grid of at most {MOST_CELLS:,} cells; this one has {count:,}"
        )
    return count <= MOST_CELLS


def combinations(table: Table) -> int:
    """The length of `expand(table)`."""
    return math.prod(len(table[axis]) for axis in axes_of(table))


def with_horizon(study: "Study", problem: Given) -> Table:
    """A problem may have horizons of its own."""
    return {"horizon": study.horizon} | problem.options


def places(study: "Study", problems: list[Given], mistakes: Mistakes) -> Iterator[Arena]:
    """All that policies are set against, without those that cannot be."""
    wrong = mistakes.touch("horizon")
    for problem in problems:
        table = with_horizon(study, problem)
        if wrong and "horizon" not in problem.options:
            table |= {"horizon": EXAMPLE_HORIZON}  # its own mistake is noted
        failures = 0
        for chosen in expand(table):
            try:
                horizon, family = build_place(chosen)
            except InvalidArgument:
                failures += 1
                note(mistakes, problem.where, mistakes_of(build_place, chosen, "family"))
            else:
                axes = {axis: shown(chosen[axis]) for axis in axes_of(table)}
                yield Arena(problem.label, axes, family, horizon)
            if failures >= ENOUGH:
                break


def build_place(table: Table) -> tuple[int, Problem | Family]:
    horizon = whole("horizon", table.get("horizon", EXAMPLE_HORIZON), 1, LONGEST)
    return horizon, build_problem(without_horizon(table))


def without_horizon(table: Table) -> Table:
    return {key: value for key, value in table.items() if key != "horizon"}


def tables_of(value: Any) -> list[Any]:
    """One [table], or several [[tables]]."""
    return value if isinstance(value, list) else [value]


def entries(study: "Study", key: str, needed: str, mistakes: Mistakes) -> list[Given]:
    """The [key] table, or the several [[key]] tables, as far as they can be understood."""
    value = getattr(study, key)
    given = tables_of(value)
    if not given or not all(isinstance(table, dict) for table in given):
        if not mistakes.touch(key):
            mistakes.add(key, value, f"a table [{key}] or several [[{key}]]")
        return []
    found: list[Given] = []
    for place, table in enumerate(given):
        where = f"{key}[{place}]" if isinstance(value, list) else key
        one = None if mistakes.touch(where) else entry(where, table, key, needed, mistakes)
        if one is None:
            continue
        if one.label in [other.label for other in found]:
            mistakes.add(f"{where}.label", one.label, f"a label of its own for each [[{key}]]")
        found.append(one)
    return found


def entry(where: str, table: Table, key: str, needed: str, mistakes: Mistakes) -> Given | None:
    """None for a table that does not say what it is about."""
    about = ABOUT_POLICY if key == "policy" else ABOUT_POLICY[:1]
    options = {name: value for name, value in table.items() if name not in about}
    for axis in [axis for axis, value in options.items() if value == []]:
        mistakes.add(f"{where}.{axis}", [], "an axis with at least one value")
        del options[axis]
    name, problems = options.get(needed), table.get("problems")
    label = table.get("label", usual_label(name))
    if not isinstance(name, str | dict):
        example = f"a name, for example {EXAMPLES[needed]!r}; several are several [[{key}]]"
        mistakes.add(
            f"{where}.{needed}", table.get(needed), f"{example}; given are {', '.join(options)}"
        )
    elif not isinstance(label, str) or not label:
        mistakes.add(f"{where}.label", label, "text")
    if (
        key == "policy"
        and problems is not None
        and (not isinstance(problems, list) or not problems)
    ):
        mistakes.add(f"{where}.problems", problems, "a list of labels of problems")
        problems = None
    return Given(where, str(label), options, problems) if isinstance(name, str | dict) else None


def usual_label(name: Any) -> Any:
    """Of a problem or a policy without a label: its name, without the module of one."""
    if isinstance(name, dict):
        name = name.get("kind", "")
    return label_of(name) if isinstance(name, str) else name


def shown(value: Any) -> Any:
    """An axis' value as a number or as text."""
    return value if isinstance(value, int | float | str) else repr(value)
