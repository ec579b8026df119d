"""Two simulations of the same problems and noise, compared run by run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.markup import brief, sparkline, table
from ensample.policies.recipe import Recipe
from ensample.statistics import half_width, p_value, standard_error
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.simulation.runs import Runs


PAIRED = ("seed", "cell", "horizon", "checkpoints")  # and the problem, and how many runs


@dataclass(frozen=True, eq=False)
class Difference:
    """Regret of a recipe minus that of a baseline, run by run: what both owe to the problem and the noise cancels.

    Below zero the recipe is better. Where a few runs carry the mean, `better` says how the others went.

    >>> import ensample as es
    >>> problem = es.problem("sphere", dim=5, arms=20)
    >>> ours, theirs = (es.simulate(recipe, problem, 500, runs=40) for recipe in (es.EnsembleSampling(), es.EpsilonGreedy()))
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
        said = f"{self.mean[-1]:.4g} with standard error {self.standard_error[-1]:.2g}"
        said += f", better in {self.better} of {len(self.regret)} runs"
        return f"Difference({self.recipe!r} minus {self.baseline!r}: {said})"

    def _repr_html_(self) -> str:
        """The summary and, beside it, the mean difference over the rounds, two standard errors about it."""
        shown = {name.replace("_", " "): x for name, x in self.summary().items()}
        spread = 2.0 * np.nan_to_num(self.standard_error)
        drawn = sparkline(
            self.checkpoints, self.mean, "mean difference", (self.mean - spread, self.mean + spread)
        )
        said = f"<p>regret of {brief(self.recipe)} minus that of {brief(self.baseline)}, {self.horizon:,} rounds</p>"
        return said + table([*shown, "difference over the rounds"], [[*shown.values(), drawn]])

    @property
    def mean(self) -> FloatArray:
        """Mean difference at the checkpoints: [C]."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean, at the checkpoints: [C]; NaN for a single run."""
        return standard_error(self.regret)

    @property
    def better(self) -> int:
        """In how many runs the recipe ended with less regret than the baseline."""
        return int((self.regret[:, -1] < 0.0).sum())

    @property
    def worse(self) -> int:
        """In how many runs it ended with more; the others are ties."""
        return int((self.regret[:, -1] > 0.0).sum())

    def interval(self, alarm: float = 0.05) -> tuple[FloatArray, FloatArray]:
        """(low, high) at the checkpoints, [C] each, by Student's t: about a share `alarm` of them miss the mean that infinitely
        many runs would have, more where a few runs carry it. NaN for a single run.

        Needs SciPy: `pip install scipy`.
        """
        confidence = 1.0 - number("alarm", alarm, most=1.0, above=0.0)
        half = half_width(self.regret, confidence)
        return self.mean - half, self.mean + half

    def p_value(self) -> float:
        """How often Student's t would be as far from zero if the final means were equal; NaN for a single run.

        Of one comparison that was meant beforehand: of many, some are small by chance. Needs SciPy: `pip install scipy`.
        """
        return p_value(self.regret[:, -1])

    def summary(self) -> dict[str, float]:
        """The final difference in a few numbers."""
        return {
            "runs": float(len(self.regret)),
            "mean": float(self.mean[-1]),
            "standard_error": float(self.standard_error[-1]),
            "median": float(np.median(self.regret[:, -1])),
            "better": float(self.better),
            "worse": float(self.worse),
        }


def difference(ours: "Runs", theirs: "Runs") -> Difference:
    """Ours minus theirs, if they are paired."""
    for name in PAIRED:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if not np.array_equal(mine, other):
            raise InvalidArgument(
                "baseline", f"runs with {name} = {other}", f"{name} = {mine}, as these runs have"
            )
    if len(ours.regret) != len(theirs.regret):
        raise InvalidArgument(
            "baseline", f"{len(theirs.regret)} runs", f"{len(ours.regret)}, as many as these are"
        )
    if not same(ours.problem, theirs.problem):
        raise InvalidArgument(
            "baseline", f"runs on {theirs.problem!r}", f"runs on the same problem, {ours.problem!r}"
        )
    return Difference(
        ours.recipe, theirs.recipe, ours.horizon, ours.checkpoints, ours.regret - theirs.regret
    )


def same(ours: object, theirs: object) -> bool:
    """Families are compared; a problem is its own object, and so is one with arrays in its fields."""
    try:
        return ours is theirs or bool(ours == theirs)
    except ValueError:  # more than one truth value
        return False
