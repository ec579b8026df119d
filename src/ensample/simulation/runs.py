"""The outcome of a simulation, and the comparison of two, run by run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.checks import instance, number
from ensample.errors import InvalidArgument
from ensample.extras import package, pandas_package
from ensample.markup import brief, sparkline, table
from ensample.policies.recipe import Recipe
from ensample.statistics import half_width, p_value, standard_error
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAIRED = ("seed", "cell", "horizon", "checkpoints")  # what two simulations must share, at least


@dataclass(frozen=True, eq=False)
class Runs:
    """Replicates of one recipe on one problem.

    Regret is pseudo-regret: differences of means, never of noisy rewards.
    """

    recipe: Recipe
    problem: object
    horizon: int
    seed: int
    evaluation: str  # lazy, eager or live
    checkpoints: IntArray  # [C] numbers of rounds
    regret: FloatArray  # [runs, C] after that many rounds
    pulls: IntArray | None  # [runs, K]; None where arms are not numbered
    seconds: FloatArray  # [runs] of work
    cell: int = 0

    def __repr__(self) -> str:
        runs = f"{len(self.regret)} runs of {self.horizon:,} rounds"
        return f"Runs({self.recipe!r}, {runs}, regret {self.mean[-1]:.4g})"

    def _repr_html_(self) -> str:
        """Return the summary and mean regret in a band from the 10th to the 90th percentile."""
        band = self.quantile(0.1), self.quantile(0.9)
        drawn = sparkline(self.checkpoints, self.mean, "mean regret", band, base=0.0)
        shown = summary_table(self.summary(), "regret over the rounds", drawn)
        return f"<p>{brief(self.recipe)}, {self.horizon:,} rounds</p>{shown}"

    @property
    def mean(self) -> FloatArray:
        """Mean regret at the checkpoints: [C]."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean at the checkpoints: [C]; NaN for a single run."""
        return standard_error(self.regret)

    @property
    def seconds_per_round(self) -> float:
        """Time of a round on one thread.

        It is the median over the runs, which one slow run does not move.
        """
        return float(np.median(self.seconds)) / self.horizon

    def quantile(self, q: float) -> FloatArray:
        """Return a quantile of the regret at the checkpoints: [C]."""
        return np.asarray(np.quantile(self.regret, number("q", q, 0.0, 1.0), axis=0))

    def summary(self) -> dict[str, float]:
        """Return the final regret in a few numbers."""
        final = self.regret[:, -1]
        return {
            "runs": float(len(final)),
            "mean": float(final.mean()),
            "standard_error": float(self.standard_error[-1]),
            "median": float(np.median(final)),
            "p90": float(np.quantile(final, 0.9)),
            "worst": float(final.max()),
            "rounds_per_second": 1.0 / self.seconds_per_round,
        }

    def difference(self, baseline: "Runs") -> "Difference":
        """Return this regret minus the baseline's, run by run.

        Both must have met the same problems and the same noise.

        >>> import ensample as es
        >>> problem = es.problem("sphere", dim=5, arms=20)
        >>> thompson = es.simulate(es.ThompsonSampling(), problem, 200, runs=50)
        >>> greedy = es.simulate(es.Greedy(), problem, 200, runs=50)
        >>> thompson.difference(greedy).better > 25
        True
        """
        check_paired(self, instance("baseline", baseline, Runs, "runs, as simulate gives them"))
        regret = self.regret - baseline.regret
        return Difference(self.recipe, baseline.recipe, self.horizon, self.checkpoints, regret)

    def plot(
        self, axes: "Axes | None" = None, *, label: str | None = None, color: Any = None
    ) -> "Figure":
        """Draw regret over the rounds: the runs, their mean, and their 10th to 90th percentile.

        It is drawn on `axes` of your own, or in a figure that notebooks show. `label` is the mean's
        name in a legend, by default the recipe with its final regret; `color` is one of
        matplotlib's, by default the next of ours. Needs matplotlib: `pip install matplotlib`.
        """
        drawing = package("ensample.report.race", "Runs.plot")
        figure: Figure = drawing.plot_runs(self, axes, label, color)
        return figure

    def to_frame(self) -> "polars.DataFrame":
        """Return one row a run and checkpoint: run, round, regret."""
        frame: polars.DataFrame = package("polars", "Runs.to_frame").DataFrame(self._columns())
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """Return `to_frame` of pandas; neither polars nor pyarrow is needed."""
        frame: pandas.DataFrame = pandas_package().DataFrame(self._columns())
        return frame

    def _columns(self) -> dict[str, FloatArray | IntArray]:
        runs = len(self.regret)
        return {
            "run": np.repeat(np.arange(runs), self.checkpoints.size),
            "round": np.tile(self.checkpoints, runs),
            "regret": self.regret.ravel(),
        }


