"""What rivals of ensemble sampling act on where the model is generalised linear.

Each fit has its own: by the stream fit a linear model is told sqrt(w) x and its working response; by the exact fit a loss is
minimised, once for the centre and where it is perturbed once more, each round.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.models import DrawnModel, GeneralizedLinear, LinearModel
from ensample.models.exact import ExactFit, Seen, fitted, root_of
from ensample.models.streamed import Streamed
from ensample.perturbations.gaussian import standard_normals
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

EXACT = "exact"


def link_of(recipe: Recipe) -> GeneralizedLinear:
    """The recipe's model, where it is generalised linear."""
    assert isinstance(recipe.model, GeneralizedLinear)
    return recipe.model


class StreamCentre(Streamed):
    """theta_hat of the stream fit, and no other member."""

    def __init__(self, recipe: Recipe, arms: Arms) -> None:
        self.link = link_of(recipe)
        LinearModel.__init__(self, arms.dim, recipe.prior(arms), recipe.rate)


class ExactCentre(ExactFit, StreamCentre):
    """theta_hat of the exact fit."""

    def __init__(self, recipe: Recipe, arms: Arms) -> None:
        super().__init__(recipe, arms)
        self.count_arms(arms)


class Rooted(Streamed, DrawnModel):
    """A stream fit drawn afresh for each round from a root R of a sum of x x'."""

    whole: ClassVar[bool] = False

    def __init__(self, recipe: Recipe, arms: Arms, address: Address) -> None:
        self.link = link_of(recipe)
        LinearModel.__init__(self, arms.dim, recipe.prior(arms), recipe.rate)
        self.address, self.scale = address, recipe.unit_scale
        self.root = np.zeros((arms.dim, arms.dim))  # upper triangular

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.link.check_reward(y)
        rooted = self.rooted(x)
        if self.link.code is None:
            x, y = self.link.respond(self.state, x, y)
        _core.learn_rooted(self.state, self.root, rooted, x, y, self.link.code)

    @abstractmethod
    def rooted(self, x: FloatArray) -> FloatArray | None:
        """Return f where R'R is the sum of f f' [d]; None if f is sqrt(w) x."""

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "root": self.root}

    def draw(self, round: int) -> FloatArray:
        rng = self.address.generator(Stream.PERTURBATION, round)
        total = self.scale * np.sqrt(self.parts.prior) * standard_normals(rng, self.dim)
        _core.add_rows(total, self.root, self.scale * standard_normals(rng, self.dim))
        return _core.shift_mean(self.state, total)


class StreamPosterior(Rooted):
    """N(theta_hat, scale^2 V^-1): Thompson sampling by the stream fit."""

    def rooted(self, x: FloatArray) -> None:
        return None


class StreamLeader(Rooted):
    """theta_hat + V^-1 (W + sum_i x_i Z_i) with Z of one size for all: follow the perturbed leader, by the stream fit."""

    def rooted(self, x: FloatArray) -> FloatArray:
        return self.link.spread * x


class ExactDraw(ExactFit, DrawnModel):
    """A model for each round from the exact fit's centre and Hessian."""

    def __init__(self, recipe: Recipe, arms: Arms, address: Address) -> None:
        self.link = link_of(recipe)
        LinearModel.__init__(self, arms.dim, recipe.prior(arms), recipe.rate)
        self.count_arms(arms)
        self.address, self.scale = address, recipe.unit_scale

    def draw(self, round: int) -> FloatArray:
        return self.drawn(self.address.generator(Stream.PERTURBATION, round))

    @abstractmethod
    def drawn(self, rng: Generator) -> FloatArray:
        """theta_t: [d]."""

    def shift(self, rng: Generator) -> FloatArray:
        """A draw of N(0, scale^2 H), H = R'R the Hessian at the centre: [d]."""
        total = np.zeros(self.dim)
        _core.add_rows(
            total, root_of(self.centre.hessian), self.scale * standard_normals(rng, self.dim)
        )
        return total


class Laplace(ExactDraw):
    """N(theta_hat, scale^2 H^-1): GLM-TSL."""

    def drawn(self, rng: Generator) -> FloatArray:
        return np.asarray(self.centre.theta + _core.multiply(self.centre.inverse, self.shift(rng)))


class LinearlyPerturbed(ExactDraw):
    """The minimiser of a loss that is perturbed by N(0, scale^2 H): EVILL."""

    def drawn(self, rng: Generator) -> FloatArray:
        return self.minimiser(self.shift(rng))


class FollowedLeader(ExactDraw):
    """The fit to rewards that are perturbed by N(0, (scale spread)^2) each: GLM-FPL."""

    def drawn(self, rng: Generator) -> FloatArray:
        seen = self.centre.seen
        total = self.scale * np.sqrt(self.parts.prior) * standard_normals(rng, self.dim)
        sizes = self.scale * self.link.spread * np.sqrt(seen.counts)
        _core.add_rows(total, seen.rows, sizes * standard_normals(rng, len(sizes)))
        return self.minimiser(total)


class PseudoClicks(ExactDraw):
    """The fit to rewards with pseudo-rewards among them, a for each: logistic PHE."""

    def __init__(
        self, recipe: Recipe, arms: Arms, address: Address, a: float, basis: IntArray
    ) -> None:
        super().__init__(recipe, arms, address)
        self.a, self.basis = a, basis

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm = _core.unplayed(self.basis, self.arm_counts.astype(np.int64), member)
        return super().best(member, offer) if arm is None else (arm, self.rows[arm])

    def drawn(self, rng: Generator) -> FloatArray:
        rows, counts, totals = self.centre.seen
        pseudo = np.ceil(self.a * counts)
        seen = Seen(rows, counts + pseudo, totals + rng.binomial(pseudo.astype(np.int64), 0.5))
        return fitted(self.link, seen, self.parts.prior, np.zeros(self.dim), self.centre.theta)
