"""Linear ensemble sampling, Algorithm 1 of Lee & Oh 2024."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from ensample import theory
from ensample.arms import Arms
from ensample.calibration import AUTO
from ensample.checks import boolean, instance, number
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.member_rules import UNIFORM_MEMBER, MemberRule, OptimisticMember, as_member_rule
from ensample.models import LINEAR, Linear, RewardModel
from ensample.perturbations import GAUSSIAN, InitialLaw, Perturbation
from ensample.policies.perturbed_history import PerturbedHistory
from ensample.policies.recipe import PerturbationRecipe
from ensample.theory import Guarantee, Setting
from ensample.theory.assumptions import require_optimistic, require_theorem
from ensample.theory.guarantee import COROLLARY, OPTIMISTIC_RULE, SHARP_THEOREM, THEOREM_ONE
from ensample.types import Auto


@dataclass(frozen=True)
class EnsembleSampling(PerturbationRecipe):
    """Keep m models of rewards with perturbations of their own; act greedily on one each round.

    theta^j = V^-1 (W^j + sum_i X_i (Y_i + Z_i^j)), which minimises lam |theta - W^j/lam|^2 + sum_i
    (X_i'theta - Y_i - Z_i^j)^2. Each round plays argmax_x x'theta^{j_t}, the lowest index on ties.

    Nothing needs tuning: with `scale="auto"` and `regularization="auto"` both are learned from the
    rewards (`ensample.calibration`), and no unit of rewards or features matters. A number is the
    paper's beta: by default Z ~ Gaussian(scale) and W ~ Gaussian(sqrt(regularization) scale). Where
    the scale is a number, "auto" regularization is 1; where only the regularization is, it is kept
    and the scale learned. Of one law that is given only the shape counts where the scale is
    learned; two that are given are used as they are. A round costs O(d^2 + K d + m d).

    Where the scale is learned, two things keep a run from playing a wrong arm for ever. The m
    members are drawn anew each round from the law that stored members would have (`fresh`); the
    first of them acts, and a propensity is the share of their votes. And perturbations of old
    observations grow (`ageing`): after n observations that of the i-th has the variance sigma^2
    (0.75^2 + ageing log2(n / i)), so that arms that were not played for long are tried again. None,
    the default of both fields, means `fresh=True, ageing=0.07` (0.03 with `Logistic()`) if the
    scale is "auto", the laws are Gaussian and the rule is uniform; else members are stored and
    nothing ages. With `fresh=True` and a given scale this is LinPHE, for every size. What the rule
    costs and gains is in docs/studies/long-run.md.

    `intercept=True` is for rewards that all sit near some number, such as ratings: a constant that
    nothing pulls to 0 is added to the features, and adding a number to all rewards changes no
    decision. It is the last of the d + 1 entries of `mean` and `estimates`, and the last row of
    `gram`; features that you give stay d. Where a feature is constant already it adds nothing.

    >>> import numpy as np, ensample as es
    >>> arms = es.FiniteArms(np.eye(3))
    >>> policy = es.EnsembleSampling().start(arms, seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax())
    1

    Where the truth moves, `half_life=n` makes an observation count half as much after n later ones.
    With g = 2^(-1/n) each one gives V <- g V + (1 - g) lam I + x x', b <- g b + x y and S^j <-
    sqrt(g) S^j + sqrt(1 - g) W'^j + x Z^j, W'^j a fresh draw of the law of W: the covariance of S^j
    follows V for ever, and the regularization is not forgotten. What is learned of the scales fades
    alike. Late rewards fade from when they come. A round then costs O(d^3 + K d + m d).

    `model` says how a reward depends on features, `Linear()` unless said otherwise: the algorithm
    is the same for each.

    Proved for `from_theorem` (see `ensample.theory.theorem_bound`). Of "auto" and of a half-life
    nothing is proved.

    Reference: H. Lee and M. Oh, "Improved Regret of Linear Ensemble Sampling", NeurIPS 2024.
    """

    size: int = 100
    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    initial: InitialLaw | None = None
    reward: Perturbation | None = None
    member: MemberRule | Callable[[int, int, Generator], int] = UNIFORM_MEMBER
    intercept: bool = field(default=False, kw_only=True)
    fresh: bool | None = field(default=None, kw_only=True)
    ageing: float | None = field(default=None, kw_only=True)
    setting: Setting | None = field(default=None, kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)
    theorem_counts_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check_fields()
        as_member_rule(self.member)
        if boolean("intercept", self.intercept) and self.setting is not None:
            raise AssumptionError("from_theorem", "features as they are", "intercept = True")
        if self.intercept and self.half_life is not None:
            expected = "None with an intercept, which does not fade"
            raise InvalidArgument("half_life", self.half_life, expected)
        self.check_model()
        self.model.check(self)
        self.check_fresh_members()

    def check_fresh_members(self) -> None:
        """Raise unless `fresh` and `ageing` are possible with the other fields."""
        if not isinstance(self.fresh, bool | np.bool_ | None):
            raise WrongType("fresh", self.fresh, "True, False or None")
        if self.fresh is not None:
            self.set_fields(fresh=bool(self.fresh))
        if self.ageing is not None:
            self.set_fields(ageing=ageing_of(self.ageing))
        obstacle = self.why_not_fresh()
        if self.fresh and obstacle:
            raise InvalidArgument("fresh", True, f"False or None: {obstacle}")
        if self.ageing and not self.draws_fresh:
            why = obstacle.replace("members that are drawn anew", "these")
            alone = f"only members that are drawn anew (fresh=True) age, and {why}"
            words = alone if obstacle else "stored members do not age: give fresh=True"
            raise InvalidArgument("ageing", self.ageing, f"0 or None: {words}")

    def why_not_fresh(self) -> str:
        """Return why its ensemble cannot be drawn anew each round; empty if it can."""
        if not self.is_gaussian:
            laws = f"initial={self.initial!r} and reward={self.reward!r}"
            return f"only Gaussian perturbations are drawn anew, not {laws}"
        if self.member != UNIFORM_MEMBER:
            return f"members that are drawn anew are chosen uniformly, not by {self.member!r}"
        return self.model.why_not_fresh()

    @property
    def learns_scale(self) -> bool:
        """Return True if the scale of the perturbations is neither given nor in the laws."""
        return self.scale == AUTO and (self.initial is None or self.reward is None)

    @property
    def draws_fresh(self) -> bool:
        """True if the ensemble is drawn anew each round: by default if its scale is learned."""
        return self.learns_scale and not self.why_not_fresh() if self.fresh is None else self.fresh

    @property
    def ageing_rate(self) -> float:
        if not self.draws_fresh:
            return 0.0
        if not self.learns_scale:
            return self.ageing or 0.0
        return (self.model.ageing if self.ageing is None else self.ageing) / self.boldness**2

    @property
    def model_family(self) -> str:
        """The family "calibrated" if the scale is learned, where the default rule may change."""
        family, rule = super().model_family, as_member_rule(self.member)
        chosen = family == "linear" and self.learns_scale and not rule.looks
        return "calibrated" if chosen else family

    def least_numbers(self, arms: Arms) -> int:
        return 0 if self.draws_fresh else super().least_numbers(arms)

    @classmethod
    def from_theorem(
        cls,
        setting: Setting,
        perturbation: Perturbation = GAUSSIAN,
        member: MemberRule = UNIFORM_MEMBER,
        sharp: bool = False,
    ) -> Self:
        """Return the constants of Theorem 1 or, with `OptimisticMember()`, of that rule.

        `sharp=True` takes no more members than a better inequality asks for (`theory.sharp_size`,
        `theory.sharp_optimistic_size`), with the same guarantee.

        >>> import ensample as es
        >>> setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
        >>> recipe = EnsembleSampling.from_theorem(setting)
        >>> recipe.size, round(recipe.scale, 3)
        (59497, 7.633)
        >>> EnsembleSampling.from_theorem(recipe.setting, sharp=True).size
        2012
        """
        sharp = boolean("sharp", sharp)
        instance("setting", setting, Setting, "a Setting")
        instance("perturbation", perturbation, Perturbation, "a perturbation such as Gaussian()")
        if member == UNIFORM_MEMBER:
            require_theorem(setting, perturbation)
            least = theory.sharp_size(setting, None, perturbation) if sharp else None
            size = least or theory.ensemble_size(setting, perturbation)
        elif member == OptimisticMember():
            require_optimistic(setting, perturbation)
            of_setting = theory.sharp_optimistic_size if sharp else theory.optimistic_size
            size = of_setting(setting)
        else:
            rules = "UniformMember() (Theorem 1) or OptimisticMember()"
            raise AssumptionError("from_theorem", rules, f"member = {member!r}")
        return cls(size=size, member=member, **cls.theorem_fields(setting, perturbation))

    def guarantee(self, setting: Setting) -> Guarantee:
        """Return the bound of Theorem 1 or of the optimistic rule, at their laws.

        With `fresh=True` it is the Corollary, for any number of members and of arms: the law of
        play is LinPHE's.

        With fewer members than Theorem 1 prescribes it is the bound of the largest share of
        optimistic members that they are proved to keep (`theory.sharp_share`): Theorem 1's own from
        `theory.sharp_size` on, a larger one below.

        >>> import ensample as es
        >>> setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
        >>> found = EnsembleSampling.from_theorem(setting).guarantee(setting)
        >>> round(found.bound), found.probability, found.theorem
        (6347334, 0.8, 'Theorem 1')
        >>> found = EnsembleSampling.from_theorem(setting, sharp=True).guarantee(setting)
        >>> round(found.bound), found.probability, found.theorem
        (6347334, 0.8, 'Theorem 1 with the sharper size')
        """
        other = type(self) is not EnsembleSampling or not isinstance(self.model, Linear)
        if other or self.intercept:
            return super().guarantee(setting)
        if self.draws_fresh:
            return self._guarantee_of_fresh_members(setting)
        rule = as_member_rule(self.member)
        prescribed = EnsembleSampling.from_theorem(setting, self.reward_law, rule)
        if prescribed.member == OptimisticMember():
            return self._guarantee_of_the_optimistic_rule(setting, prescribed)
        theorem = THEOREM_ONE if self.size >= prescribed.size else SHARP_THEOREM
        self.require_laws(theorem, prescribed)
        law = self.reward_law
        share = None if theorem is THEOREM_ONE else theory.sharp_share(setting, self.size, law)
        return theorem.guarantee(setting, theory.sharp_bound(setting, share, law))

    def _guarantee_of_fresh_members(self, setting: Setting) -> Guarantee:
        self.require_laws(COROLLARY, PerturbedHistory.from_theorem(setting, self.reward_law))
        if self.ageing_rate > 0.0:
            ageing = f"ageing = {self.ageing:g}"
            raise AssumptionError(COROLLARY.name, "perturbations of one size", ageing)
        return COROLLARY.guarantee(setting, theory.phe_bound(setting, self.reward_law))

    def _guarantee_of_the_optimistic_rule(self, setting: Setting, prescribed: Self) -> Guarantee:
        self.require_laws(OPTIMISTIC_RULE, prescribed)
        least = theory.sharp_optimistic_size(setting)
        if self.size < least:
            wanted = f"at least {least:,} members"
            raise AssumptionError(OPTIMISTIC_RULE.name, wanted, f"size = {self.size:,}")
        return OPTIMISTIC_RULE.guarantee(setting, theory.optimistic_bound(setting, self.size))


def ageing_of(value: object) -> float:
    try:
        return number("ageing", value, 0.0, 1e3)
    except InvalidArgument as error:
        raise type(error)("ageing", value, "a number from 0 to 1000 or None") from None
