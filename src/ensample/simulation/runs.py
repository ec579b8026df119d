"""The outcome of a simulation."""

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.numerals import numeral
from ensample.policies.recipe import Recipe
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars

__all__ = ["Runs"]


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

    def __repr__(self) -> str:
        return f"Runs({self.recipe!r}, {len(self.regret)} runs of {self.horizon:,} rounds, regret {self.mean[-1]:.4g})"

    def _repr_html_(self) -> str:
        """The summary and, beside it, mean regret over the rounds in a band from the 10th to the 90th percentile."""
        summary = {name.replace("_", " "): x for name, x in self.summary().items()}
        head = "".join(f"<th>{name}</th>" for name in summary)
        shown = ("" if math.isnan(x) else numeral(x, 4) for x in summary.values())
        body = "".join(f'<td style="text-align:right">{text}</td>' for text in shown)
        return (
            f"<p><code>{escape(repr(self.recipe))}</code>, {self.horizon:,} rounds</p>"
            f"<table><thead><tr>{head}<th>regret over the rounds</th></tr></thead>"
            f"<tbody><tr>{body}<td>{self._sparkline()}</td></tr></tbody></table>"
        )

    def _sparkline(self, width: int = 160, height: int = 36) -> str:
        low, high = self.quantile(0.1), self.quantile(0.9)
        top = max(float(high.max()), float(self.mean.max())) or 1.0

        def points(heights: FloatArray) -> list[str]:
            x, y = self.checkpoints / self.horizon * width, height * (1.0 - heights / top)
            return [f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]

        band = " ".join(points(low) + points(high)[::-1])
        return (
            f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="mean regret">'
            f'<polygon points="{band}" fill="currentColor" fill-opacity="0.2"/>'
            f'<polyline points="{" ".join(points(self.mean))}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
        )

    @property
    def mean(self) -> FloatArray:
        """Mean regret at the checkpoints: [C]."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean, at the checkpoints: [C]; NaN for a single run."""
        runs = len(self.regret)
        return self.regret.std(axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else np.full(self.checkpoints.size, np.nan)

    @property
    def seconds_per_round(self) -> float:
        """Of one thread: the median over the runs, since the first of them may have had to wait for a kernel's compilation."""
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

    def to_frame(self) -> "polars.DataFrame":
        """One row a run and checkpoint: run, round, regret."""
        try:
            import polars
        except ImportError:
            raise InvalidArgument("polars", None, "the package polars: pip install 'ensample[lab]'") from None
        runs = len(self.regret)
        return polars.DataFrame(
            {
                "run": np.repeat(np.arange(runs), self.checkpoints.size),
                "round": np.tile(self.checkpoints, runs),
                "regret": self.regret.ravel(),
            }
        )
