"""Models that rivals of ensemble sampling act on where rewards are generalised linear.

By the stream fit a linear model learns sqrt(w) x and its working response; by the exact fit a loss
is minimised, once for the centre and, if it is perturbed, once more each round.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms
from ensample.models import DrawnModel, GeneralizedLinear, LinearModel, Model
from ensample.models.exact import ExactModel, root_of
from ensample.models.linear import ThetaModel
from ensample.models.neural import Trained
from ensample.perturbations.laws import standard_normals
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray


def link_of(recipe: Recipe) -> GeneralizedLinear:
    """Return the recipe's model, which is generalised linear."""
    assert isinstance(recipe.model, GeneralizedLinear)
    return recipe.model


def centre_of(recipe: Recipe, arms: Arms, address: Address) -> Model:
    """Return a model of one member, the estimate from the real rewards."""
    model = recipe.model
    if isinstance(model, Trained):
        return model.single(recipe.regularization, recipe.half_life, arms, address)
    link = model if isinstance(model, GeneralizedLinear) else None
    stream = LinearModel(arms.dim, recipe.prior(arms), recipe.rate, link)
    return stream if link is None or link.fit != "exact" else ExactModel(stream, arms)


class StreamDraw(DrawnModel):
    """A stream fit drawn afresh for each round, from a root R of a sum of f f'.

    f is sqrt(w) x for N(theta_hat, scale^2 V^-1), Thompson sampling; or, with `spread`, spread x
    for perturbations of one size: follow the perturbed leader.
    """

    whole: ClassVar[bool] = False

    def __init__(
        self, recipe: Recipe, arms: Arms, address: Address, spread: float | None = None
    ) -> None:
        super().__init__(arms.dim, recipe.prior(arms), recipe.rate, link_of(recipe))
        self.address, self.scale, self.spread = address, recipe.unit_scale, spread
        self.root = np.zeros((arms.dim, arms.dim))  # upper triangular

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        rooted = None if self.spread is None else self.spread * x
        x, y = self.response(x, y)
        _core.learn_rooted(self.state, self.root, rooted, x, y, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "root": self.root}

    def draw(self, round: int) -> FloatArray:
        rng = self.address.generator(Stream.PERTURBATION, round)
        total = self.scale * np.sqrt(self.parts.prior) * standard_normals(rng, self.dim)
        _core.add_rows(total, self.root, self.scale * standard_normals(rng, self.dim))
        return _core.shift_mean(self.state, total)


class ExactDraw(ExactModel):
    """A model for each round, drawn from the exact fit's centre and Hessian."""

    size = None

    def __init__(self, recipe: Recipe, arms: Arms, address: Address) -> None:
        link = link_of(recipe)
        super().__init__(LinearModel(arms.dim, recipe.prior(arms), recipe.rate, link), arms)
        self.address, self.scale = address, recipe.unit_scale

    theta = ThetaModel.drawn_theta

    def draw(self, round: int) -> FloatArray:
        return self.draw_from(self.address.generator(Stream.PERTURBATION, round))

    @abstractmethod
    def draw_from(self, rng: Generator) -> FloatArray:
        """Return theta_t: [d]."""

    def shift(self, rng: Generator) -> FloatArray:
        """Draw from N(0, scale^2 H), H = R'R the Hessian at the centre: [d]."""
        total, root = np.zeros(self.dim), root_of(self.centre.hessian)
        _core.add_rows(total, root, self.scale * standard_normals(rng, self.dim))
        return total
