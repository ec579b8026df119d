"""What a theorem promises, and with which probability."""

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
            raise AssumptionError(
                self.name,
                f"delta < {1 / self.failures:.4g} (it holds with probability 1 - {self.failures} delta)",
                f"delta = {setting.delta:g}",
            )


THEOREM_ONE = Theorem("Theorem 1", 4)
SHARP_THEOREM = Theorem("Theorem 1 with the sharper size", 4)  # theory.sharp: not of the paper
COROLLARY = Theorem("the Corollary for LinPHE", 3)
OPTIMISTIC_RULE = Theorem("the optimistic member rule", 3)  # not of the paper
LINUCB_THEOREM = Theorem("the general theorem for LinUCB", 2)
GENERAL_THEOREM = Theorem("the general theorem", 1)
