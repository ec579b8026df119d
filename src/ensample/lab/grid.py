"""The cells of a study: a list in a table stands for one cell for each of its items."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.checks import whole
from ensample.errors import InvalidArgument
from ensample.lab.build import Unsuitable, build_problem, build_recipe, label_of
from ensample.lab.cell import Cell
from ensample.lab.mistakes import Mistakes, errors_in_options
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import one_of
from ensample.simulation.plan import LONGEST

if TYPE_CHECKING:
    from ensample.lab.study import Study

Table = dict[str, Any]
ABOUT_POLICY = ("label", "problems")  # keys of a policy that are not fields of its recipe
MOST_CELLS = 1_000_000  # a file each; more is a slip
MOST_FAILURES = 20  # combinations of a table that cannot be built, until it is given up
EXAMPLES = {"family": "sphere", "recipe": "EnsembleSampling"}
EXAMPLE_HORIZON = 1_000


class Entry(NamedTuple):
    """A [problem] or [[policy]] table."""

    where: str  # its name in errors
    label: str
    options: Table  # what it is built from
    problems: list[str] | None  # labels of the problems that a policy is for; None for all

    def is_for(self, problem: str) -> bool:
        return self.problems is None or problem in self.problems


class GridProblem(NamedTuple):
    """A problem and a horizon that policies are run on."""

    label: str
    axes: Table
    family: Problem | Family
    horizon: int


def axes_of(table: Table) -> list[str]:
    """Return the keys whose value is a list, in the order of the file."""
    return [key for key, value in table.items() if isinstance(value, list)]


def expand(table: Table) -> Iterator[Table]:
    """Yield all combinations; the first axis changes slowest.

    >>> list(expand({"dim": [2, 5], "arms": 10}))
    [{'dim': 2, 'arms': 10}, {'dim': 5, 'arms': 10}]
    """
    choices = [value if isinstance(value, list) else [value] for value in table.values()]
    return (dict(zip(table, chosen, strict=True)) for chosen in itertools.product(*choices))


def combinations(table: Table) -> int:
    """Return the length of `expand(table)`."""
    return math.prod(len(table[axis]) for axis in axes_of(table))


class Grid:
    """Problems and policies of a study. Their mistakes are added, and what is right is built."""

    def __init__(self, study: "Study", mistakes: Mistakes) -> None:
        self.study, self.mistakes = study, mistakes
        self.problems = self._entries("problem", "family")
        self.policies = self._entries("policy", "recipe")
        self._failures: Counter[str] = Counter()
        self._tried: set[str] = set()  # policies

    def cells(self) -> list[Cell]:
        """Return the cells, problem by problem, without those that cannot be built."""
        self._check_labels()
        if not self._is_small_enough():
            return []
        cells: dict[str, Cell] = {}
        for problem in self._built_problems():
            for policy in self.policies:
                if policy.is_for(problem.label):
                    for axes, recipe in self._built_recipes(policy, problem):
                        labels = policy.label, problem.label
                        faced = problem.family, problem.horizon
                        cell = Cell(len(cells), *labels, problem.axes | axes, recipe, *faced)
                        if cell.name in cells:
                            expected = "cells that differ, and this one is there twice"
                            self.mistakes.add("cell", cell.name, expected)
                        cells[cell.name] = cell
        if self.mistakes:
            self._try_other_policies()
        return list(cells.values())

    def _entries(self, key: str, needed: str) -> list[Entry]:
        """Return the [key] table, or the several [[key]] tables, that can be understood."""
        value = getattr(self.study, key)
        tables = as_list(value)
        if not tables or not all(isinstance(table, dict) for table in tables):
            if not self.mistakes.concern(key):
                self.mistakes.add(key, value, f"a table [{key}] or several [[{key}]]")
            return []
        found: list[Entry] = []
        for place, table in enumerate(tables):
            where = f"{key}[{place}]" if isinstance(value, list) else key
            if self.mistakes.concern(where):
                continue
            entry = self._entry(where, table, key, needed)
            if entry is not None:
                if entry.label in [other.label for other in found]:
                    expected = f"a label of its own for each [[{key}]]"
                    self.mistakes.add(f"{where}.label", entry.label, expected)
                found.append(entry)
        return found

    def _entry(self, where: str, table: Table, key: str, needed: str) -> Entry | None:
        """Return None for a table without a name of a problem or recipe."""
        about = ABOUT_POLICY if key == "policy" else ABOUT_POLICY[:1]
        options = {name: value for name, value in table.items() if name not in about}
        for axis in [axis for axis, value in options.items() if value == []]:
            self.mistakes.add(f"{where}.{axis}", [], "an axis with at least one value")
            del options[axis]
        name, problems = options.get(needed), table.get("problems")
        label = table.get("label", usual_label(name))
        if not isinstance(name, str | dict):
            example = f"a name, for example {EXAMPLES[needed]!r}; several are several [[{key}]]"
            expected = f"{example}; given are {', '.join(options)}"
            self.mistakes.add(f"{where}.{needed}", table.get(needed), expected)
        elif not isinstance(label, str) or not label:
            self.mistakes.add(f"{where}.label", label, "text")
        is_list = isinstance(problems, list) and len(problems) > 0
        if key == "policy" and problems is not None and not is_list:
            self.mistakes.add(f"{where}.problems", problems, "a list of labels of problems")
            problems = None
        return Entry(where, str(label), options, problems) if isinstance(name, str | dict) else None

    def _check_labels(self) -> None:
        """Check that labels exist, unless a table that may have them is not understood."""
        study, problems = self.study, list(dict.fromkeys(one.label for one in self.problems))
        if len(self.problems) == len(as_list(study.problem)):
            for policy in self.policies:
                for label in policy.problems or []:
                    if label not in problems:
                        expected = one_of(str(label), problems)
                        self.mistakes.add(f"{policy.where}.problems", label, expected)
        if len(self.policies) == len(as_list(study.policy)):
            policies = list(dict.fromkeys(one.label for one in self.policies))
            is_wrong = study.baseline and study.baseline not in policies
            if is_wrong and not self.mistakes.concern("baseline"):
                self.mistakes.add("baseline", study.baseline, one_of(study.baseline, policies))

    def _is_small_enough(self) -> bool:
        """Return False, and add a mistake, if there are too many cells; none is built for it."""
        count = 0
        for problem in self.problems:
            facing = [policy for policy in self.policies if policy.is_for(problem.label)]
            each = sum(combinations(policy.options) for policy in facing)
            count += combinations(self._problem_options(problem)) * max(1, each)
        if count > MOST_CELLS:
            expected = f"a grid of at most {MOST_CELLS:,} cells; this one has {count:,}"
            self.mistakes.add("cells", count, expected)
        return count <= MOST_CELLS

    def _problem_options(self, problem: Entry) -> Table:
        """Return the options of a problem, which may have horizons of its own."""
        return {"horizon": self.study.horizon} | problem.options

    def _built_problems(self) -> Iterator[GridProblem]:
        is_horizon_wrong = self.mistakes.concern("horizon")
        for problem in self.problems:
            table = self._problem_options(problem)
            if is_horizon_wrong and "horizon" not in problem.options:
                table |= {"horizon": EXAMPLE_HORIZON}
            axes = axes_of(table)
            for chosen in expand(table):
                try:
                    family, horizon = build_with_horizon(chosen)
                except InvalidArgument:
                    self._add_errors(problem, build_with_horizon, chosen, "family")
                    if self._failures[problem.where] >= MOST_FAILURES:
                        break
                else:
                    values = {axis: axis_value(chosen[axis]) for axis in axes}
                    yield GridProblem(problem.label, values, family, horizon)

    def _built_recipes(self, policy: Entry, problem: GridProblem) -> Iterator[tuple[Table, Recipe]]:
        """Yield (axes, recipe) for each combination that can be built."""
        self._tried.add(policy.where)
        axes = axes_of(policy.options)
        names = [f"policy {axis}" if axis in problem.axes else axis for axis in axes]
        build = partial(build_recipe, problem=problem.family, horizon=problem.horizon)
        for chosen in expand(policy.options):
            if self._failures[policy.where] >= MOST_FAILURES:
                return
            try:
                recipe = build(chosen)
            except InvalidArgument:
                self._add_errors(policy, build, chosen, "recipe", problem.label)
            else:
                values = [axis_value(getattr(recipe, axis, chosen[axis])) for axis in axes]
                yield dict(zip(names, values, strict=True)), recipe

    def _add_errors(
        self,
        entry: Entry,
        build: Callable[[Table], object],
        chosen: Table,
        vital: str,
        problem: str = "",
    ) -> None:
        """Add what is wrong with a combination, with the problem where it is about that too."""
        self._failures[entry.where] += 1
        for error in errors_in_options(build, chosen, vital):
            about = f" (on {problem!r})" if isinstance(error, Unsuitable) and problem else ""
            key = f"{entry.where}.{error.argument}"
            self.mistakes.add(key, error.value, f"{error.expected}{about}")

    def _try_other_policies(self) -> None:
        """Build policies that met no problem, because all of theirs are wrong, on one of ours."""
        example = build_problem({"family": EXAMPLES["family"]})
        for policy in self.policies:
            if policy.where not in self._tried:
                list(self._built_recipes(policy, GridProblem("", {}, example, EXAMPLE_HORIZON)))


def build_with_horizon(table: Table) -> tuple[Problem | Family, int]:
    horizon = whole("horizon", table.get("horizon", EXAMPLE_HORIZON), 1, LONGEST)
    options = {key: value for key, value in table.items() if key != "horizon"}
    return build_problem(options), horizon


def as_list(value: Any) -> list[Any]:
    """Return one [table] or several [[tables]] as a list."""
    return value if isinstance(value, list) else [value]


def usual_label(name: Any) -> Any:
    """Return the label of a problem or policy without one: its name, without the module of one."""
    if isinstance(name, dict):
        name = name.get("kind", "")
    return label_of(name) if isinstance(name, str) else name


def axis_value(value: Any) -> Any:
    """Return a value of an axis as a number or text."""
    return value if isinstance(value, int | float | str) else repr(value)
