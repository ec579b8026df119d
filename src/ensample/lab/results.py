"""The results of a study as data frames."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.extras import package, require
from ensample.frames import as_pandas
from ensample.lab.analysis import guarantee_of, mean_interval, slope_interval
from ensample.lab.cell import Cell
from ensample.lab.cell_file import CellFile, read
from ensample.lab.published import published_in
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

Row = dict[str, Any]
FORMULA = r"^[=+\-@\t\r\n]"  # its beginning, to a spreadsheet
NOTEBOOK_ROWS = 20
NOTEBOOK_COLUMNS = ("mean regret", "95% from", "to")
FRAMES = ["cells", "final", "curves", "pulls", "differences", "published", "slopes"]


class CellOutcome(NamedTuple):
    """Results of one finished cell."""

    cell: Cell
    evaluation: str
    checkpoints: list[int]  # [C]
    regret: FloatArray  # [runs, C]
    pulls: IntArray | None  # [runs, K], the arm with the largest mean first; None if not numbered
    seconds_per_round: float

    @property
    def final(self) -> FloatArray:
        """Regret at the horizon: [runs]."""
        return self.regret[:, -1]


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
        cells = f"{len(self.outcomes)} of {len(self.study.cells)} cells"
        return f"Results({str(self.folder)!r}, {cells})"

    def _repr_html_(self) -> str:
        axes = [axis for axis in self.axes if axis != "horizon"]
        rows = []
        for outcome in self.outcomes[:NOTEBOOK_ROWS]:
            cell = outcome.cell
            values = [cell.policy, cell.problem, cell.horizon]
            values += [cell.axes.get(axis, "") for axis in axes]
            rows.append([*values, *mean_interval(outcome.final)])
        state = f"{len(self.outcomes):,} of {len(self.study.cells):,} cells finished"
        name, runs = escape(self.study.name), f"{self.study.runs:,} runs each"
        page = f"<p><strong>{name}</strong>: {state}, {runs}</p>"
        if rows:
            page += rows_table(["policy", "problem", "horizon", *axes, *NOTEBOOK_COLUMNS], rows)
        more = len(self.outcomes) - len(rows)
        return page + (f"<p>and {more:,} more cells: see <code>.cells</code></p>" if more else "")

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
        """The finished cells, by number.

        Damaged files are left out (and run again by `run_study`).
        """
        held, costs = self._store.held(), self._store.journal.costs()
        return [
            outcome_of(cell, held[digest], self.study.runs, costs.get(digest, math.nan))
            for cell, digest in zip(self.study.cells, self.study.digests, strict=True)
            if digest in held and held[digest].runs >= self.study.runs
        ]

    @cached_property
    def cells(self) -> "polars.DataFrame":
        """A row a cell: mean final regret with its 95% interval, spread, cost, and the bound.

        The bound is that of the theorem where one applies.
        """
        return self._frame(map(self._summary, self.outcomes))

    @cached_property
    def final(self) -> "polars.DataFrame":
        """A row a run: the final regret."""
        return self._frame(
            {**self._address(outcome.cell), "run": run, "regret": regret}
            for outcome in self.outcomes
            for run, regret in enumerate(outcome.final.tolist())
        )

    @cached_property
    def curves(self) -> "polars.DataFrame":
        """A row a checkpoint: mean regret, its standard error, 10th and 90th percentile."""
        return self._frame(row for outcome in self.outcomes for row in self._curve(outcome))

    @cached_property
    def pulls(self) -> "polars.DataFrame":
        """A row an arm, the one with the largest mean first (rank 1): its share of the rounds."""
        rows = []
        for outcome in self.outcomes:
            if outcome.pulls is not None:
                shares = outcome.pulls.mean(axis=0) / outcome.cell.horizon
                ranks = enumerate(shares.tolist(), start=1)
                address = self._address(outcome.cell)
                rows += [{**address, "rank": rank, "share": share} for rank, share in ranks]
        return self._frame(rows)

    def differences(self, baseline: str = "") -> "polars.DataFrame":
        """Return a row a cell: final regret minus the baseline policy's, run by run.

        Both are on the same problems and noise. `against` names the baseline's cell: the one whose
        axes have the values that this cell has. Where there is none it is the first of several,
        which another choice of numbers may beat, and `alike` is false.
        """
        name = baseline or self.study.baseline or self.study.cells[0].policy
        policies = list(dict.fromkeys(cell.policy for cell in self.study.cells))
        if name not in policies:
            raise InvalidArgument("baseline", name, one_of(str(name), policies))
        rows = []
        for outcome in self.outcomes:
            other = self._counterpart(outcome.cell, name)
            if other is not None and other.cell != outcome.cell:
                row = self._address(outcome.cell) | {"against": other.cell.name}
                row["alike"] = self._is_alike(outcome.cell, other.cell)
                rows.append(row | interval_columns(outcome.final - other.final))
        return self._frame(rows, ("against", "alike", "mean", "low", "high"))

    def published(self) -> "polars.DataFrame":
        """Return a row a published figure: theirs, ours, and the distance.

        The distance is in joint standard errors, where theirs is known.
        """
        by_number = {outcome.cell.number: outcome for outcome in self.outcomes}
        rows = []
        for figure in published_in(self.study):
            outcome = by_number.get(figure.cell.number)
            if outcome is not None:
                columns = figure.compared(outcome.final, outcome.pulls)
                rows.append(self._address(figure.cell) | columns)
        return self._frame(rows)

    def slopes(self) -> "polars.DataFrame":
        """Return the slopes of log regret against axes of positive numbers, with intervals.

        There is a row for each axis, policy and problem.
        """
        rows = []
        for axis in self.axes:
            for group in self._along(axis):
                x = np.array([float(outcome.cell.axes[axis]) for outcome in group])
                paired = len({outcome.cell.key for outcome in group}) == 1
                found = slope_interval(x, [outcome.final for outcome in group], paired)
                if not math.isnan(found[0]):
                    address = self._address(group[0].cell)
                    others = {name: address[name] for name in address if name not in ("cell", axis)}
                    columns = dict(zip(("slope", "low", "high"), found, strict=True))
                    rows.append({"axis": axis, **others, "points": len(x), **columns})
        return self._frame(rows, ("axis", "points", "slope", "low", "high"))

    def plot(self, *, log: bool = False) -> "Figure":
        """Draw regret over the rounds, a panel a problem, on linear or logarithmic axes.

        It is the first figure of the report. Needs matplotlib: `pip install matplotlib`.
        """
        figure: Figure = package("ensample.report.study", "Results.plot").plot_results(self, log)
        return figure

    def to_pandas(self, frame: str = "cells") -> "pandas.DataFrame":
        """Return one of the frames as one of pandas, by its name; pyarrow is not needed.

        Names are cells, final, curves, pulls, differences, published and slopes.
        """
        if frame not in FRAMES:
            raise InvalidArgument("frame", frame, one_of(str(frame), FRAMES))
        found = getattr(self, frame)
        return as_pandas(found() if callable(found) else found)

    def _along(self, axis: str) -> list[list[CellOutcome]]:
        """Return groups of cells that differ in this axis only, three or more values of it."""
        groups: dict[Any, list[CellOutcome]] = {}
        for outcome in self.outcomes:
            cell = outcome.cell
            value = cell.axes.get(axis)
            if isinstance(value, int | float) and value > 0:
                rest = tuple((name, other) for name, other in cell.axes.items() if name != axis)
                groups.setdefault((cell.policy, cell.problem, rest), []).append(outcome)
        return [group for group in groups.values() if len(group) >= 3]

    def _counterpart(self, cell: Cell, policy: str) -> CellOutcome | None:
        """Return a policy's outcome on the same problem and horizon, at best with equal axes."""
        there = [
            outcome
            for outcome in self.outcomes
            if outcome.cell.policy == policy and is_paired(outcome.cell, cell)
        ]
        equal = (outcome for outcome in there if has_axes_of(cell, outcome.cell))
        return next(equal, there[0] if there else None)

    def _is_alike(self, cell: Cell, other: Cell) -> bool:
        """Return True if no other cell of that policy could have been compared with as well."""
        rivals = (one for one in self.study.cells if one.policy == other.policy)
        return has_axes_of(cell, other) or sum(is_paired(one, cell) for one in rivals) == 1

    def _address(self, cell: Cell) -> Row:
        names = {"cell": cell.number, "policy": cell.policy, "problem": cell.problem}
        axes = {axis: cell.axes.get(axis) for axis in self.axes}
        return {**names, "horizon": cell.horizon, **axes}

    def _summary(self, outcome: CellOutcome) -> Row:
        final, guarantee = outcome.final, guarantee_of(outcome.cell)
        return {
            **self._address(outcome.cell),
            "runs": len(final),
            **interval_columns(final),
            "median": float(np.median(final)),
            "p90": float(np.quantile(final, 0.9)),
            "worst": float(final.max()),
            "evaluation": outcome.evaluation,
            "seconds_per_round": outcome.seconds_per_round,
            "bound": guarantee and guarantee.bound,
            "bound_confidence": guarantee and guarantee.probability,
        }

    def _curve(self, outcome: CellOutcome) -> list[Row]:
        regret = outcome.regret
        low, high = np.quantile(regret, [0.1, 0.9], axis=0)
        columns = regret.mean(axis=0), standard_error(regret), low, high
        values = zip(outcome.checkpoints, *(column.tolist() for column in columns), strict=True)
        names = ("round", "mean", "standard_error", "p10", "p90")
        address = self._address(outcome.cell)
        return [address | dict(zip(names, row, strict=True)) for row in values]

    def _frame(self, rows: Iterable[Row], columns: Sequence[str] = ()) -> "polars.DataFrame":
        """Return the rows, or an empty frame with the columns of an address and these."""
        import polars

        found = list(rows)
        if not found:
            return polars.DataFrame(schema=[*self._address(self.study.cells[0]), *columns])
        return polars.DataFrame(found, infer_schema_length=None, strict=False)


