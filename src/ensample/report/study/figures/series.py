"""What a figure draws as one line: finished cells that share policy, problem and all axes but perhaps one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensample.lab.cell import Cell
from ensample.lab.grid import axes_of
from ensample.lab.results import CellOutcome, Results
from ensample.lab.study import Study
from ensample.report.study.words import assigned, value


@dataclass(frozen=True, eq=False)
class Series:
    """A line. What its problem varies and what its policy varies are kept apart: the first tells panels, the second lines."""

    policy: str
    problem: str
    place: dict[str, Any]  # axes of the problem, the horizon among them
    own: dict[str, Any]  # axes of the policy
    outcomes: list[CellOutcome]  # one, or several along an axis

    @property
    def scenario(self) -> tuple[Any, ...]:
        return self.problem, *self.place.items()

    @property
    def identity(self) -> tuple[Any, ...]:
        """The policy with its rules and laws; numbers of it vary along a ramp of colours."""
        return self.policy, *categories(self.own).items()

    @property
    def name(self) -> str:
        """Policy and rules in words."""
        return ", ".join([self.policy, *(value(given) for given in categories(self.own).values())])

    @property
    def full_name(self) -> str:
        """The policy with all that it varies."""
        return ", ".join(filter(None, [self.policy, assigned(self.own)]))

    @property
    def level(self) -> float:
        """Mean final regret; the geometric mean of it along an axis."""
        means = np.array([outcome.regret[:, -1].mean() for outcome in self.outcomes])
        return float(np.exp(np.log(np.maximum(means, 1e-300)).mean()))

    @property
    def loses(self) -> bool:
        """Whether there is any regret."""
        return any(bool(outcome.regret[:, -1].any()) for outcome in self.outcomes)

    def title(self, several: bool) -> str:
        """The problem in words; its label where there are several or nothing else to say."""
        said = assigned(self.place)
        return said if said and not several else ", ".join(filter(None, [self.problem, said]))


def numeric(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def categories(own: dict[str, Any]) -> dict[str, Any]:
    """The axes that are not numbers."""
    return {axis: given for axis, given in own.items() if not numeric(given)}


def split(study: Study, cell: Cell) -> tuple[dict[str, Any], dict[str, Any]]:
    """(axes of its problem, axes of its policy)."""
    mine = [table for table in study.problems if table["label"] == cell.problem]
    names = {"horizon", *(axis for table in mine for axis in axes_of(table))}
    place = {axis: given for axis, given in cell.axes.items() if axis in names}
    return place, {axis: given for axis, given in cell.axes.items() if axis not in names}


def singles(results: Results) -> list[Series]:
    """Every finished cell."""
    return [
        Series(
            outcome.cell.policy,
            outcome.cell.problem,
            *split(results.study, outcome.cell),
            [outcome],
        )
        for outcome in results.outcomes
    ]


def numeric_axes(results: Results) -> list[str]:
    """The axes along which there are two or more positive numbers."""
    return [axis for axis in results.axes if along(results, axis)]


def along(results: Results, axis: str) -> list[Series]:
    """Cells that differ in this axis alone, in its order; then, each at its best number, the policies that do not have it."""
    groups: dict[Any, Series] = {}
    beside: list[Series] = []
    for one in singles(results):
        given = (one.place | one.own).get(axis)
        place, own = (
            {name: other for name, other in axes.items() if name != axis}
            for axes in (one.place, one.own)
        )
        if given is None:
            beside.append(one)
        elif numeric(given) and given > 0:
            key = one.policy, one.problem, *place.items(), "and", *own.items()
            groups.setdefault(key, Series(one.policy, one.problem, place, own, [])).outcomes.append(
                one.outcomes[0]
            )
    lines = [line for line in groups.values() if len(line.outcomes) > 1]
    for line in lines:
        line.outcomes.sort(key=lambda outcome: outcome.cell.axes[axis])
    shown = {line.scenario for line in lines}
    return lines + lowest(
        [one for one in beside if one.scenario in shown], lambda one: (one.scenario, one.identity)
    )


def lowest(series: list[Series], key: Callable[[Series], Any]) -> list[Series]:
    """Of each kind the one with the lowest regret."""
    kinds: dict[Any, Series] = {}
    for one in series:
        known = kinds.setdefault(key(one), one)
        if one.level < known.level:
            kinds[key(one)] = one
    return list(kinds.values())


def at_last_horizon(series: list[Series]) -> list[Series]:
    """Without the shorter horizons of the same problem: a longer curve shows them on its way."""
    last: dict[Any, int] = {}
    for one in series:
        key = without_horizon(one)
        last[key] = max(last.get(key, 0), one.outcomes[0].cell.horizon)
    return [one for one in series if one.outcomes[0].cell.horizon == last[without_horizon(one)]]


def without_horizon(one: Series) -> tuple[Any, ...]:
    return one.problem, *((axis, given) for axis, given in one.place.items() if axis != "horizon")


def scenarios(series: Iterable[Series]) -> dict[tuple[Any, ...], list[Series]]:
    """By problem and its axes, in the order of the grid."""
    groups: dict[tuple[Any, ...], list[Series]] = {}
    for one in series:
        groups.setdefault(one.scenario, []).append(one)
    return groups
