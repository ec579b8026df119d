"""The outcome of a simulation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.checks import instance, number
from ensample.extras import package, pandas_package
from ensample.markup import brief, sparkline, table
from ensample.policies.recipe import Recipe
from ensample.simulation.difference import Difference, difference
from ensample.statistics import standard_error
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Runs:
    """Replicates of one recipe on one problem. Regret is pseudo-regret: differences of means, never of noisy rewards."""

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
        return f"Runs({self.recipe!r}, {len(self.regret)} runs of {self.horizon:,} rounds, regret {self.mean[-1]:.4g})"

    def _repr_html_(self) -> str:
        """The summary and, beside it, mean regret over the rounds in a band from the 10th to the 90th percentile."""
        summary = {name.replace("_", " "): x for name, x in self.summary().items()}
        drawn = sparkline(
            self.checkpoints,
            self.mean,
            "mean regret",
            (self.quantile(0.1), self.quantile(0.9)),
            base=0.0,
        )
        shown = table([*summary, "regret over the rounds"], [[*summary.values(), drawn]])
        return f"<p>{brief(self.recipe)}, {self.horizon:,} rounds</p>{shown}"

    @property
    def mean(self) -> FloatArray:
        """Mean regret at the checkpoints: [C]."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean, at the checkpoints: [C]; NaN for a single run."""
        return standard_error(self.regret)

    @property
    def seconds_per_round(self) -> float:
        """Return the time of a round on one thread.

        It is the median over the runs, which one slow run does not move.
        """
        return float(np.median(self.seconds)) / self.horizon

    def quantile(self, q: float) -> FloatArray:
        """A quantile of the regret at the checkpoints: [C]."""
        return np.asarray(np.quantile(self.regret, number("q", q, 0.0, 1.0), axis=0))

    def summary(self) -> dict[str, float]:
        """The final regret in a few numbers."""
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

    def difference(self, baseline: "Runs") -> Difference:
        """This regret minus the baseline's, run by run, where both met the same problems and the same noise.

        >>> import ensample as es
        >>> problem = es.problem("sphere", dim=5, arms=20)
        >>> thompson, greedy = (es.simulate(recipe, problem, 200, runs=50) for recipe in (es.ThompsonSampling(), es.Greedy()))
        >>> thompson.difference(greedy).better > 25
        True
        """
        return difference(
            self, instance("baseline", baseline, Runs, "runs, as simulate gives them")
        )

    def plot(
        self, axes: "Axes | None" = None, *, label: str | None = None, color: Any = None
    ) -> "Figure":
        """Regret over the rounds, run by run, with the mean and a band from the 10th to the 90th percentile.

        On `axes` of your own, or in a figure that notebooks show. `label` is the mean's name in a legend, the recipe with its
        final regret unless given; `color` is one of matplotlib's, on axes that have lines already the next of ours unless
        given. Needs matplotlib: `pip install matplotlib`.
        """
        figure: Figure = package("ensample.report.race", "Runs.plot").plot_runs(
            self, axes, label, color
        )
        return figure

    def to_frame(self) -> "polars.DataFrame":
        """One row a run and checkpoint: run, round, regret."""
        frame: polars.DataFrame = package("polars", "Runs.to_frame").DataFrame(self._columns())
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """As `to_frame`, of pandas; neither polars nor pyarrow is needed."""
        frame: pandas.DataFrame = pandas_package().DataFrame(self._columns())
        return frame

    def _columns(self) -> dict[str, FloatArray | IntArray]:
        runs = len(self.regret)
        return {
            "run": np.repeat(np.arange(runs), self.checkpoints.size),
            "round": np.tile(self.checkpoints, runs),
            "regret": self.regret.ravel(),
        }
