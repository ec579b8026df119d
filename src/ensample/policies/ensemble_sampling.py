"""Linear ensemble sampling, Algorithm 1 of Lee & Oh 2024."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ensample import theory
from ensample.arms import Arms, FiniteArms
from ensample.checks import instance, vector, whole
from ensample.errors import AssumptionError, InvalidArgument, PropensityError
from ensample.kernels import ensemble
from ensample.members import UNIFORM_MEMBER, MemberRule, OptimisticMember, as_member_rule
from ensample.perturbations import GAUSSIAN, InitialLaw, Perturbation, drawn
from ensample.policies.policy import Policy
from ensample.policies.recipe import EnsembleRecipe
from ensample.randomness import Stream
from ensample.theory import Setting
from ensample.theory.assumptions import require_optimistic, require_theorem
from ensample.types import FloatArray, IntArray

__all__ = ["EnsemblePolicy", "EnsembleSampling"]

ROW_BLOCK = 1 << 14  # perturbations drawn together: several rounds of a small ensemble, one of a large one
KEPT = 1 << 19  # perturbations kept at hand for rewards that come out of order


@dataclass(frozen=True)
class EnsembleSampling(EnsembleRecipe):
    """Keep m models, each fitted to rewards with perturbations of its own; each round act greedily on one of them.

    theta^j = V^-1 (W^j + sum_i X_i (Y_i + Z_i^j)), which minimises
    lam |theta - W^j/lam|^2 + sum_i (X_i'theta - Y_i - Z_i^j)^2. Each round plays argmax_x x'theta^{j_t}, the lowest index on
    ties.

    `scale` is the paper's beta: by default Z ~ Gaussian(scale) and W ~ Gaussian(sqrt(regularization) scale). A round costs
    O(d^2 + K d + m d).

    >>> import numpy as np, ensample as es
    >>> arms = es.FiniteArms(np.eye(3))
    >>> policy = es.EnsembleSampling(size=50, scale=0.3).start(arms, seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax())
    1

    Proved for `from_theorem` (see `ensample.theory.theorem_bound`); a smaller size or scale often does better and has no
    guarantee.

    Reference: H. Lee and M. Oh, "Improved Regret of Linear Ensemble Sampling", NeurIPS 2024.
    """

    size: int
    scale: float = 1.0
    regularization: float = 1.0
    initial: InitialLaw | None = None
    reward: Perturbation | None = None
    member: MemberRule | Callable[[int, int, Generator], int] = UNIFORM_MEMBER
    setting: Setting | None = field(default=None, kw_only=True)
    theorem_counts_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check_fields()
        as_member_rule(self.member)

    @classmethod
    def from_theorem(
        cls,
        setting: Setting,
        perturbation: Perturbation = GAUSSIAN,
        member: MemberRule = UNIFORM_MEMBER,
    ) -> Self:
        """The constants of Theorem 1 or, with `OptimisticMember()`, of the optimistic rule. Uniform or optimistic only.

        >>> import ensample as es
        >>> recipe = EnsembleSampling.from_theorem(es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
        >>> recipe.size, round(recipe.scale, 3)
        (59497, 7.633)
        """
        instance("setting", setting, Setting, "a Setting")
        instance("perturbation", perturbation, Perturbation, "a perturbation such as Gaussian()")
        if member == UNIFORM_MEMBER:
            require_theorem(setting, perturbation)
            size = theory.ensemble_size(setting, perturbation)
        elif member == OptimisticMember():
            require_optimistic(setting, perturbation)
            size = theory.optimistic_size(setting)
        else:
            raise AssumptionError(
                "from_theorem",
                "UniformMember() (Theorem 1) or OptimisticMember()",
                f"member = {member!r}",
            )
        return cls(size=size, member=member, **cls.theorem_fields(setting, perturbation))

    def start(self, arms: Arms, seed: int = 0) -> "EnsemblePolicy":
        return EnsemblePolicy(self, arms, seed)


class EnsemblePolicy(Policy):
    """Ensemble sampling at work: all members are kept up to date."""

    recipe: EnsembleRecipe

    def __init__(self, recipe: EnsembleRecipe, arms: Arms, seed: int) -> None:
        super().__init__(recipe, arms, seed)
        self._rule = as_member_rule(recipe.member)
        self._law = recipe.reward_law
        law, shape = recipe.initial_law, (recipe.size, arms.dim)
        W = drawn(law, law.draw_vectors(self._address.generator(Stream.INITIAL, 0), *shape), shape)
        self._models = recipe.size  # how many models there are to choose from
        self._sums = np.ascontiguousarray(W.T)  # W^j + sum_i X_i Z_i^j, a column a member [d, m]
        self._rows_per_block = max(1, ROW_BLOCK // recipe.size)
        self._blocks: dict[int, list[FloatArray]] = {}
        self._voted: tuple[int, Arms, IntArray, FloatArray] | None = None

    @property
    def estimates(self) -> FloatArray:
        """theta^j of every member: [m, d]."""
        return np.ascontiguousarray(self._thetas().T)

    def votes(self) -> IntArray | None:
        """Each member's greedy arm: [m]; None where arms are not numbered."""
        return self._votes(self.arms)[0].copy() if isinstance(self.arms, FiniteArms) else None

    def _choose(self, round: int, offered: Arms) -> tuple[int, int | None, FloatArray]:
        member = self._member(round, offered)
        if isinstance(offered, FiniteArms):
            arm = ensemble.choose(self._ridge.state, self._sums, member, offered.by_coordinate)
            return member, arm, offered.features[arm]
        return member, *self._best(ensemble.estimate(self._ridge.state, self._sums[:, member].copy()), offered)

    def _member(self, round: int, offered: Arms) -> int:
        """The model that acts; a rule may be the user's own."""
        member = self._rule.choose(round, self._models, self._address, lambda: self._votes(offered)[1])
        if type(member) is int and 0 <= member < self._models:
            return member
        return whole("member", member, 0, self._models - 1)

    def _learn(self, round: int, x: FloatArray, y: float) -> bool:
        return ensemble.learn(self._ridge.state, self._sums, x, y, self._perturbations(round))

    def _weights(self, round: int, offered: Arms) -> FloatArray:
        if not isinstance(offered, FiniteArms):
            raise PropensityError(f"propensities need finitely many arms, here {offered!r}; give the features of the round")
        size = self._models
        weights = vector("weights", self._rule.weights(round, size, lambda: self._votes(offered)[1]), size)
        if weights.min() < 0.0 or weights.sum() == 0.0:
            raise InvalidArgument("weights", weights, "numbers >= 0, not all of them 0")
        shares: FloatArray = np.bincount(self._votes(offered)[0], weights, len(offered)) / weights.sum()
        return shares

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super()._arrays(), "sums": self._sums}

    def _thetas(self) -> FloatArray:
        """theta^j of every member: [d, m]."""
        return ensemble.estimates(self._ridge.state, self._sums)

    def _votes(self, offered: Arms) -> tuple[IntArray, FloatArray]:
        """Each member's greedy arm and what it promises, kept until the next update: ([m], [m])."""
        if self._voted is None or self._voted[:2] != (self.version, offered):
            thetas = self._thetas()
            if isinstance(offered, FiniteArms):
                votes, promises = ensemble.votes(thetas, offered.by_coordinate)
            else:
                votes, promises = np.zeros(0, np.int64), offered.promises(thetas.T)
            self._voted = self.version, offered, votes, promises
        return self._voted[2:]

    def _perturbations(self, round: int) -> FloatArray:
        """Row Z_round^1..m: a pure function of (seed, round)."""
        block, offset = divmod(round, self._rows_per_block)
        rows = self._blocks.get(block)
        if rows is None:
            shape = self._rows_per_block, self.recipe.size
            rng = self._address.generator(Stream.PERTURBATION, block)
            rows = list(drawn(self._law, self._law.draw(rng, shape), shape))
            if len(self._blocks) * self._rows_per_block * self.recipe.size >= KEPT:
                self._blocks.clear()
            self._blocks[block] = rows
        return rows[offset]
