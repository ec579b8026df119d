"""LinPHE as first proposed, with Bernoulli pseudo-rewards (Kveton et al. 2020)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, FiniteArms
from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.kernels import ensemble, ridge
from ensample.kernels.pseudo_rewards import unplayed
from ensample.kernels.rows import add_rows
from ensample.policies.model import ModelPolicy
from ensample.policies.recipe import Recipe
from ensample.randomness import Stream
from ensample.types import ArrayLike, FloatArray, IntArray

__all__ = ["KvetonPHE", "KvetonPHEPolicy"]

INDEPENDENT = 1e-9  # the part of a row that the rows before it must leave over


@dataclass(frozen=True)
class KvetonPHE(Recipe):
    """Mix a pseudo-rewards of 0 or 1 into the history for each reward, afresh each round, and act greedily on the fit.

    theta_t = V^-1 (b + sum_k x_k U_k) / (a + 1), U_k ~ Binomial(ceil(a N_k), 1/2) for an arm played N_k times, V = lam I +
    sum x x', b = sum x y. Nothing perturbs a direction that was never seen, so a basis of arms (the first ones that are
    linearly independent) is played first. Pseudo-rewards are counted by arm: only finite standing arms will do. A round costs
    O(K d + d^2).

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.kveton_phe import KvetonPHE
    >>> policy = KvetonPHE(a=0.5).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(np.bincount([k.argmax() for k in policy.log().features]).argmax())
    1

    Proved for rewards in [0, 1] and an a that grows with d and log T: regret of order d sqrt(T) up to logarithms. a = 0.5 is
    what does well in experiments and has no guarantee.

    Reference: B. Kveton, C. Szepesvari, M. Ghavamzadeh and C. Boutilier, "Perturbed-History Exploration in Stochastic Linear
    Bandits", UAI 2020.
    """

    a: float = 0.5
    regularization: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", number("a", self.a, most=1e6, above=0.0))
        object.__setattr__(self, "regularization", number("regularization", self.regularization, 1e-12, 1e50))

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The standard deviation of what a reward's pseudo-rewards add to it, for whole a: sqrt(a) / (2 (a + 1))."""
        return math.sqrt(self.a) / (2.0 * (self.a + 1.0))

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if not isinstance(arms, FiniteArms):
            raise InvalidArgument("arms", arms, "FiniteArms for KvetonPHE, which counts pseudo-rewards by arm")

    def start(self, arms: Arms, seed: int = 0) -> "KvetonPHEPolicy":
        return KvetonPHEPolicy(self, arms, seed)


class KvetonPHEPolicy(ModelPolicy):
    """LinPHE with pseudo-rewards at work."""

    recipe: KvetonPHE
    arms: FiniteArms

    def __init__(self, recipe: KvetonPHE, arms: Arms, seed: int) -> None:
        super().__init__(recipe, arms, seed)
        self._pulls = np.zeros(len(self.arms), np.int64)
        self._basis = independent_rows(self.arms.features)

    def _choose(self, round: int, offered: Arms) -> tuple[int, int | None, FloatArray]:
        arm = unplayed(self._basis, self._pulls, round)
        return (round, arm, self.arms.features[arm]) if arm >= 0 else super()._choose(round, offered)

    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        arm = self._numbers.get(x.tobytes())
        if arm is None:
            raise InvalidArgument("arm", x, "the features of a standing arm for KvetonPHE")
        return ridge.observe_arm(self._ridge.state, self._pulls, arm, x, y)

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super()._arrays(), "pulls": self._pulls}

    def _offer(self, features: ArrayLike) -> FiniteArms:
        raise InvalidArgument("features", features, "None for KvetonPHE, which counts pseudo-rewards by standing arm")

    def _model(self, round: int) -> FloatArray:
        rng = self._address.generator(Stream.PERTURBATION, round)
        heads = rng.binomial(np.ceil(self.recipe.a * self._pulls).astype(np.int64), 0.5)
        total = np.zeros(self.arms.dim)
        add_rows(total, self.arms.features, heads.astype(np.float64))
        return ensemble.estimate(self._ridge.state, total) / (self.recipe.a + 1.0)


def independent_rows(features: FloatArray) -> IntArray:
    """The first rows that are linearly independent, by Gram-Schmidt: [rank]."""
    basis: list[int] = []
    directions = np.zeros((0, features.shape[1]))
    for k, x in enumerate(features):
        rest = x.copy()
        for _ in range(2):  # once more for what rounding left over
            rest -= (directions @ rest) @ directions
        length = float(np.linalg.norm(rest))
        if length > INDEPENDENT * float(np.linalg.norm(x)):
            basis.append(k)
            directions = np.vstack((directions, rest / length))
        if len(basis) == features.shape[1]:
            break
    return np.array(basis, np.int64)
