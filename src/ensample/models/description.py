"""How a reward depends on features, described: what the field `model` of a recipe takes.

A description is frozen and knows no data. What it makes for a recipe at work is a `Model`. One of your own is a frozen
dataclass derived from `RewardModel`: its file and, if it is to be ours, its line in `__init__.pyi`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ensample.arms import Arms
from ensample.calibration import AGEING, AUTO, Unknown
from ensample.checks import as_reward
from ensample.errors import InvalidArgument
from ensample.models.ensemble import LinearEnsemble
from ensample.models.intercept import EnsembleWithIntercept
from ensample.models.linear import LinearModel
from ensample.models.model import Model
from ensample.perturbations import InitialLaw, Perturbation
from ensample.randomness import Address
from ensample.types import Auto


class EnsemblePlan(Protocol):
    """What a recipe says of the ensemble that it wants: fields as they were given, and what follows from them."""

    @property
    def size(self) -> int: ...
    @property
    def scale(self) -> float | Auto: ...
    @property
    def regularization(self) -> float | Auto: ...
    @property
    def initial(self) -> InitialLaw | None: ...
    @property
    def reward(self) -> Perturbation | None: ...
    @property
    def intercept(self) -> bool: ...
    @property
    def half_life(self) -> float | None: ...

    @property
    def unit_scale(self) -> float:
        """The scale of the perturbations; 1 where the size of the noise is still to multiply it."""

    @property
    def initial_law(self) -> InitialLaw:
        """P_I of a linear model: W at sqrt(lam) times the scale, or as given."""

    @property
    def reward_law(self) -> Perturbation:
        """P_R: Z at the scale, or as given."""

    @property
    def rate(self) -> float:
        """At which the past fades, log 2 / half_life; 0 where nothing is forgotten."""

    @property
    def boldness(self) -> float:
        """What "auto" multiplies the size of the noise by."""

    @property
    def draws_fresh(self) -> bool:
        """Return True if the ensemble is drawn anew each round."""

    @property
    def ageing_rate(self) -> float:
        """The variance that a perturbation gains when the number of observations doubles, over that of a new one."""

    def prior(self, arms: Arms) -> float | Unknown:
        """The regularization of a linear model, or what is to be learned of the scales on these arms."""


class RewardModel(ABC):
    """How a reward depends on features: what Algorithm 1's minimisation fits."""

    learns_noise: ClassVar[bool] = True
    """Whether the size of the noise is learned from the rewards where the scale is "auto". If not, the model implies it."""

    ageing: ClassVar[float] = AGEING
    """Default of `EnsembleSampling(ageing=)` for fresh members."""

    model_family: ClassVar[str] = "linear"
    """The key of `version.LIVE_NUMBERS` whose number experiments with this model record."""

    def why_not_fresh(self) -> str:
        """Return why its ensembles cannot be drawn anew each round; empty if they can."""
        return f"members of {self!r} are trained, not drawn"

    def strength(self, regularization: float | Auto, arms: Arms) -> float:
        """lam before the first reward: 1 where it is "auto", unless a model has a rule of its own."""
        return 1.0 if regularization == AUTO else regularization

    def needs_log(self, arms: Arms) -> bool:
        """Whether what it makes for these arms looks at the policy's log, which then must be kept."""
        return False

    def member_numbers(self, dim: int) -> int:
        """How many numbers a live member is, at least; 0 where that is not known."""
        return 0

    def check(self, plan: EnsemblePlan) -> None:  # noqa: B027 (most combinations will do)
        """Raise `InvalidArgument` on fields of a recipe that this model cannot do with."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """What rewards lie in."""
        return -math.inf, math.inf

    @property
    def rewards_expected(self) -> str:
        """How errors call the rewards that it can learn from; empty where any number will do."""
        low, high = self.reward_range
        return (
            ""
            if (low, high) == (-math.inf, math.inf)
            else f"a number from {low:g} to {high:g} for {type(self).__name__}()"
        )

    def refusal(self, error: InvalidArgument) -> InvalidArgument:
        """The error of something that is no reward at all, with what this model expects."""
        return type(error)(error.argument, error.value, self.rewards_expected or error.expected)

    def as_reward(self, argument: str, value: object) -> float:
        """A reward as a number; its range is looked at when it is learned."""
        try:
            return as_reward(argument, value)
        except InvalidArgument as error:
            raise self.refusal(error) from None

    @abstractmethod
    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> Model:
        """The members of Algorithm 1 before the first observation; its `size` is the plan's."""


@dataclass(frozen=True)
class Linear(RewardModel):
    """E[Y | x] = x'theta, the model of the paper and of every recipe that is not told otherwise.

    >>> import ensample as es
    >>> es.EnsembleSampling(model=es.Linear()) == es.EnsembleSampling()
    True
    """

    def why_not_fresh(self) -> str:
        return ""

    def member_numbers(self, dim: int) -> int:
        return 2 * dim

    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> LinearModel:
        if plan.draws_fresh:
            from ensample.models.fresh import (  # which know what is here
                FreshEnsemble,
                FreshWithIntercept,
            )

            return (FreshWithIntercept if plan.intercept else FreshEnsemble)(
                arms.dim, plan.prior(arms), plan, address
            )
        given = (
            arms.dim,
            plan.prior(arms),
            plan.size,
            plan.initial_law,
            plan.reward_law,
            address,
            plan.boldness,
        )
        return (
            EnsembleWithIntercept(*given) if plan.intercept else LinearEnsemble(*given, plan.rate)
        )


LINEAR = Linear()
