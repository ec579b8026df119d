"""Families of problems that are not linear: networks, squares and the wheel."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms, FiniteArms
from ensample.checks import boolean, number, whole
from ensample.problems.classification import blocks, chosen_block
from ensample.problems.family import Family, check_fields
from ensample.problems.noise import Noise
from ensample.problems.problem import NonlinearProblem, unit_rows
from ensample.types import FloatArray

LEAK = 0.01  # slope of a leaky unit below zero
ACTIONS = 5  # of the wheel
SAFE, PLAIN, LARGE = 1.2, 1.0, 50.0  # its rewards


class NetworkProblem(NonlinearProblem):
    """Mean w'phi(W x) with phi(u) = max(u, 0.01 u)."""

    def __init__(
        self, features: FloatArray, inner: FloatArray, outer: FloatArray, noise: Noise | float
    ) -> None:
        super().__init__(FiniteArms(features), noise)
        self.inner, self.outer = inner, outer  # [h, d], [h]

    def means(self, rows: FloatArray) -> FloatArray:
        units = np.einsum("kd,hd->kh", rows, self.inner)
        return np.asarray(np.einsum("kh,h->k", np.maximum(units, LEAK * units), self.outer))


@dataclass(frozen=True)
class NetworkRewards(Family):
    """`neural`: the mean is a network with one hidden layer of leaky units, all weights N(0, 1).

    Arms have coordinates U[-1, 1], the last one 1. The noise has variance 100: a third of the
    spread of the arms. With no more arms than features a linear function can be as good: 100 arms
    in 100 dimensions are linearly independent.

    >>> import ensample as es
    >>> problem = es.problem("neural", dim=5, arms=8).draw(np.random.default_rng(0))
    >>> problem.arms, bool(problem.arms.features[:, -1].min() == 1.0)
    (FiniteArms(8 arms, dim=5), True)

    Reference: X. Lu and B. Van Roy, "Ensemble Sampling", NeurIPS 2017, section 5.
    """

    name: ClassVar[str] = "neural"
    dim: int = 100
    arms: int = 100
    hidden: int = 50
    noise: float | Noise = 10.0

    def __post_init__(self) -> None:
        check_fields(self)
        whole("hidden", self.hidden, 1)

    def draw(self, rng: Generator) -> NetworkProblem:
        inner = rng.standard_normal((self.hidden, self.dim))
        outer = rng.standard_normal(self.hidden)
        features = np.ones((self.arms, self.dim))
        features[:, :-1] = rng.uniform(-1.0, 1.0, (self.arms, self.dim - 1))
        return NetworkProblem(features, inner, outer, self.noise)


class QuadraticProblem(NonlinearProblem):
    """Mean height (x'theta)^2 on unit vectors, `count` new ones each round."""

    def __init__(
        self, direction: FloatArray, count: int, height: float, noise: Noise | float
    ) -> None:
        super().__init__(ChangingArms(direction.size), noise)
        self.direction, self.count, self.height = direction, count, height

    def offer(self, rng: Generator) -> FloatArray:
        return unit_rows(rng, self.count, self.arms.dim)

    def means(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.height * np.einsum("kd,d->k", rows, self.direction) ** 2)


@dataclass(frozen=True)
class Quadratic(Family):
    """`quadratic`: every round offers new unit vectors; the mean is height (x'theta)^2.

    theta is a unit vector. The best linear function of x is a constant: a linear policy is no
    better than chance.

    >>> import ensample as es
    >>> problem = es.problem("quadratic", dim=4, arms=3).draw(np.random.default_rng(0))
    >>> bool(problem.mean(problem.direction) == problem.mean(-problem.direction))
    True

    Reference: D. Zhou, L. Li and Q. Gu, "Neural Contextual Bandits with UCB-based Exploration",
    ICML 2020 (with height 10); also in Y. Li, J. Xu, B. Wang and Z.-Q. Luo, "Scalable Exploration
    via Ensemble++", 2025.
    """

    name: ClassVar[str] = "quadratic"
    dim: int = 10
    arms: int = 20
    height: float = 10.0
    noise: float | Noise = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        number("height", self.height, 1e-50, 1e50)

    def draw(self, rng: Generator) -> QuadraticProblem:
        return QuadraticProblem(unit_rows(rng, 1, self.dim)[0], self.arms, self.height, self.noise)


class WheelProblem(NonlinearProblem):
    """Contexts uniform on the unit disc, five actions. See `Wheel`."""

    def __init__(self, delta: float, noise: Noise | float, blocks: bool = False) -> None:
        super().__init__(ChangingArms(3 * ACTIONS if blocks else 2 + ACTIONS), noise)
        self.delta, self.blocks = delta, blocks

    def __repr__(self) -> str:
        return f"WheelProblem(delta={self.delta:g}, noise={self.noise!r})"

    def offer(self, rng: Generator) -> FloatArray:
        radius, angle = rng.random(2)
        radius, angle = math.sqrt(radius), 2.0 * math.pi * angle
        context = radius * np.array([math.cos(angle), math.sin(angle)])
        if self.blocks:
            return blocks(context, ACTIONS)
        return np.hstack([np.tile(context, (ACTIONS, 1)), np.eye(ACTIONS)])

    def means(self, rows: FloatArray) -> FloatArray:
        if self.blocks:
            chosen, contexts = chosen_block(rows, ACTIONS)
        else:
            chosen, contexts = rows[:, 2:].argmax(axis=1), rows[:, :2]
        best = 1 + 2 * (contexts[:, 0] <= 0.0) + (contexts[:, 1] <= 0.0)  # of this quarter
        is_large = (np.hypot(*contexts.T) > self.delta) & (chosen == best)
        return np.where(is_large, LARGE, np.where(chosen == 0, SAFE, PLAIN))


@dataclass(frozen=True)
class Wheel(Family):
    """`wheel`: a context on the unit disc and five actions. Action 0 pays 1.2, others 1.

    Where the context is further out than `delta`, one of actions 1 to 4, another in each quarter,
    pays 50. Near the centre nothing is better than action 0, which teaches nothing. The features
    are the context and which action it is; with `blocks` they are the context and a constant in a
    block of its own for each action, so that a linear policy has a model of each.

    >>> import ensample as es
    >>> problem = es.problem("wheel", delta=0.95).draw(np.random.default_rng(0))
    >>> offered = problem.offer(np.random.default_rng(1))
    >>> offered.shape, problem.means(offered).tolist()
    ((5, 7), [1.2, 1.0, 1.0, 1.0, 1.0])

    Reference: C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian Bandits Showdown", ICLR 2018,
    section 5.3.
    """

    name: ClassVar[str] = "wheel"
    delta: float = 0.5
    noise: float | Noise = 0.01
    blocks: bool = False

    @property
    def dim(self) -> int:  # type: ignore[override]
        return 3 * ACTIONS if self.blocks else 2 + ACTIONS

    def __post_init__(self) -> None:
        check_fields(self)
        boolean("blocks", self.blocks)
        number("delta", self.delta, 0.0, 1.0)

    def draw(self, rng: Generator) -> WheelProblem:
        return WheelProblem(self.delta, self.noise, self.blocks)
