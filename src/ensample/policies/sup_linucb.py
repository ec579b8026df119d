"""SupLinUCB: optimism in stages, each of which learns from rewards that it did not choose by."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.checks import instance, number, whole
from ensample.models import LinearModel
from ensample.policies.decision import LAST_ROUND
from ensample.policies.recipe import LARGEST_SCALE, Recipe
from ensample.randomness import Address
from ensample.theory import Setting
from ensample.theory.assumptions import require_finite
from ensample.theory.guarantee import Theorem
from ensample.types import FloatArray, IntArray

THEOREM = "SupLinUCB.from_theorem"


@dataclass(frozen=True)
class SupLinUCB(Recipe):
    """LinUCB in S = log T stages: regret of order sqrt(d T) for finitely many arms.

    Stage s has a ridge regression of its own, with widths w = radius |x|_{V_s^-1}. A round begins
    with all arms and s = 1, and: if all w <= 1/sqrt(T), it plays the most promising arm, and no
    stage learns from it; if all w <= 2^-s, it keeps the arms whose x'theta_hat + w is within
    2^(1-s) of the largest, and goes on to stage s + 1; else it plays the widest arm (the paper: any
    that is wider than 2^-s), and stage s learns from it. So what a stage learns from is chosen by
    features alone, its rewards are independent given those, and the radius need not pay for the
    dimension.

    A log has no stages. What is learned goes to the stage for which its arm would be played at that
    moment: with rewards that come at once this is the algorithm. From others, which are not its own
    choice, the first stage that still needs them learns. Hence only finite standing arms. Nothing
    is random: a propensity is 0 or 1. A round costs O(S K d^2).

    >>> import numpy as np, ensample as es
    >>> policy = es.SupLinUCB(horizon=300, radius=0.5).start(es.FiniteArms(np.eye(3)))
    >>> for _ in range(300):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> policy.propensities().tolist()
    [0.0, 1.0, 0.0]

    Proved for `from_theorem` and rewards that come at once: with probability 1 - delta regret of
    order sqrt(d T log^3(K T log(T)/delta)), without constants; so there is no `guarantee`. In
    practice `LinUCB` is far better.

    Reference: W. Chu, L. Li, L. Reyzin and R. Schapire, "Contextual Bandits with Linear Payoff
    Functions", AISTATS 2011.
    """

    horizon: int = 10_000  # T
    radius: float = 1.0
    regularization: float = 1.0
    setting: Setting | None = field(default=None, kw_only=True)
    scale = 0.0
    standing_only: ClassVar[bool] = True
    theorem_counts_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        horizon = whole("horizon", self.horizon, 1, LAST_ROUND)
        self.set_fields(horizon=horizon, radius=number("radius", self.radius, 0.0, LARGEST_SCALE))
        self.check_regularization(auto=False)
        instance("setting", self.setting, Setting | None, "a Setting, or None")

    @classmethod
    def from_theorem(cls, setting: Setting) -> Self:
        """Return the recipe with radius = sigma sqrt(2 log(2 T K/delta)) + sqrt(lam) S.

        >>> import ensample as es
        >>> setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=0.5, norm=1)
        >>> recipe = SupLinUCB.from_theorem(setting)
        >>> round(recipe.radius, 3), recipe.stages
        (3.819, 10)
        """
        require_finite(THEOREM, setting)
        Theorem(THEOREM, failures=1).require_confidence(setting)
        assert setting.arms is not None
        events = math.log(2.0) + math.log(setting.horizon) + math.log(setting.arms)
        chance = math.sqrt(2.0 * (events - math.log(setting.delta)))
        radius = setting.noise * chance + math.sqrt(setting.regularization) * setting.norm
        return cls(setting.horizon, radius, setting.regularization, setting=setting)

    @property
    def stages(self) -> int:
        """S = ceil(log T), at least 1: after as many a width of 2^-S is below 1/sqrt(T)."""
        return max(1, math.ceil(math.log(self.horizon)))

    def build(self, arms: Arms, address: Address) -> "StagedModel":
        return StagedModel(self, arms)


class StagedModel(LinearModel):
    """A ridge regression for each stage, beside the one of all observations."""

    def __init__(self, recipe: SupLinUCB, arms: Arms) -> None:
        super().__init__(arms.dim, recipe.lam)
        stages, d = recipe.stages, arms.dim
        self.radius, self.floor = recipe.radius, 1.0 / math.sqrt(recipe.horizon)
        self.by_coordinate = arms.by_coordinate
        self.grams = np.tile(recipe.lam * np.eye(d), (stages, 1, 1))  # V of each stage
        self.inverses = np.tile(np.eye(d) / recipe.lam, (stages, 1, 1))
        self.targets, self.means = np.zeros((stages, d)), np.zeros((stages, d))

    def choice(self) -> tuple[int, int, bool]:
        """Return (arm, stage, whether the stage learns) for the coming round.

        A stage that knows all arms well does not learn.
        """
        return _core.staged_arm(
            self.inverses, self.means, self.by_coordinate, self.radius, self.floor
        )

    def theta(self, member: int) -> FloatArray:
        """Return what the stage of the coming round promises of its arm.

        It is theta_hat + radius V^-1 x / |x|_{V^-1}.
        """
        arm, stage, _ = self.choice()
        x = self.by_coordinate[:, arm]
        gain = self.inverses[stage] @ x
        width = math.sqrt(max(0.0, float(x @ gain)))
        return np.asarray(self.means[stage] + (self.radius / width * gain if width > 0.0 else 0.0))

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        assert offer.rows is not None  # standing arms, as the policy has seen
        arm, _, _ = self.choice()
        return arm, offer.rows[arm]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        arm, x = self.best(0, offer)
        return np.array([arm], np.int64), np.array([x @ self.theta(0)])

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        stages = self.grams, self.inverses, self.targets, self.means
        _core.learn_staged(
            self.state, *stages, self.by_coordinate, arm, x, y, self.radius, self.floor
        )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        names = ("grams", "inverses", "targets", "means")
        return super().arrays() | {name: getattr(self, name) for name in names}
