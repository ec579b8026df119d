"""Linear Ensemble++: random combinations of a few shared directions (Li et al. 2025)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms
from ensample.checks import number, whole
from ensample.models import DrawnModel
from ensample.perturbations import Sphere
from ensample.perturbations.laws import standard_normals
from ensample.policies.recipe import LARGEST_SIZE, Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray


@dataclass(frozen=True)
class EnsemblePlusPlus(Recipe):
    """Act greedily on a fresh Gaussian combination of M perturbation sums.

    theta_t = theta_hat + scale V^-1 S zeta_t with zeta_t ~ N(0, I_M). S in R^{d x M} starts with
    independent rows, uniform on the sphere of radius sqrt(lam), and S += x z' for an observation, z
    uniform on the unit sphere: E S S' = V, so theta_t is about N(theta_hat, scale^2 V^-1), Thompson
    sampling, already for a small `size` = M. O(d^2 + K d + M d) a round.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.ensemble_plus_plus import EnsemblePlusPlus
    >>> policy = EnsemblePlusPlus(size=8, scale=0.3).start(es.UnitBall(2), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=decision.features @ [0.6, 0.8])
    >>> bool(decision.features @ [0.6, 0.8] > 0.95)
    True

    Proved: with size of order d log T and a scale of the order of the confidence radius the regret
    is that of Thompson sampling, of order d^(3/2) sqrt(T) up to logarithms. The constants are not
    prescribed here.

    Reference: Y. Li, J. Xu, B. Wang and Z.-Q. Luo, "Scalable Exploration via Ensemble++", NeurIPS
    2025.
    """

    size: int
    scale: float = 1.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        size = whole("size", self.size, 1, LARGEST_SIZE)
        self.set_fields(size=size, scale=number("scale", self.scale, 0.0))
        self.check_regularization(auto=False)

    def least_numbers(self, arms: Arms) -> int:
        return 2 * self.size * arms.dim

    def build(self, arms: Arms, address: Address) -> "DirectionsModel":
        return DirectionsModel(self, arms.dim, address)


class DirectionsModel(DrawnModel):
    """A fresh combination of the shared directions each round."""

    def __init__(self, recipe: EnsemblePlusPlus, dim: int, address: Address) -> None:
        super().__init__(dim, recipe.lam)
        self.recipe = recipe
        self.address = address
        self.unit = Sphere(1.0 / math.sqrt(recipe.size))  # of radius 1 in R^M
        rows = self.unit.draw_vectors(address.generator(Stream.INITIAL, 0), dim, recipe.size)
        start = math.sqrt(recipe.lam) * rows.T  # S', older terms and newer [2M, d]
        self.directions = np.vstack((start, np.zeros(start.shape)))

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        rng = self.address.generator(Stream.PERTURBATION, round)
        z = self.unit.draw_vectors(rng, 1, self.recipe.size)[0]
        _core.learn_directions(self.state, self.directions, x, y, z)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "directions": self.directions}

    def draw(self, round: int) -> FloatArray:
        zeta = standard_normals(self.address.generator(Stream.MEMBER, round), self.recipe.size)
        return _core.theta_of_directions(self.state, self.directions, self.recipe.scale * zeta)
