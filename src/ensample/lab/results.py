"""The results of a study as data frames."""

import math
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.extras import package, require
from ensample.frames import as_pandas
from ensample.lab.bounds import guarantee_of
from ensample.lab.cell import Cell
from ensample.lab.cell_file import CellFile, read
from ensample.lab.intervals import mean_interval, slope_interval
from ensample.lab.published import measured, published_in
from ensample.lab.store import StudyStore
from ensample.lab.study import Study
from ensample.markup import table as rows_table
from ensample.registry import one_of
from ensample.statistics import standard_error
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure


NOTEBOOK_ROWS = 20
FRAMES = ["cells", "final", "curves", "pulls", "differences", "published", "slopes"]


class CellOutcome(NamedTuple):
    """What one finished cell gave."""

    cell: Cell
    evaluation: str
    checkpoints: list[int]  # [C]
    regret: FloatArray  # [runs, C]
    pulls: (
        IntArray | None
    )  # [runs, K], the arm with the largest mean first; None where arms are not numbered
    seconds_per_round: float


class Results:
    """The finished cells in a folder. A study under way has results too: those that are there.

    Every frame has the columns cell, policy, problem, horizon and one for each axis of the grid.
    """

    def __init__(self, folder: str | Path, study: Study | None = None) -> None:
        require("polars", user="Results")
        self.folder = file_path("folder", folder)
        self._store = StudyStore(self.folder)
        self.study = study or self._store.study()
        self.sessions = self._store.journal.sessions()

    def __repr__(self) -> str:
        return (
            f"Results({str(self.folder)!r}, {len(self.outcomes)} of {len(self.study.cells)} cells)"
        )

    def _repr_html_(self) -> str:
        axes = [axis for axis in self.axes if axis != "horizon"]
        shown = [
            [
                outcome.cell.policy,
                outcome.cell.problem,
                outcome.cell.horizon,
                *(outcome.cell.axes.get(axis, "") for axis in axes),
                *mean_interval(outcome.regret[:, -1]),
            ]
            for outcome in self.outcomes[:NOTEBOOK_ROWS]
        ]
        more = len(self.outcomes) - len(shown)
        state = f"{len(self.outcomes):,} of {len(self.study.cells):,} cells finished"
        said = f"<p><strong>{escape(self.study.name)}</strong>: {state}, {self.study.runs:,} runs each</p>"
        table = (
            rows_table(
                ["policy", "problem", "horizon", *axes, "mean regret", "95% from", "to"], shown
            )
            if shown
            else ""
        )
        return (
            said
            + table
            + (f"<p>and {more:,} more cells: see <code>.cells</code></p>" if more else "")
        )

    @property
    def version(self) -> str:
        """The version of ensample that gave these results."""
        return str(self._store.description().get("ensample", "of an unknown version"))

    @cached_property
    def axes(self) -> list[str]:
        """What the grid varies, without policies and problems themselves."""
        return list(dict.fromkeys(axis for cell in self.study.cells for axis in cell.axes))

    @cached_property
    def outcomes(self) -> list[CellOutcome]:
        """The finished cells, by number. Damaged files are left out (and run again by `run_study`)."""
        held, costs = self._store.held(), self._store.journal.costs()
        return [
            outcome_of(cell, held[digest], self.study.runs, costs.get(digest, math.nan))
            for cell, digest in zip(self.study.cells, self.study.digests, strict=True)
            if digest in held and held[digest].runs >= self.study.runs
        ]

    @cached_property
    def cells(self) -> "polars.DataFrame":
        """A row a cell: mean final regret with its 95% interval, spread, cost, and the theorem's bound where one applies."""
        return self._frame(map(self._summary, self.outcomes))

    @cached_property
    def final(self) -> "polars.DataFrame":
        """A row a run: the final regret."""
        return self._frame(
            {**self._address(outcome.cell), "run": run, "regret": regret}
            for outcome in self.outcomes
            for run, regret in enumerate(outcome.regret[:, -1].tolist())
        )

    @cached_property
    def curves(self) -> "polars.DataFrame":
        """A row a checkpoint: mean regret, its standard error, and the 10th and 90th percentile of the runs."""
        return self._frame(row for outcome in self.outcomes for row in self._curve(outcome))

    @cached_property
    def pulls(self) -> "polars.DataFrame":
        """A row an arm, the one with the largest mean first (rank 1): its share of the rounds."""
        return self._frame(
            {**self._address(outcome.cell), "rank": rank, "share": share}
            for outcome in self.outcomes
            if outcome.pulls is not None
            for rank, share in enumerate(
                (outcome.pulls.mean(axis=0) / outcome.cell.horizon).tolist(), start=1
            )
        )

    def differences(self, baseline: str = "") -> "polars.DataFrame":
        """A row a cell: final regret minus that of the baseline policy, run by run, on the same problems and noise.

        `against` names the baseline's cell: the one whose axes have the values that this cell has. Where there is none it is
        the first of several, which another choice of numbers may beat, and `alike` is false.
        """
        name = baseline or self.study.baseline or self.study.cells[0].policy
        policies = list(dict.fromkeys(cell.policy for cell in self.study.cells))
        if name not in policies:
            raise InvalidArgument("baseline", name, one_of(str(name), policies))
        rows = []
        for outcome in self.outcomes:
            other = self._counterpart(outcome.cell, name)
            if other is not None and other.cell != outcome.cell:
                mean, low, high = mean_interval(outcome.regret[:, -1] - other.regret[:, -1])
                against = {
                    "against": other.cell.name,
                    "alike": self._alike(outcome.cell, other.cell),
                }
                rows.append(
                    {
                        **self._address(outcome.cell),
                        **against,
                        "mean": mean,
                        "low": low,
                        "high": high,
                    }
                )
        return self._frame(rows, ("against", "alike", "mean", "low", "high"))

    def published(self) -> "polars.DataFrame":
        """A row a published figure: theirs, ours, and the distance in joint standard errors where theirs is known."""
        by_number = {outcome.cell.number: outcome for outcome in self.outcomes}
        rows = []
        for figure in published_in(self.study):
            outcome = by_number.get(figure.cell.number)
            if outcome is not None:
                ours, error = measured(
                    figure.measure, figure.cell.horizon, outcome.regret[:, -1], outcome.pulls
                )
                theirs = figure.standard_error
                joint = 0.0 if theirs is None or math.isnan(error) else math.hypot(error, theirs)
                distance = (ours - figure.value) / joint if joint else None
                values = {
                    "ours": ours,
                    "our_error": error,
                    "theirs": figure.value,
                    "their_error": theirs,
                    "distance": distance,
                }
                rows.append(
                    {
                        **self._address(figure.cell),
                        "measure": figure.measure,
                        **values,
                        "source": figure.source,
                    }
                )
        return self._frame(rows)

    def slopes(self) -> "polars.DataFrame":
        """A row for each axis of positive numbers, policy and problem: the slope of log regret against it, with an interval."""
        rows = []
        for axis in self.axes:
            for group in self._along(axis):
                x = np.array([float(outcome.cell.axes[axis]) for outcome in group])
                paired = len({outcome.cell.key for outcome in group}) == 1
                slope, low, high = slope_interval(
                    x, [outcome.regret[:, -1] for outcome in group], paired
                )
                if not math.isnan(slope):
                    others = {
                        name: value
                        for name, value in self._address(group[0].cell).items()
                        if name not in ("cell", axis)
                    }
                    rows.append(
                        {
                            "axis": axis,
                            **others,
                            "points": len(x),
                            "slope": slope,
                            "low": low,
                            "high": high,
                        }
                    )
        return self._frame(rows, ("axis", "points", "slope", "low", "high"))

    def plot(self, *, log: bool = False) -> "Figure":
        """Regret over the rounds, a panel a problem, on linear or logarithmic axes: the first figure of the report.

        Notebooks show it. Needs matplotlib: `pip install matplotlib`.
        """
        figure: Figure = package("ensample.report.study", "Results.plot").plot_results(self, log)
        return figure

    def to_pandas(self, frame: str = "cells") -> "pandas.DataFrame":
        """One of the frames as one of pandas, by its name: cells, final, curves, pulls, differences, published or slopes.

        pyarrow is not needed.
        """
        if frame not in FRAMES:
            raise InvalidArgument("frame", frame, one_of(str(frame), FRAMES))
        found = getattr(self, frame)
        return as_pandas(found() if callable(found) else found)

    def _along(self, axis: str) -> list[list[CellOutcome]]:
        """Groups of cells that differ in this axis only, three or more values of it."""
        groups: dict[Any, list[CellOutcome]] = {}
        for outcome in self.outcomes:
            cell = outcome.cell
            value = cell.axes.get(axis)
            if isinstance(value, int | float) and value > 0:
                rest = tuple((name, other) for name, other in cell.axes.items() if name != axis)
                groups.setdefault((cell.policy, cell.problem, rest), []).append(outcome)
        return [group for group in groups.values() if len(group) >= 3]

    def _counterpart(self, cell: Cell, policy: str) -> CellOutcome | None:
        """The baseline's cell on the same problem and horizon: with the same values of its own axes if there is one."""
        there = [
            outcome
            for outcome in self.outcomes
            if outcome.cell.policy == policy and beside(outcome.cell, cell)
        ]
        return next(
            (outcome for outcome in there if agree(outcome.cell, cell)), there[0] if there else None
        )

    def _alike(self, cell: Cell, other: Cell) -> bool:
        """Whether no other cell of that policy could have been compared with as well."""
        return (
            agree(other, cell)
            or sum(one.policy == other.policy and beside(one, cell) for one in self.study.cells)
            == 1
        )

    def _address(self, cell: Cell) -> dict[str, Any]:
        axes = {axis: cell.axes.get(axis) for axis in self.axes}
        return {
            "cell": cell.number,
            "policy": cell.policy,
            "problem": cell.problem,
            "horizon": cell.horizon,
        } | axes

    def _summary(self, outcome: CellOutcome) -> dict[str, Any]:
        final = outcome.regret[:, -1]
        mean, low, high = mean_interval(final)
        guarantee = guarantee_of(outcome.cell)
        return {
            **self._address(outcome.cell),
            "runs": len(final),
            "mean": mean,
            "low": low,
            "high": high,
            "median": float(np.median(final)),
            "p90": float(np.quantile(final, 0.9)),
            "worst": float(final.max()),
            "evaluation": outcome.evaluation,
            "seconds_per_round": outcome.seconds_per_round,
            "bound": guarantee and guarantee.bound,
            "bound_confidence": guarantee and guarantee.probability,
        }

    def _curve(self, outcome: CellOutcome) -> list[dict[str, Any]]:
        error = standard_error(outcome.regret)
        low, high = np.quantile(outcome.regret, [0.1, 0.9], axis=0)
        columns = (
            outcome.checkpoints,
            outcome.regret.mean(axis=0).tolist(),
            error.tolist(),
            low.tolist(),
            high.tolist(),
        )
        names = ("round", "mean", "standard_error", "p10", "p90")
        return [
            self._address(outcome.cell) | dict(zip(names, row, strict=True))
            for row in zip(*columns, strict=True)
        ]

    def _frame(self, rows: Any, columns: Sequence[str] = ()) -> "polars.DataFrame":
        import polars

        found = list(rows)
        names = list(self._address(self.study.cells[0])) + list(columns)
        return polars.DataFrame(
            found or None, schema=None if found else names, infer_schema_length=None, strict=False
        )


def beside(one: Cell, other: Cell) -> bool:
    """Whether both meet the same problems and noise for as long."""
    return (one.key, one.horizon) == (other.key, other.horizon)


def agree(one: Cell, other: Cell) -> bool:
    """Whether the other has all axes of this one, with the same values."""
    return all(axis in other.axes and other.axes[axis] == value for axis, value in one.axes.items())


def outcome_of(cell: Cell, file: CellFile, runs: int, seconds: float) -> CellOutcome:
    """A finished cell from its file, which may hold more runs than the study has now."""
    block, checkpoints = read(file)
    pulls = None if block.pulls is None else block.pulls[:runs]
    return CellOutcome(cell, block.evaluation, checkpoints, block.regret[:runs], pulls, seconds)
