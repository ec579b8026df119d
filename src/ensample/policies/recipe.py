"""A recipe is a frozen description of an algorithm; at work it is a policy."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms
from ensample.calibration import AUTO, Unknown
from ensample.checks import instance, number, whole
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.member_rules import UNIFORM_MEMBER, MemberRule, as_member_rule
from ensample.memory import check_memory
from ensample.models import LINEAR, Linear, Model, RewardModel
from ensample.perturbations import GAUSSIAN, Gaussian, InitialLaw, Perturbation
from ensample.policies.decision import LAST_ROUND, UNNUMBERED, Log
from ensample.policies.given_log import logged
from ensample.policies.ledger import LogSink
from ensample.policies.policy import Policy
from ensample.randomness import Address, drawn_seed
from ensample.theory import Guarantee, Setting, perturbation_scale, radius
from ensample.theory.guarantee import Theorem
from ensample.types import Auto, Table

LARGEST_SIZE = 1 << 40
FASTEST = 1e3  # at which nothing is left of the last observation


class Recipe(ABC):
    """What `start` and `replay` need to know of an algorithm."""

    regularization: float | Auto
    scale: float | Auto  # of its randomness; 0 for algorithms without
    boldness: ClassVar[float] = 1.0  # what multiplies sigma where that is learned
    intercept: bool = False  # whether a constant is added to the features
    setting: Setting | None = (
        None  # the setting of the theorem that the recipe follows, if it follows one
    )
    half_life: float | None = (
        None  # observations after which one counts half as much; None: nothing is forgotten
    )
    model: RewardModel = LINEAR  # how a reward depends on features
    policy_type: ClassVar[type[Policy]] = Policy
    standing_only: ClassVar[bool] = (
        False  # whether it knows observations by the numbers of standing arms, and takes no others
    )
    theorem_counts_arms: ClassVar[bool] = (
        False  # whether that theorem depends on the number of arms
    )
    theorem_lets_arms_change: ClassVar[bool] = (
        False  # whether it holds for sets of arms that change, predictably
    )

    @property
    def calibrates(self) -> bool:
        """Whether it learns the scales of noise and parameter from the rewards."""
        return self.scale == AUTO and self.model.learns_noise

    @property
    def model_family(self) -> str:
        """The key of `version.LIVE_NUMBERS` whose number an experiment with this recipe records."""
        return self.model.model_family

    @property
    def rate(self) -> float:
        """At which the past fades, log 2 / half_life; 0 where nothing is forgotten."""
        return 0.0 if self.half_life is None else min(math.log(2.0) / self.half_life, FASTEST)

    def check_half_life(self) -> None:
        """Raise on a half-life that cannot be used."""
        if self.half_life is not None:
            object.__setattr__(self, "half_life", number("half_life", self.half_life, above=0.0))
        if self.setting is not None:
            self.require_memory(f"{type(self).__name__}.from_theorem")

    def check_model(self, *kinds: type[Any]) -> None:
        """Raise on something that is no model, or none of these kinds, and on a theorem, which is about linear ones."""
        instance("model", self.model, RewardModel, "a model such as Linear()")
        if kinds and not isinstance(self.model, kinds):
            known = " or ".join(kind.__name__ for kind in kinds)
            raise InvalidArgument(
                "model", self.model, f"a model of kind {known} for {type(self).__name__}"
            )
        if self.setting is not None and not isinstance(self.model, Linear):
            raise AssumptionError(
                f"{type(self).__name__}.from_theorem", "Linear()", f"model = {self.model!r}"
            )

    def require_memory(self, theorem: str) -> None:
        """Raise unless nothing is forgotten: theorems are about sums over the whole past."""
        if self.half_life is not None:
            raise AssumptionError(
                theorem, "that nothing is forgotten", f"half_life = {self.half_life:g}"
            )

    @property
    def lam(self) -> float:
        """The regularization before the first reward: 1 where none is given."""
        return 1.0 if self.regularization == AUTO else self.regularization

    @property
    def unit_scale(self) -> float:
        """The scale of its randomness; 1 where sigma is still to multiply it, the boldness where a model implies sigma."""
        if self.scale == AUTO:
            return 1.0 if self.model.learns_noise else self.boldness
        return self.scale

    @property
    def reward_law(self) -> Perturbation:
        """The law to judge its randomness by."""
        return Gaussian(self.unit_scale)

    def prior(self, arms: Arms) -> float | Unknown:
        """The regularization, or what is to be learned of the scales on these arms."""
        if not self.calibrates:
            return self.model.strength(self.regularization, arms)
        sizes, lam = (
            (arms.sizes, 0.0) if self.regularization == AUTO else (np.ones(arms.dim), self.lam)
        )
        if self.intercept and sizes is not None:
            sizes = np.append(sizes, 1.0)
        return Unknown(sizes, lam, self.intercept)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from ensample.policies.showing import recipe_html

        return recipe_html(self)

    @abstractmethod
    def build(self, arms: Arms, address: Address) -> Model:
        """The model that it acts on, before the first observation."""

    @property
    def rule(self) -> MemberRule | None:
        """Which member of the model acts; None where it has one, or one for each round."""
        return None

    def start(
        self, arms: Arms, seed: int | None = None, *, log: LogSink | bool | None = True
    ) -> Policy:
        """A live policy on these arms.

        `seed`: of everything that it draws. None draws one from the operating system, and `policy.seed` is it.

        `log`: whether it keeps every observation in memory (True) or none (None); a function is given each one instead, in
        the order in which they were learned and at least once: after Ctrl-C or an error of its own it may be given one again,
        known by its round, and never skips one. Its error comes out of the update that has been learned; later updates, and
        `save`, first give it what it has not taken, and do nothing while it refuses.

        >>> import ensample as es
        >>> seen = []
        >>> policy = es.EnsembleSampling(5).start(es.FiniteArms([[1.0]]), log=seen.append)
        >>> policy.update(policy.decide(), 0.5)
        >>> [(entry.round, entry.arm, entry.y) for entry in seen]
        [(0, 0, 0.5)]
        """
        self.check(arms)
        self.check_log(arms, log)
        check_memory("size", getattr(self, "size", 1), self.least_numbers(arms))
        address = Address(drawn_seed() if seed is None else seed)
        model = self.build(arms, address)
        self.check_built(model)
        return self.policy_type(self, arms, address, model, self.rule, log)

    def check_built(self, model: object) -> None:
        """Raise unless it is a model whose members this recipe can choose among; a recipe may be the user's own."""
        name = type(self).__name__
        if not isinstance(model, Model):
            raise WrongType("build", model, f"a Model from {name}.build")
        if model.size == 1 and getattr(self, "size", 1) != 1:
            raise InvalidArgument(
                "size",
                1,
                f"the number of members in {type(model).__name__}.size, as {self!r} has several",
            )
        alone = self.rule is None and self.policy_type._choose is Policy._choose
        if alone and model.size is not None and model.size > 1:
            expected = f"a rule such as UniformMember() to choose among the {model.size} members of {type(model).__name__}"
            raise InvalidArgument("rule", None, f"{expected}: {name}.rule")

    def replay(
        self,
        arms: Arms,
        log: "Log | Table",
        seed: int | None = None,
        *,
        round: int | None = None,
        onward: LogSink | bool | None = True,
    ) -> Policy:
        """The policy whose log this is: with its `policy.seed`, the same learned state to the last bit.

        Without a `seed` one is drawn as in `start`: a new policy that learned the same rewards with perturbations of its own.

        `log` may also be a frame of pandas or polars: see `Log`. Rounds go on after the last one in the log; where later ones
        were begun and never rewarded, say with which `round`. `onward` is what `start` calls `log`, for what comes after this
        one: unless it is True nothing of this one is kept, and a function is given what is new.
        """
        policy = self.start(arms, seed)
        ledger = policy._ledger
        entries = logged(log, arms, self.model)
        for place, entry in enumerate(entries if self.standing_only else ()):
            if entry.arm == UNNUMBERED:
                raise InvalidArgument(
                    f"log.arm[{place}]", UNNUMBERED, f"standing arms for {self.standing_rule}"
                )
        ledger.learn_all(entries, "log.reward")
        if round is not None:
            ledger.round = whole("round", round, ledger.round, LAST_ROUND)
        policy._log_to(onward)
        return policy

    def check(self, arms: Arms) -> None:
        """Raise unless the arms fit the recipe, and the theorem that it follows."""
        instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        if self.standing_only and arms.rows is None:
            raise InvalidArgument("arms", arms, f"FiniteArms for {self.standing_rule}")
        setting = self.setting
        if setting is None:
            return
        theorem = f"{type(self).__name__}.from_theorem"
        if isinstance(arms, ChangingArms) and not self.theorem_lets_arms_change:
            raise AssumptionError(theorem, "one set of arms for all rounds", f"arms = {arms!r}")
        if arms.dim != setting.dim:
            raise AssumptionError(
                theorem, f"arms of dim {setting.dim}, as in its setting", f"dim = {arms.dim}"
            )
        if self.theorem_counts_arms and (arms.rows is None or len(arms.rows) > (setting.arms or 0)):
            raise AssumptionError(
                theorem, f"at most {setting.arms} arms, as in its setting", f"arms = {arms!r}"
            )
        self.check_norm(arms.largest_norm)

    def least_numbers(self, arms: Arms) -> int:
        """How many numbers all members of what it makes for these arms are, at least; 0 where that is not known."""
        return 0

    @property
    def standing_rule(self) -> str:
        """What an error says where `standing_only` is not kept to."""
        return f"{type(self).__name__}, which knows its observations by standing arm"

    def check_log(self, arms: Arms, log: LogSink | bool | None) -> None:
        """Raise where the log is to be left out and the recipe looks at it."""
        if log is not True and self.model.needs_log(arms):
            raise InvalidArgument(
                "log", log, f"True on arms without numbers: {self.model!r} looks at all of it"
            )

    def check_norm(self, largest: float | None) -> None:
        """Raise where the longest arm is too long for the theorem that the recipe follows."""
        if self.setting is not None and largest is not None and largest > 1.0 + 1e-12:
            theorem = f"{type(self).__name__}.from_theorem"
            raise AssumptionError(
                theorem, "arms of norm <= 1", f"the largest norm is {largest:.6g}"
            )

    def guarantee(self, setting: Setting) -> Guarantee:
        """What is proved of its regret on a problem with the constants of `setting`, on one set of arms of norm <= 1.

        Of `PerturbedHistory` and `LinUCB` it holds too where arms change and regret is to the best of each round, if they do
        not depend on what the round draws, noise or perturbations.
        `AssumptionError` where nothing is, or its constants are not those of the theorem.
        """
        instance("setting", setting, Setting, "a Setting")
        raise AssumptionError(
            "a guarantee",
            "a bound that is proved with its constants",
            f"none is known for {self!r}",
        )


