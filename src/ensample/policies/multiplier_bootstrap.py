"""Multiplier bootstrap exploration: members weigh the same history differently."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, Offer
from ensample.checks import number, whole
from ensample.member_rules import UNIFORM_MEMBER, MemberRule
from ensample.models import Chooser, LinearModel, Model
from ensample.models.base import Choice, fault_of_counts
from ensample.perturbations.laws import standard_normals
from ensample.policies.kveton_phe import independent_rows
from ensample.policies.recipe import Recipe
from ensample.randomness import Address, Stream
from ensample.types import FloatArray


@dataclass(frozen=True)
class MultiplierBootstrap(Recipe):
    """Keep B replicates of weighted least squares; each round act greedily on one of them.

    Each observation has for each replicate weights w, w', w'' ~ N(1, spread^2) and is seen with
    weight w, and beside it pseudo-rewards of 0 and 1 with weights pseudo w' and pseudo w'': theta^b
    = (lam I + sum_i (w_i + pseudo w'_i + pseudo w''_i) x_i x_i')^-1 sum_i x_i (w_i y_i + pseudo
    w''_i). A weight below 0 counts as 0, so that there is always a minimum. Nothing is random in a
    direction that was never seen, so a basis of arms is played first, as in `KvetonPHE`; hence only
    finite standing arms. Rewards should lie in [0, 1], as the pseudo-rewards do. A round costs O(B
    d^2 + d^3 + K d).

    >>> import numpy as np, ensample as es
    >>> policy = es.MultiplierBootstrap(size=20).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), policy.estimates.shape
    (1, (20, 3))

    Proved for K independent arms only (rate-optimal, for weights drawn afresh each round); of
    linear bandits nothing.

    Reference: R. Wan, H. Wei, B. Kveton and R. Song, "Multiplier Bootstrap-based Exploration", ICML
    2023.
    """

    size: int = 50  # B
    spread: float = 0.5  # of the weights, their standard deviation
    pseudo: float = 0.5  # the paper's lambda
    regularization: float = 1.0
    standing_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.set_fields(
            size=whole("size", self.size, 1, 1 << 20),
            spread=number("spread", self.spread, 0.0, 1e6),
            pseudo=number("pseudo", self.pseudo, 0.0, 1e6),
        )
        self.check_regularization(auto=False)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The standard deviation of what weights and pseudo-rewards add to a reward near 1/2."""
        return self.pseudo * self.spread * math.sqrt(0.5) / (1.0 + 2.0 * self.pseudo)

    @property
    def rule(self) -> MemberRule:
        return UNIFORM_MEMBER

    def least_numbers(self, arms: Arms) -> int:
        return self.size * arms.dim * (arms.dim + 1)

    def build(self, arms: Arms, address: Address) -> "ReweighedModel":
        assert arms.rows is not None  # as `check` has seen
        return ReweighedModel(self, arms.rows, address)

    def chooser(self, model: Model) -> "BasisFirst":
        return BasisFirst(model)


class BasisFirst(Chooser):
    """Play a basis of arms, each once, before a member acts."""

    def __init__(self, model: Model) -> None:
        assert isinstance(model, ReweighedModel)
        self.model = model

    def choose(self, round: int, offer: Offer) -> Choice:
        arm = self._next_of_basis(round)
        if arm is not None and offer.rows is not None:
            return 0, arm, offer.rows[arm]
        return self.model.choose(round, offer)

    def propensities(self, round: int, offer: Offer) -> FloatArray:
        shares, arm = self.model.propensities(round, offer), self._next_of_basis(round)
        return shares if arm is None else np.asarray(np.arange(shares.size) == arm, np.float64)

    def _next_of_basis(self, round: int) -> int | None:
        return _core.unplayed(self.model.basis, self.model.pulls, round)


class ReweighedModel(LinearModel):
    """Gram matrix and target of each replicate, beside one ridge regression without weights."""

    size: int

    def __init__(self, recipe: MultiplierBootstrap, rows: FloatArray, address: Address) -> None:
        d = rows.shape[1]
        super().__init__(d, recipe.lam)
        self.size, self.spread, self.pseudo = recipe.size, recipe.spread, recipe.pseudo
        self.address = address
        self.basis = independent_rows(rows)
        self.grams = np.tile(recipe.lam * np.eye(d), (self.size, 1, 1))
        self.targets = np.zeros((self.size, d))
        self.pulls = np.zeros(len(rows), np.int64)

    def weights(self, round: int) -> FloatArray:
        """Return (w, w', w'') of each replicate, a pure function of (seed, round): [B, 3]."""
        rng = self.address.generator(Stream.PERTURBATION, round)
        return np.asarray(1.0 + self.spread * standard_normals(rng, (self.size, 3)))

    def theta(self, member: int) -> FloatArray:
        theta, one = np.empty(self.dim), slice(member, member + 1)
        _core.solve_replicates(self.grams[one], self.targets[one], theta[None])
        return theta

    def thetas(self) -> FloatArray:
        thetas = np.empty(self.targets.shape)
        _core.solve_replicates(self.grams, self.targets, thetas)
        return np.ascontiguousarray(thetas.T)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        weights = self.weights(round)
        _core.learn_replicates(
            self.state, self.grams, self.targets, self.pulls, weights, self.pseudo, arm, x, y
        )

    def fault(self) -> str | None:
        return super().fault() or fault_of_counts(self.pulls, self.count)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return super().arrays() | {
            "grams": self.grams,
            "targets": self.targets,
            "pulls": self.pulls,
        }
