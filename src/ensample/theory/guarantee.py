"""Guarantees proved for a recipe, and measurements of the general theorem."""

from dataclasses import dataclass

from ensample.checks import instance
from ensample.errors import AssumptionError
from ensample.theory.setting import Setting


@dataclass(frozen=True)
class Guarantee:
    """The regret over the setting's horizon is at most `bound`, with at least this probability."""

    bound: float
    probability: float
    theorem: str  # that says so


@dataclass(frozen=True)
class Theorem:
    """A bound that fails with probability at most `failures` times delta."""

    name: str
    failures: int

    def guarantee(self, setting: Setting, bound: float) -> Guarantee:
        self.require_confidence(setting)
        return Guarantee(bound, 1.0 - self.failures * setting.delta, self.name)

    def require_confidence(self, setting: Setting) -> None:
        """Raise for a delta at which it says nothing."""
        instance("setting", setting, Setting, "a Setting")
        if self.failures * setting.delta >= 1.0:
            holds = f"it holds with probability 1 - {self.failures} delta"
            needed = f"delta < {1 / self.failures:.4g} ({holds})"
            raise AssumptionError(self.name, needed, f"delta = {setting.delta:g}")


THEOREM_ONE = Theorem("Theorem 1", 4)
SHARP_THEOREM = Theorem("Theorem 1 with the sharper size", 4)  # theory.sharp: not of the paper
COROLLARY = Theorem("the Corollary for LinPHE", 3)
OPTIMISTIC_RULE = Theorem("the optimistic member rule", 3)  # not of the paper
LINUCB_THEOREM = Theorem("the general theorem for LinUCB", 2)
GENERAL_THEOREM = Theorem("the general theorem", 1)


@dataclass(frozen=True)
class Measurement:
    """gamma and p of the general theorem, estimated from runs; see `theory.measure`.

    A run's gamma is the largest |theta_t - theta*|_V of the rounds that were looked at, its p the
    least probability, given the past, that theta_t promises at least the best mean.
    """

    gamma: float  # which a share 1 - delta of the runs stayed within
    p: float  # which a share 1 - delta of the runs stayed above
    typical_gamma: float  # medians over rounds and runs
    typical_p: float
    bound: float | None  # `regret_bound(gamma, p, setting)`; None if it does not apply
    regret: float  # the mean over runs
    setting: Setting
    runs: int

    @property
    def trivial(self) -> float:
        """2ST, which any regret is at most."""
        return 2.0 * self.setting.norm * self.setting.horizon
