"""Lines of a study: finished cells that share policy, problem and all axes but perhaps one."""

import ast
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ensample.lab.cell import Cell
from ensample.lab.grid import axes_of
from ensample.lab.results import CellOutcome, Results
from ensample.lab.study import Study
from ensample.numerals import numeral

T = TypeVar("T")
Axes = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Series:
    """A line of a figure. Axes of its problem tell panels apart, axes of its policy lines."""

    policy: str
    problem: str
    place: Axes  # axes of the problem, the horizon among them
    own: Axes  # axes of the policy
    outcomes: list[CellOutcome]  # one, or several along an axis

    @property
    def scenario(self) -> tuple[Any, ...]:
        return self.problem, *self.place.items()

    @property
    def identity(self) -> tuple[Any, ...]:
        """Policy with its rules and laws; its numbers vary along a ramp of colours."""
        return self.policy, *categories(self.own).items()

    @property
    def name(self) -> str:
        """Policy and rules in words."""
        return ", ".join([self.policy, *map(value_name, categories(self.own).values())])

    @property
    def full_name(self) -> str:
        """Policy with all that it varies."""
        return join(self.policy, assignments(self.own))

    @property
    def level(self) -> float:
        """Mean final regret; along an axis the geometric mean of it."""
        means = np.array([outcome.regret[:, -1].mean() for outcome in self.outcomes])
        return float(np.exp(np.log(np.maximum(means, 1e-300)).mean()))

    @property
    def loses(self) -> bool:
        """True if there is any regret."""
        return any(bool(outcome.regret[:, -1].any()) for outcome in self.outcomes)

    def title(self, several: bool) -> str:
        """Return the problem in words, with its label where there are several or no axes."""
        words = assignments(self.place)
        return words if words and not several else join(self.problem, words)


def join(*parts: str, between: str = ", ") -> str:
    """Join the parts that are not empty."""
    return between.join(filter(None, parts))


def value_name(given: Any) -> str:
    """Return the value of an axis in words.

    >>> value_name("RoundRobin()"), value_name(0.30000000000000004), value_name(10000)
    ('RoundRobin', '0.3', '10,000')
    >>> value_name("{'kind': 'GaussianNoise', 'scale': 0.5}")
    'GaussianNoise(scale=0.5)'
    """
    if isinstance(given, str) and given.startswith("{"):
        with suppress(ValueError, SyntaxError):
            given = ast.literal_eval(given)
    if isinstance(given, dict):
        items = [f"{key}={value_name(item)}" for key, item in given.items() if key != "kind"]
        return f"{given.get('kind', '')}({', '.join(items)})"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, list):
        return f"[{enumerated(map(value_name, given), 3)}]"
    return numeral(given) if isinstance(given, int | float) else str(given).removesuffix("()")


def assignments(axes: Axes) -> str:
    """Return values of axes in words.

    >>> assignments({"dim": 5, "horizon": 1000})
    'dim = 5, horizon = 1,000'
    """
    return ", ".join(f"{axis} = {value_name(given)}" for axis, given in axes.items())


def enumerated(items: Iterable[str], most: int = 8, between: str = ", ") -> str:
    """Join items, and count those beyond `most`. Names that may have commas are joined by "; ".

    >>> enumerated(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(items)
    more = len(names) - most
    return between.join(names) if more <= 0 else f"{between.join(names[:most])} and {more:,} more"


def is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def categories(own: Axes) -> Axes:
    """Return the axes that are not numbers."""
    return {axis: given for axis, given in own.items() if not is_number(given)}


def numbers(own: Axes) -> Axes:
    return {axis: given for axis, given in own.items() if is_number(given)}


def without(axes: Axes, axis: str) -> Axes:
    return {name: given for name, given in axes.items() if name != axis}


def split_axes(study: Study, cell: Cell) -> tuple[Axes, Axes]:
    """Return the axes of a cell's problem, and those of its policy."""
    tables = [table for table in study.problems if table["label"] == cell.problem]
    names = {"horizon", *(axis for table in tables for axis in axes_of(table))}
    place = {axis: given for axis, given in cell.axes.items() if axis in names}
    return place, {axis: given for axis, given in cell.axes.items() if axis not in names}


def singles(results: Results) -> list[Series]:
    """Return a series for every finished cell."""
    found = []
    for outcome in results.outcomes:
        cell = outcome.cell
        axes = split_axes(results.study, cell)
        found.append(Series(cell.policy, cell.problem, *axes, [outcome]))
    return found


def numeric_axes(results: Results) -> list[str]:
    """Return the axes along which there are two or more positive numbers."""
    return [axis for axis in results.axes if along(results, axis)]


def along(results: Results, axis: str) -> list[Series]:
    """Return lines along an axis, then the policies without it at their best number."""
    groups: dict[Any, Series] = {}
    beside: list[Series] = []
    for one in singles(results):
        given = (one.place | one.own).get(axis)
        place, own = without(one.place, axis), without(one.own, axis)
        if given is None:
            beside.append(one)
        elif is_number(given) and given > 0:
            key = one.policy, one.problem, *place.items(), "and", *own.items()
            group = groups.setdefault(key, Series(one.policy, one.problem, place, own, []))
            group.outcomes.append(one.outcomes[0])
    lines = [line for line in groups.values() if len(line.outcomes) > 1]
    for line in lines:
        line.outcomes.sort(key=lambda outcome: outcome.cell.axes[axis])
    shown = {line.scenario for line in lines}
    others = [one for one in beside if one.scenario in shown]
    return lines + lowest(others, lambda one: (one.scenario, one.identity))


def lowest(series: Iterable[Series], key: Callable[[Series], Any]) -> list[Series]:
    """Return of each kind the series with the lowest regret."""
    kinds: dict[Any, Series] = {}
    for one in series:
        known = kinds.setdefault(key(one), one)
        if one.level < known.level:
            kinds[key(one)] = one
    return list(kinds.values())


def at_last_horizon(series: list[Series]) -> list[Series]:
    """Leave out shorter horizons of the same problem: a longer curve shows them on its way."""
    last: dict[Any, int] = {}
    keys = [(one.problem, *without(one.place, "horizon").items()) for one in series]
    for key, one in zip(keys, series, strict=True):
        last[key] = max(last.get(key, 0), one.outcomes[0].cell.horizon)
    pairs = zip(keys, series, strict=True)
    return [one for key, one in pairs if one.outcomes[0].cell.horizon == last[key]]


def grouped(items: Iterable[T], key: Callable[[T], Any]) -> list[list[T]]:
    """Return the items by key, in the order in which keys come first."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def by_scenario(series: Iterable[Series]) -> list[list[Series]]:
    """Return the series by problem and its axes, in the order of the grid."""
    return grouped(series, lambda one: one.scenario)


def problems(results: Results) -> list[list[Series]]:
    """Return the finished cells of each problem, at its last horizon."""
    return by_scenario(at_last_horizon(singles(results)))


def has_several(results: Results) -> bool:
    """Return whether titles need labels of problems: whether finished cells have several."""
    return len({outcome.cell.problem for outcome in results.outcomes}) > 1


def evenly(items: list[T], most: int) -> list[T]:
    """Return at most so many items, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
