"""LinPHE as first proposed, with Bernoulli pseudo-rewards (Kveton et al. 2020)."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.checks import number
from ensample.models import LINEAR, DrawnModel, GeneralizedLinear, Linear, RewardModel
from ensample.models.base import fault_of_counts
from ensample.models.exact import PerturbedLoss, Seen, minimiser
from ensample.policies.glm import ExactDraw
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

INDEPENDENT = 1e-9  # the part of a row that the rows before it must leave over


@dataclass(frozen=True)
class KvetonPHE(Recipe):
    """Mix a pseudo-rewards of 0 or 1 a reward into the history, afresh each round; act greedily.

    theta_t = G^-1 (b + sum_k x_k U_k), U_k ~ Binomial(ceil(a N_k), 1/2) for an arm played N_k
    times, b = sum x y and G = (a + 1) lam I + sum_k (N_k + ceil(a N_k)) x_k x_k': as many
    pseudo-rewards as were mixed in, as in the authors' released experiments. For whole a this is
    the paper's (a + 1) (lam I + sum x x'). Nothing perturbs a direction that was never seen, so a
    basis of arms (the first ones that are linearly independent) is played first. Pseudo-rewards are
    counted by arm: only finite standing arms will do. A round costs O(K d^2 + d^3) for the live
    policy, O(K d + d^2) in a simulation.

    On unit vectors, with a small regularization, it is perturbed-history exploration of K arms
    (Kveton et al. 2019): the arm with the largest mean of its rewards and pseudo-rewards together.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.kveton_phe import KvetonPHE
    >>> policy = KvetonPHE(a=0.5).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(np.bincount(policy.log().arm).argmax())
    1

    `model=Logistic()` is logistic PHE: theta_t is the minimiser of the logistic loss of rewards and
    pseudo-rewards together, by Newton's method whatever its `fit`.

    Proved for rewards in [0, 1] and an a that grows with d and log T: regret of order d sqrt(T) up
    to logarithms. a = 0.5 is what does well in experiments and has no guarantee.

    Reference: B. Kveton, C. Szepesvari, M. Ghavamzadeh and C. Boutilier, "Perturbed-History
    Exploration in Stochastic Linear Bandits", UAI 2020, and "Perturbed-History Exploration in
    Stochastic Multi-Armed Bandits", IJCAI 2019.
    """

    a: float = 0.5
    regularization: float = 1.0
    model: RewardModel = field(default=LINEAR, kw_only=True)
    standing_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.set_fields(a=number("a", self.a, most=1e6, above=0.0))
        self.check_regularization(auto=False)
        self.check_model(Linear, GeneralizedLinear)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The standard deviation that pseudo-rewards add to a reward: sqrt(a) / (2 (a + 1))."""
        return math.sqrt(self.a) / (2.0 * (self.a + 1.0))

    def build(self, arms: Arms, address: Address) -> "PseudoRewardModel | PseudoClicks":
        assert arms.rows is not None  # as `check` has seen
        if isinstance(self.model, GeneralizedLinear):
            return PseudoClicks(self, arms, address)
        return PseudoRewardModel(self, arms.rows, address)


class PseudoRewardModel(DrawnModel):
    """Binomial sums of pseudo-rewards, by arm."""

    def __init__(self, recipe: KvetonPHE, rows: FloatArray, address: Address) -> None:
        super().__init__(rows.shape[1], recipe.lam)
        self.a, self.lam = recipe.a, recipe.lam
        self.rows = rows
        self.address = address
        self.pulls = np.zeros(len(rows), np.int64)
        self.basis = independent_rows(rows)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm = _core.unplayed(self.basis, self.pulls, member)
        return (arm, self.rows[arm]) if arm is not None else super().best(member, offer)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        _core.learn_pull(self.state, self.pulls, arm, x, y)

    def fault(self) -> str | None:
        return super().fault() or fault_of_counts(self.pulls, self.count)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "pulls": self.pulls}

    def draw(self, round: int) -> FloatArray:
        rng = self.address.generator(Stream.PERTURBATION, round)
        given = self.rows, self.pulls, self.a, self.lam
        return _core.theta_of_pseudo_rewards(self.state, *given, rng)


class PseudoClicks(ExactDraw):
    """The fit to rewards with pseudo-rewards among them, a for each: logistic PHE."""

    def __init__(self, recipe: KvetonPHE, arms: Arms, address: Address) -> None:
        super().__init__(recipe, arms, address)
        self.a, self.basis = recipe.a, independent_rows(self.rows)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm = _core.unplayed(self.basis, self.arm_counts.astype(np.int64), member)
        return super().best(member, offer) if arm is None else (arm, self.rows[arm])

    def draw_from(self, rng: Generator) -> FloatArray:
        rows, counts, totals = self.centre.seen
        pseudo = np.ceil(self.a * counts)
        seen = Seen(rows, counts + pseudo, totals + rng.binomial(pseudo.astype(np.int64), 0.5))
        loss = PerturbedLoss(self.link, seen, self.parts.prior, np.zeros(self.dim))
        return minimiser(loss, self.centre.theta)


def independent_rows(features: FloatArray) -> IntArray:
    """Return the first rows that are linearly independent, by Gram-Schmidt: [rank]."""
    basis: list[int] = []
    directions = np.zeros((0, features.shape[1]))
    for k, x in enumerate(features):
        rest = x.copy()
        for _ in range(2):  # once more for what rounding left over
            rest -= (directions @ rest) @ directions
        length = float(np.linalg.norm(rest))
        if length > INDEPENDENT * float(np.linalg.norm(x)):
            basis.append(k)
            directions = np.vstack((directions, rest / length))
        if len(basis) == features.shape[1]:
            break
    return np.array(basis, np.int64)