class PerturbationRecipe(Recipe):
    """A recipe that perturbs rewards by Z ~ `reward` and starts from W ~ `initial`."""

    initial: InitialLaw | None
    reward: Perturbation | None
    boldness: ClassVar[float] = 0.75

    @property
    def calibrates(self) -> bool:
        return super().calibrates and (self.initial is None or self.reward is None)

    @property
    def initial_law(self) -> InitialLaw:
        """P_I, the law of W."""
        if self.calibrates:
            return (self.initial or GAUSSIAN).rescaled(1.0)
        return self.initial or Gaussian(math.sqrt(self.lam) * self.unit_scale)

    @property
    def reward_law(self) -> Perturbation:
        """P_R, the law of Z."""
        return (
            (self.reward or GAUSSIAN).rescaled(1.0)
            if self.calibrates
            else self.reward or Gaussian(self.unit_scale)
        )

    def check_fields(self) -> None:
        """Raise on a field that cannot be used."""
        object.__setattr__(self, "scale", number_or_auto("scale", self.scale, 0.0, 1e50))
        object.__setattr__(
            self,
            "regularization",
            number_or_auto("regularization", self.regularization, 1e-12, 1e50),
        )
        instance(
            "initial",
            self.initial,
            InitialLaw | None,
            "an initial law such as Gaussian(1.0), or None",
        )
        instance(
            "reward",
            self.reward,
            Perturbation | None,
            "a perturbation such as Gaussian(1.0), or None",
        )
        instance("setting", self.setting, Setting | None, "a Setting, or None")
        self.check_half_life()

    def require_laws(self, theorem: Theorem, prescribed: "PerturbationRecipe") -> None:
        """Raise unless regularization and laws are those that a theorem prescribes."""
        self.require_memory(theorem.name)
        if self.calibrates:
            raise AssumptionError(
                theorem.name, "a scale that is given", 'scale = "auto", of which nothing is proved'
            )
        own, theirs = ((item.lam, item.initial_law, item.reward_law) for item in (self, prescribed))
        if own[0] != theirs[0] or not (same_law(own[1], theirs[1]) and same_law(own[2], theirs[2])):
            words = "regularization {}, W ~ {} and Z ~ {}"
            raise AssumptionError(theorem.name, words.format(*theirs), words.format(*own))

    @staticmethod
    def theorem_fields(setting: Setting, perturbation: Perturbation) -> dict[str, Any]:
        """The laws that the theorems prescribe: Z at `perturbation_scale`, W at sqrt(lam) times that."""
        scale = perturbation_scale(setting, perturbation)
        return {
            "scale": radius(setting),
            "regularization": setting.regularization,
            "initial": perturbation.rescaled(math.sqrt(setting.regularization) * scale),
            "reward": perturbation.rescaled(scale),
            "setting": setting,
        }