@dataclass(frozen=True, eq=False)
class Difference:
    """Regret of a recipe minus that of a baseline, run by run.

    What both owe to the problem and the noise cancels. Below zero the recipe is better. Where a few
    runs carry the mean, `better` says how the others went.

    >>> import ensample as es
    >>> problem = es.problem("sphere", dim=5, arms=20)
    >>> ours = es.simulate(es.EnsembleSampling(), problem, 500, runs=40)
    >>> theirs = es.simulate(es.EpsilonGreedy(), problem, 500, runs=40)
    >>> found = ours.difference(theirs)
    >>> found.regret.shape, found.better + found.worse <= 40
    ((40, 200), True)
    >>> low, high = found.interval()  # at every checkpoint
    >>> bool(low[-1] < found.mean[-1] < high[-1]), 0.0 <= found.p_value() <= 1.0
    (True, True)
    """

    recipe: Recipe
    baseline: Recipe
    horizon: int
    checkpoints: IntArray  # [C] numbers of rounds
    regret: FloatArray  # [runs, C] ours minus theirs, after that many rounds

    def __repr__(self) -> str:
        mean = f"{self.mean[-1]:.4g} with standard error {self.standard_error[-1]:.2g}"
        better = f"better in {self.better} of {len(self.regret)} runs"
        return f"Difference({self.recipe!r} minus {self.baseline!r}: {mean}, {better})"

    def _repr_html_(self) -> str:
        """Return the summary and the mean difference, two standard errors about it."""
        spread = 2.0 * np.nan_to_num(self.standard_error)
        band = self.mean - spread, self.mean + spread
        drawn = sparkline(self.checkpoints, self.mean, "mean difference", band)
        title = f"regret of {brief(self.recipe)} minus that of {brief(self.baseline)}"
        shown = summary_table(self.summary(), "difference over the rounds", drawn)
        return f"<p>{title}, {self.horizon:,} rounds</p>{shown}"

    @property
    def mean(self) -> FloatArray:
        """Mean difference at the checkpoints: [C]."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean at the checkpoints: [C]; NaN for a single run."""
        return standard_error(self.regret)

    @property
    def better(self) -> int:
        """Number of runs in which the recipe ended with less regret than the baseline."""
        return int((self.regret[:, -1] < 0.0).sum())

    @property
    def worse(self) -> int:
        """Number of runs in which it ended with more; the others are ties."""
        return int((self.regret[:, -1] > 0.0).sum())

    def interval(self, alarm: float = 0.05) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) at the checkpoints, [C] each, by Student's t.

        About a share `alarm` of the intervals miss the mean that infinitely many runs would have,
        more where a few runs carry it. NaN for a single run. Needs SciPy: `pip install scipy`.
        """
        confidence = 1.0 - number("alarm", alarm, most=1.0, above=0.0)
        half = half_width(self.regret, confidence)
        return self.mean - half, self.mean + half

    def p_value(self) -> float:
        """Return how often Student's t would be as far from zero if the final means were equal.

        It is for one comparison that was meant beforehand: of many, some are small by chance. NaN
        for a single run. Needs SciPy: `pip install scipy`.
        """
        return p_value(self.regret[:, -1])

    def summary(self) -> dict[str, float]:
        """Return the final difference in a few numbers."""
        return {
            "runs": float(len(self.regret)),
            "mean": float(self.mean[-1]),
            "standard_error": float(self.standard_error[-1]),
            "median": float(np.median(self.regret[:, -1])),
            "better": float(self.better),
            "worse": float(self.worse),
        }


def summary_table(summary: dict[str, float], title: str, drawn: Any) -> str:
    """Return a table of one row, with a drawing at its end."""
    names = [name.replace("_", " ") for name in summary]
    return table([*names, title], [[*summary.values(), drawn]])


def check_paired(ours: Runs, theirs: Runs) -> None:
    """Raise unless two simulations met the same problems and noise."""
    for name in PAIRED:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if not np.array_equal(mine, other):
            expected = f"{name} = {mine}, as these runs have"
            raise InvalidArgument("baseline", f"runs with {name} = {other}", expected)
    mine, other = len(ours.regret), len(theirs.regret)
    if mine != other:
        raise InvalidArgument("baseline", f"{other} runs", f"{mine}, as many as these are")
    if not is_same(ours.problem, theirs.problem):
        expected = f"runs on the same problem, {ours.problem!r}"
        raise InvalidArgument("baseline", f"runs on {theirs.problem!r}", expected)


def is_same(ours: object, theirs: object) -> bool:
    """Return True if two problems are one object, or equal, as families are."""
    try:
        return ours is theirs or bool(ours == theirs)
    except ValueError:  # fields with arrays have no one truth value
        return False
