"""What the general theorem asks of an algorithm, as measured."""

import math
from dataclasses import dataclass

from ensample.theory.setting import Setting


@dataclass(frozen=True)
class Measurement:
    """gamma and p of the general theorem, estimated from runs; see `theory.measure`.

    A run's gamma is the largest |theta_t - theta*|_V of the rounds that were looked at, its p the least probability, given the
    past, that theta_t promises at least the best mean.
    """

    gamma: float  # which a share 1 - delta of the runs stayed within
    p: float  # which a share 1 - delta of the runs stayed above
    typical_gamma: float  # medians over rounds and runs
    typical_p: float
    bound: (
        float | None
    )  # `regret_bound(gamma, p, setting)`: infinite for p = 0; None where the theorem does not apply
    regret: float  # the mean over runs
    setting: Setting
    runs: int

    @property
    def trivial(self) -> float:
        """2ST, which any regret is at most."""
        return 2.0 * self.setting.norm * self.setting.horizon

    @property
    def typical_factor(self) -> float:
        """gamma (1 + 2/p) with the medians: what a round's |x|_{V^-1} is multiplied by, as a rule; infinite for p = 0."""
        return (
            self.typical_gamma * (1.0 + 2.0 / self.typical_p) if self.typical_p > 0.0 else math.inf
        )