class EnsembleRecipe(PerturbationRecipe):
    """A recipe that keeps `size` members: with Gaussian laws and a uniform rule, unless it has fields that say otherwise."""

    size: int
    initial: InitialLaw | None = None
    reward: Perturbation | None = None
    member: MemberRule | Callable[[int, int, Generator], int] = UNIFORM_MEMBER

    def check_fields(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, 1, LARGEST_SIZE))
        super().check_fields()

    @property
    def draws_fresh(self) -> bool:
        """Return True if the ensemble is drawn anew each round."""
        return False

    @property
    def ageing_rate(self) -> float:
        """The variance that a perturbation gains when the number of observations doubles, over that of a new one."""
        return 0.0

    @property
    def is_gaussian(self) -> bool:
        """Return True if both perturbation laws are Gaussian."""
        return all(law is None or type(law) is Gaussian for law in (self.initial, self.reward))

    @property
    def rule(self) -> MemberRule:
        return as_member_rule(self.member)

    def least_numbers(self, arms: Arms) -> int:
        return self.size * self.model.member_numbers(arms.dim)

    def build(self, arms: Arms, address: Address) -> Model:
        return self.model.ensemble(self, arms, address)


def number_or_auto(name: str, value: object, least: float, most: float) -> float | Auto:
    """A field that is given, or "auto": learned."""
    if isinstance(value, str):
        if value == AUTO:
            return AUTO
        raise InvalidArgument(name, value, f'a number >= {least:g}, or "auto"')
    return number(name, value, least, most)


def same_law(law: InitialLaw, other: InitialLaw) -> bool:
    """Whether they are of one kind and of one scale, rounding aside."""
    return law.rescaled(1.0) == other.rescaled(1.0) and math.isclose(
        law.scale, other.scale, rel_tol=1e-12
    )
