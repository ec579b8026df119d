"""Linear Ensemble++: random combinations of a few shared directions (Li et al. 2025)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms
from ensample.checks import number, whole
from ensample.kernels import ensemble
from ensample.kernels.rows import add_rows
from ensample.kernels.shared_factor import learn_shared
from ensample.perturbations import Sphere
from ensample.policies.model import ModelPolicy
from ensample.policies.recipe import LARGEST_SIZE, Recipe
from ensample.randomness import Stream
from ensample.types import FloatArray

__all__ = ["EnsemblePlusPlus", "EnsemblePlusPlusPolicy"]


@dataclass(frozen=True)
class EnsemblePlusPlus(Recipe):
    """Keep M perturbation sums, and each round act greedily on a fresh Gaussian combination of them.

    theta_t = theta_hat + scale V^-1 S zeta_t with zeta_t ~ N(0, I_M). S in R^{d x M} starts with independent rows, uniform on
    the sphere of radius sqrt(lam), and S += x z' for an observation, z uniform on the unit sphere: E S S' = V, so theta_t is
    about N(theta_hat, scale^2 V^-1), Thompson sampling, already for a small `size` = M. O(d^2 + K d + M d) a round.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.ensemble_plus_plus import EnsemblePlusPlus
    >>> policy = EnsemblePlusPlus(size=8, scale=0.3).start(es.UnitBall(2), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=decision.features @ [0.6, 0.8])
    >>> bool(decision.features @ [0.6, 0.8] > 0.95)
    True

    Proved: with size of order d log T and a scale of the order of the confidence radius the regret is that of Thompson
    sampling, of order d^(3/2) sqrt(T) up to logarithms. The constants are not prescribed here.

    Reference: Y. Li, J. Xu, B. Wang and Z.-Q. Luo, "Scalable Exploration via Ensemble++", NeurIPS 2025.
    """

    size: int
    scale: float = 1.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, 1, LARGEST_SIZE))
        object.__setattr__(self, "scale", number("scale", self.scale, 0.0))
        object.__setattr__(self, "regularization", number("regularization", self.regularization, 1e-12, 1e50))

    def start(self, arms: Arms, seed: int = 0) -> "EnsemblePlusPlusPolicy":
        return EnsemblePlusPlusPolicy(self, arms, seed)


class EnsemblePlusPlusPolicy(ModelPolicy):
    """Linear Ensemble++ at work."""

    recipe: EnsemblePlusPlus

    def __init__(self, recipe: EnsemblePlusPlus, arms: Arms, seed: int) -> None:
        super().__init__(recipe, arms, seed)
        size = recipe.size
        self._unit = Sphere(1.0 / math.sqrt(size))  # of radius 1 in R^M
        rng = self._address.generator(Stream.INITIAL, 0)
        rows = self._unit.draw_vectors(rng, arms.dim, size)
        self._directions = np.ascontiguousarray(math.sqrt(recipe.regularization) * rows.T)  # S' [M, d]

    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        z = self._unit.draw_vectors(self._address.generator(Stream.PERTURBATION, round), 1, self.recipe.size)[0]
        return learn_shared(self._ridge.state, self._directions, x, y, z)

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super()._arrays(), "directions": self._directions}

    def _model(self, round: int) -> FloatArray:
        zeta = self._address.generator(Stream.MEMBER, round).standard_normal(self.recipe.size)
        total = np.zeros(self.arms.dim)
        add_rows(total, self._directions, self.recipe.scale * zeta)
        return ensemble.estimate(self._ridge.state, total)
