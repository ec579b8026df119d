"""The wheel: how much exploration does a rare and large reward need?"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import boolean, number
from ensample.problems.blocks import blocks, chosen_block
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.nonlinear import NonlinearProblem
from ensample.types import FloatArray

ACTIONS = 5
SAFE, PLAIN, LARGE = 1.2, 1.0, 50.0


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
        return (
            blocks(context, ACTIONS)
            if self.blocks
            else np.hstack([np.tile(context, (ACTIONS, 1)), np.eye(ACTIONS)])
        )

    def means(self, rows: FloatArray) -> FloatArray:
        chosen, contexts = (
            chosen_block(rows, ACTIONS)
            if self.blocks
            else (rows[:, 2:].argmax(axis=1), rows[:, :2])
        )
        quarter = (
            1 + 2 * (contexts[:, 0] <= 0.0) + (contexts[:, 1] <= 0.0)
        )  # the action that pays there, outside
        lucky = (np.hypot(*contexts.T) > self.delta) & (chosen == quarter)
        return np.where(lucky, LARGE, np.where(chosen == 0, SAFE, PLAIN))


@dataclass(frozen=True)
class Wheel(Family):
    """`wheel`: a context on the unit disc and five actions. Action 0 pays 1.2, others 1, noise 0.01.

    Where the context is further out than `delta`, one of actions 1 to 4, another in each quarter, pays 50. Near the centre
    nothing is better than action 0, which teaches nothing. The features are the context and which action it is; with `blocks`
    they are the context and a constant in a block of its own for each action, so that a linear policy has a model of each.

    >>> import ensample as es
    >>> problem = es.problem("wheel", delta=0.95).draw(np.random.default_rng(0))
    >>> offered = problem.offer(np.random.default_rng(1))
    >>> offered.shape, problem.means(offered).tolist()
    ((5, 7), [1.2, 1.0, 1.0, 1.0, 1.0])

    Reference: C. Riquelme, G. Tucker and J. Snoek, "Deep Bayesian Bandits Showdown", ICLR 2018, section 5.3.
    """

    name: ClassVar[str] = "wheel"
    delta: float = 0.5
    noise: float | Noise = 0.01
    blocks: bool = False

    @property
    def dim(self) -> int:  # type: ignore[override]
        return 3 * ACTIONS if self.blocks else 2 + ACTIONS

    def __post_init__(self) -> None:
        boolean("blocks", self.blocks)
        number("delta", self.delta, 0.0, 1.0)
        as_noise(self.noise)

    def draw(self, rng: Generator) -> WheelProblem:
        return WheelProblem(self.delta, self.noise, self.blocks)