def interval_columns(values: FloatArray) -> Row:
    return dict(zip(("mean", "low", "high"), mean_interval(values), strict=True))


def is_paired(one: Cell, other: Cell) -> bool:
    """Return True if both meet the same problems and noise for as long."""
    return (one.key, one.horizon) == (other.key, other.horizon)


def has_axes_of(cell: Cell, one: Cell) -> bool:
    """Return True if a cell has all axes of another one, with the same values."""
    return all(axis in cell.axes and cell.axes[axis] == value for axis, value in one.axes.items())


def outcome_of(cell: Cell, file: CellFile, runs: int, seconds: float) -> CellOutcome:
    """Return a finished cell from its file, which may hold more runs than the study has now."""
    found, checkpoints = read(file)
    pulls = None if found.pulls is None else found.pulls[:runs]
    return CellOutcome(cell, found.evaluation, checkpoints, found.regret[:runs], pulls, seconds)


def as_csv(frame: "polars.DataFrame") -> bytes:
    """Return CSV in which a spreadsheet takes no text for a formula.

    An apostrophe stands before one that begins like it. Numbers stay numbers.

    >>> import polars
    >>> frame = polars.DataFrame({"label": ["=1+1", "ES", "-0.5"], "mean": [-1.5, 2.0, 3.0]})
    >>> as_csv(frame).decode().split()
    ['label,mean', "'=1+1,-1.5", 'ES,2.0', '-0.5,3.0']
    """
    import polars

    text = polars.col(polars.String)
    is_word = text.cast(polars.Float64, strict=False).is_null()
    is_formula = text.str.contains(FORMULA) & is_word
    quoted = polars.when(is_formula).then(polars.lit("'") + text).otherwise(text)
    return frame.with_columns(quoted.name.keep()).write_csv().encode()
