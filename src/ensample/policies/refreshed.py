"""Ensemble sampling that draws its ensemble anew when det V has grown (Hwang & Oh 2026)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms
from ensample.checks import number
from ensample.kernels import ensemble
from ensample.policies.ensemble_sampling import EnsemblePolicy
from ensample.policies.recipe import EnsembleRecipe
from ensample.randomness import Stream
from ensample.types import FloatArray

__all__ = ["RefreshedEnsembleSampling", "RefreshedPolicy"]

SLACK = 1e-9  # so that rounding does not decide where det V doubles exactly, as it does for unit arms and lam = 1


@dataclass(frozen=True)
class RefreshedEnsembleSampling(EnsembleRecipe):
    """Ensemble sampling with Gaussian laws; all members are drawn anew whenever det V has grown by the factor `growth`.

    theta^j = theta_hat + V^-1 S^j. As soon as det V >= growth det V_last, S^j ~ N(0, scale^2 V) afresh for every j, which is
    what fresh perturbations of the whole history give; in between, S^j += x Z^j as in `EnsembleSampling`. There are at most
    log(det V / lam^d) / log(growth) refreshes. Which observations come before a refresh depends on their order: rewards that
    come in another order give another ensemble, of the same law.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.refreshed import RefreshedEnsembleSampling
    >>> policy = RefreshedEnsembleSampling(size=20, scale=0.3, growth=4.0).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), policy.refreshes
    (1, 4)

    Proved: with size of order d log d + d log log T and a scale of the order of the confidence radius the regret is of order
    d^(3/2) sqrt(T) up to logarithms. The constants are not prescribed here.

    Reference: Hwang and Oh, 2026, on ensembles that are refreshed when the determinant has grown.
    """

    size: int
    scale: float = 1.0
    growth: float = 2.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        self.check_fields()
        object.__setattr__(self, "growth", number("growth", self.growth, above=1.0))

    @property
    def threshold(self) -> float:
        """The growth of log det V after which the ensemble is drawn anew."""
        return math.log(self.growth) * (1.0 - SLACK)

    def start(self, arms: Arms, seed: int = 0) -> "RefreshedPolicy":
        return RefreshedPolicy(self, arms, seed)


class RefreshedPolicy(EnsemblePolicy):
    """Refreshed ensemble sampling at work. Refresh number e draws from (seed, e)."""

    recipe: RefreshedEnsembleSampling

    def __init__(self, recipe: RefreshedEnsembleSampling, arms: Arms, seed: int) -> None:
        super().__init__(recipe, arms, seed)
        self._root = np.zeros((arms.dim, arms.dim))  # R with R'R = sum x x'
        self._last = np.zeros(2)  # log(det V / lam^d) at the last refresh, and its number

    @property
    def refreshes(self) -> int:
        """How often the ensemble was drawn anew."""
        return int(self._last[1])

    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        return ensemble.learn_rooted(self._ridge.state, self._sums, self._root, x, y, self._perturbations(round))

    def _settle(self, due: bool) -> None:
        super()._settle(due)
        if self._ridge.information - self._last[0] > self.recipe.threshold:
            self._refresh()

    def _refresh(self) -> None:
        """S^j = W^j + scale R'g^j for fresh W^j and g^j ~ N(0, I)."""
        rng = self._address.generator(Stream.INITIAL, self.refreshes + 1)
        shape = self.recipe.size, self.arms.dim
        sums = np.ascontiguousarray(self.recipe.initial_law.draw_vectors(rng, *shape).T)
        weights = self.recipe.reward_law.draw(rng, shape)
        for i, row in enumerate(self._root):
            sums += row[:, None] * weights[:, i]
        self._sums[...] = sums
        self._last[:] = self._ridge.information, self.refreshes + 1

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super()._arrays(), "root": self._root, "last": self._last}
