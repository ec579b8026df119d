"""Ensemble sampling whose scale grows with the confidence radius (Janz et al. 2026)."""

import math
from dataclasses import dataclass, field
from typing import Self

from ensample.arms import Arms
from ensample.calibration import Inflation
from ensample.checks import instance, number
from ensample.errors import AssumptionError
from ensample.models import LinearEnsemble
from ensample.policies.recipe import PerturbationRecipe
from ensample.randomness import Address
from ensample.theory import Setting

THEOREM = "SharpEnsembleSampling.from_theorem"
LEAST_REGULARIZATION = 80.0
THEOREM_GAMMA = 40.0
MEMBERS = 2000.0  # a dimension and a nat of log(T/delta)


@dataclass(frozen=True)
class SharpEnsembleSampling(PerturbationRecipe):
    """Multiply the acting perturbation by gamma times the confidence radius of the moment.

    theta_t = theta_hat + gamma beta_{t-1} V^-1 S^J with S^j = W^j + sum_i X_i Z_i^j, W ~ N(0, lam
    I), Z ~ N(0, 1), and beta = noise sqrt(log(det V / lam^d) + 2 log(1/delta)) + sqrt(lam) norm.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.sharp import SharpEnsembleSampling
    >>> recipe = SharpEnsembleSampling(size=50, gamma=0.5, noise=0.1)
    >>> policy = recipe.start(es.FiniteArms(np.eye(3)), seed=0)
    >>> round(policy.inflation, 3)
    0.622
    >>> for _ in range(300):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), round(policy.inflation, 3)
    (1, 0.697)

    Proved for `from_theorem`: regret of order d^(3/2) sqrt(T) up to logarithms, for any arms in the
    unit ball. The theorem is stated for noise of sigma = 1 and a norm of at most 1; rewards of
    another sigma are divided by it, which asks for norm <= noise. It also asks for delta < 1/4 and
    T >= max(2, d). On the ball m <= d/2 fails.

    Reference: D. Janz, A. Akhavan and C. Szepesvari, "Sharp analysis of linear ensemble sampling",
    COLT 2026.
    """

    size: int
    gamma: float = 1.0
    noise: float = 1.0  # sigma
    norm: float = 1.0  # S
    delta: float = 0.05
    regularization: float = 1.0
    setting: Setting | None = field(default=None, kw_only=True)

    scale = 1.0  # of the perturbations, before `inflation` multiplies them

    def __post_init__(self) -> None:
        self.check_fields()
        self.set_fields(
            gamma=number("gamma", self.gamma, 0.0),
            noise=number("noise", self.noise, 0.0),
            norm=number("norm", self.norm, 0.0),
            delta=number("delta", self.delta, most=1.0, above=0.0),
        )

    @classmethod
    def from_theorem(cls, setting: Setting) -> Self:
        """Return the constants of the theorem: 2000 d log(T/delta) members, gamma = 40.

        >>> import ensample as es
        >>> setting = es.Setting(5, None, horizon=10_000, noise=1, norm=1, regularization=80)
        >>> recipe = SharpEnsembleSampling.from_theorem(setting)
        >>> recipe.size, recipe.gamma
        (122061, 40.0)
        """
        instance("setting", setting, Setting, "a Setting")
        require_sharp(setting)
        nats = math.log(setting.horizon) - math.log(setting.delta)
        return cls(
            size=math.ceil(MEMBERS * setting.dim * nats),
            gamma=THEOREM_GAMMA,
            noise=setting.noise,
            norm=setting.norm,
            delta=setting.delta,
            regularization=setting.regularization,
            setting=setting,
        )

    @property
    def factor(self) -> Inflation:
        """Return gamma beta as kernels take it."""
        base = self.gamma * math.sqrt(self.lam) * self.norm
        tail = -2.0 * math.log(self.delta)
        return Inflation(base, self.gamma * self.noise, tail, determinant=True)

    def build(self, arms: Arms, address: Address) -> "SharpEnsemble":
        return SharpEnsemble(self, arms.dim, address)


def require_sharp(setting: Setting) -> None:
    """Raise unless the assumptions of the theorem hold."""
    least, regular = max(2, setting.dim), setting.regularization >= LEAST_REGULARIZATION
    unit = "sigma = 1 and a norm of at most 1, after dividing rewards by sigma"
    assumptions = (
        ("delta < 1/4", setting.delta < 0.25, ("delta",)),
        (f"horizon >= max(2, dim) = {least}", setting.horizon >= least, ("horizon",)),
        (f"regularization >= {LEAST_REGULARIZATION:g}", regular, ("regularization",)),
        (f"norm <= noise ({unit})", setting.norm <= setting.noise, ("norm", "noise")),
    )
    for assumption, holds, names in assumptions:
        if not holds:
            found = ", ".join(f"{name} = {getattr(setting, name)}" for name in names)
            raise AssumptionError(THEOREM, assumption, found)


class SharpEnsemble(LinearEnsemble):
    """The members are kept unscaled."""

    def __init__(self, recipe: SharpEnsembleSampling, dim: int, address: Address) -> None:
        super().__init__(recipe, dim, recipe.lam, address)
        self.factor = recipe.factor

    @property
    def inflation(self) -> float:
        """gamma beta_{t-1}."""
        base, width, tail = self.factor[:3]
        return base + width * math.sqrt(max(0.0, self.information + tail))
