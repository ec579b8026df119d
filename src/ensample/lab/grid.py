"""From the tables of a study to its cells: a list in a table stands for one cell for each of its items."""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.checks import whole
from ensample.errors import InvalidArgument, StudyError
from ensample.lab.cell import Cell
from ensample.lab.parts import build_problem, build_recipe
from ensample.lab.written import label_of
from ensample.problems import Family, Problem
from ensample.registry import known

if TYPE_CHECKING:
    from ensample.lab.study import Study

__all__ = ["axes_of", "blaming", "cells_of", "expand", "usual_label"]

Table = dict[str, Any]
ABOUT_POLICY = ("label", "problems")  # keys of a policy that are not fields of its recipe
LONGEST = (1 << 31) - 1  # rounds that a kernel can count
MOST_CELLS = 1_000_000  # a file each; more is a slip
EXAMPLES = {"family": "sphere", "recipe": "EnsembleSampling"}


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


def cells_of(study: "Study") -> Iterator[Cell]:
    """The grid, problem by problem."""
    problems = entries(study, "problem", "family")
    policies = entries(study, "policy", "recipe")
    labels = list(dict.fromkeys(problem.label for problem in problems))
    for policy in policies:
        for wanted in policy.problems or []:
            if wanted not in labels:
                raise StudyError(study.source, f"{policy.where}.problems", wanted, known(str(wanted), labels))
    check_size(study, problems, policies)
    taken: set[str] = set()
    numbers = itertools.count()
    for label, axes, family, horizon in settings(study, problems):
        for policy in policies:
            if policy.problems is not None and label not in policy.problems:
                continue
            for chosen in expand(policy.options):
                with blaming(study.source, policy.where):
                    recipe = build_recipe(chosen, family, horizon)
                own = {axis: shown(getattr(recipe, axis, chosen[axis])) for axis in axes_of(policy.options)}
                own = {f"policy {axis}" if axis in axes else axis: value for axis, value in own.items()}
                cell = Cell(next(numbers), policy.label, label, axes | own, recipe, family, horizon)
                if cell.name in taken:
                    raise StudyError(study.source, "cell", cell.name, "cells that differ, and this one is there twice")
                taken.add(cell.name)
                yield cell


def check_size(study: "Study", problems: list[Given], policies: list[Given]) -> None:
    """Raise for a grid that is too large to be written down; it is counted, not made."""
    count = 0
    for problem in problems:
        facing = [policy for policy in policies if policy.problems is None or problem.label in policy.problems]
        count += combinations(with_horizon(study, problem)) * max(1, sum(combinations(policy.options) for policy in facing))
    if count > MOST_CELLS:
        raise StudyError(study.source, "cells", count, f"a grid of at most {MOST_CELLS:,} cells; this one has {count:,}")


def combinations(table: Table) -> int:
    """The length of `expand(table)`."""
    return math.prod(len(table[axis]) for axis in axes_of(table))


def with_horizon(study: "Study", problem: Given) -> Table:
    """A problem may have horizons of its own."""
    return {"horizon": study.horizon} | problem.options


def settings(study: "Study", problems: list[Given]) -> Iterator[tuple[str, Table, Problem | Family, int]]:
    """(label, axes, family, horizon) of all that policies are set against."""
    for problem in problems:
        table = with_horizon(study, problem)
        for chosen in expand(table):
            with blaming(study.source, problem.where):
                horizon = whole("horizon", chosen["horizon"], 1, LONGEST)
                family = build_problem({key: value for key, value in chosen.items() if key != "horizon"})
            yield problem.label, {axis: shown(chosen[axis]) for axis in axes_of(table)}, family, horizon


def entries(study: "Study", key: str, needed: str) -> list[Given]:
    """The [key] table, or the several [[key]] tables."""
    value = getattr(study, key)
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(table, dict) for table in given):
        raise StudyError(study.source, key, value, f"a table [{key}] or several [[{key}]]")
    found = []
    for place, table in enumerate(given):
        where = f"{key}[{place}]" if isinstance(value, list) else key
        with blaming(study.source, where):
            found.append(entry(where, table, key, needed))
            if found[-1].label in [other.label for other in found[:-1]]:
                raise InvalidArgument("label", found[-1].label, f"a label of its own for each [[{key}]]")
    return found


def entry(where: str, table: Table, key: str, needed: str) -> Given:
    about = ABOUT_POLICY if key == "policy" else ABOUT_POLICY[:1]
    options = {name: value for name, value in table.items() if name not in about}
    if not isinstance(options.get(needed), str | dict):
        example = f"a name, for example {EXAMPLES[needed]!r}; several are several [[{key}]]"
        raise InvalidArgument(needed, options.get(needed), f"{example}; given are {', '.join(options)}")
    for name, value in options.items():
        if value == []:
            raise InvalidArgument(name, value, "an axis with at least one value")
    label, problems = table.get("label", usual_label(options[needed])), table.get("problems")
    if not isinstance(label, str) or not label:
        raise InvalidArgument("label", label, "text")
    if problems is not None and (not isinstance(problems, list) or not problems):
        raise InvalidArgument("problems", problems, "a list of labels of problems")
    return Given(where, label, options, problems)


def usual_label(name: str | Table) -> Any:
    """Of a problem or a policy without a label: its name, without the module of one."""
    return label_of(name) if isinstance(name, str) else label_of(str(name.get("kind", "")))


@contextmanager
def blaming(source: str, where: str = "") -> Iterator[None]:
    """Errors inside name the file and the table."""
    try:
        yield
    except StudyError:
        raise
    except InvalidArgument as error:
        key = f"{where}.{error.argument}" if where else error.argument
        raise StudyError(source, key, error.value, error.expected) from error


def shown(value: Any) -> Any:
    """An axis' value as a number or as text."""
    return value if isinstance(value, int | float | str) else repr(value)
