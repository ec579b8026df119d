"""Ensemble sampling that draws its ensemble anew when det V has grown (Hwang & Oh 2026)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms
from ensample.checks import number
from ensample.models import LinearEnsemble
from ensample.policies.policy import Policy
from ensample.policies.recipe import PerturbationRecipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray

SLACK = 1e-9  # rounding must not decide where det V doubles exactly, as for unit arms and lam = 1


class RefreshedPolicy(Policy):
    """Refreshed ensemble sampling at work."""

    @property
    def refreshes(self) -> int:
        """How often the ensemble was drawn anew."""
        model = self.model
        assert isinstance(model, RefreshedEnsemble)
        return int(model.last[1])


@dataclass(frozen=True)
class RefreshedEnsembleSampling(PerturbationRecipe):
    """Draw all members anew whenever det V has grown by the factor `growth`.

    theta^j = theta_hat + V^-1 S^j. As soon as det V >= growth det V_last, S^j ~ N(0, scale^2 V)
    afresh for every j, which is what fresh perturbations of the whole history give; in between, S^j
    += x Z^j as in `EnsembleSampling`. There are at most log(det V / lam^d) / log(growth) refreshes.
    Which observations come before a refresh depends on their order: rewards that come in another
    order give another ensemble, of the same law.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.refreshed import RefreshedEnsembleSampling
    >>> recipe = RefreshedEnsembleSampling(size=20, scale=0.3, growth=4.0)
    >>> policy = recipe.start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), policy.refreshes
    (1, 4)

    Proved: with size of order d log d + d log log T and a scale of the order of the confidence
    radius the regret is of order d^(3/2) sqrt(T) up to logarithms. The constants are not prescribed
    here.

    Reference: Hwang and Oh, 2026, on ensembles that are refreshed when the determinant has grown.
    """

    size: int
    scale: float = 1.0
    growth: float = 2.0
    regularization: float = 1.0
    policy_type: ClassVar[type[Policy]] = RefreshedPolicy

    def __post_init__(self) -> None:
        self.check_fields()
        self.set_fields(growth=number("growth", self.growth, above=1.0))

    @property
    def threshold(self) -> float:
        """The growth of log det V after which the ensemble is drawn anew."""
        return math.log(self.growth) * (1.0 - SLACK)

    def build(self, arms: Arms, address: Address) -> "RefreshedEnsemble":
        return RefreshedEnsemble(self, arms.dim, address)


class RefreshedEnsemble(LinearEnsemble):
    """Refresh number e draws from (seed, e)."""

    root: FloatArray

    def __init__(self, recipe: RefreshedEnsembleSampling, dim: int, address: Address) -> None:
        super().__init__(recipe, dim, recipe.lam, address)
        self.threshold = recipe.threshold
        self.root = np.zeros((dim, dim))  # R with R'R = sum x x'
        self.last = np.zeros(2)  # log(det V / lam^d) at the last refresh, and its number

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        super().learn(round, arm, x, y)
        self.complete()

    def complete(self) -> None:
        """Draw all members anew if that is due. Doing it twice changes nothing."""
        if self.information - self.last[0] > self.threshold:
            self._refresh()

    def _refresh(self) -> None:
        """Draw S^j = W^j + scale R'g^j for fresh W^j and g^j ~ N(0, I)."""
        number = int(self.last[1]) + 1
        rng = self.address.generator(Stream.INITIAL, number)
        shape = self.size, self.dim
        sums = np.ascontiguousarray(self.initial.draw_vectors(rng, *shape).T)
        weights = self.law.draw(rng, shape)
        for i, row in enumerate(self.root):
            sums += row[:, None] * weights[:, i]
        self.sums[...] = np.vstack((sums, np.zeros(sums.shape)))
        self.last[:] = self.information, number

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "root": self.root, "last": self.last}
