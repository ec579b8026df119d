"""A recipe is a frozen description of an algorithm; at work it is a policy."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import Arms, ChangingArms, Offer
from ensample.calibration import AUTO, Unknown
from ensample.checks import instance, number, whole
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.member_rules import UNIFORM_MEMBER, MemberRule, as_member_rule
from ensample.memory import check_memory
from ensample.models import LINEAR, Chooser, Linear, Model, RewardModel
from ensample.perturbations import GAUSSIAN, Gaussian, InitialLaw, Perturbation
from ensample.policies.bookkeeping import LogSink
from ensample.policies.decision import LAST_ROUND, UNNUMBERED
from ensample.policies.log import Log, entries_of
from ensample.policies.notebook import recipe_html
from ensample.policies.policy import Policy
from ensample.randomness import Address, drawn_seed
from ensample.theory import Guarantee, Setting, perturbation_scale, radius
from ensample.theory.guarantee import Theorem
from ensample.types import ArrayLike, Auto, Table

LARGEST_SIZE = 1 << 40
LARGEST_SCALE, LEAST_REGULARIZATION = 1e50, 1e-12
LARGEST_RATE = 1e3  # at which nothing is left of the last observation


class Recipe(ABC):
    """The base of all algorithms: `start` makes a policy, `replay` one that has learned a log."""

    regularization: float | Auto
    scale: float | Auto  # of its randomness; 0 for algorithms without
    boldness: ClassVar[float] = 1.0  # the factor of sigma where that is learned
    intercept: bool = False  # True if a constant is added to the features
    setting: Setting | None = None  # of the theorem that the recipe follows, if it follows one
    half_life: float | None = None  # observations after which one counts half as much
    model: RewardModel = LINEAR  # how a reward depends on features
    policy_type: ClassVar[type[Policy]] = Policy
    standing_only: ClassVar[bool] = False  # True if it knows observations by arm numbers alone
    theorem_counts_arms: ClassVar[bool] = False  # True if that theorem depends on their number
    theorem_lets_arms_change: ClassVar[bool] = False  # True if arms may change, predictably

    @property
    def calibrates(self) -> bool:
        """True if it learns the scales of noise and parameter from the rewards."""
        return self.scale == AUTO and self.model.learns_noise

    @property
    def model_family(self) -> str:
        """The key of `version.LIVE_NUMBERS` whose number an experiment with this recipe records."""
        return self.model.model_family

    @property
    def rate(self) -> float:
        """The rate at which the past fades, log 2 / half_life; 0 if nothing is forgotten."""
        return 0.0 if self.half_life is None else min(math.log(2.0) / self.half_life, LARGEST_RATE)

    @property
    def lam(self) -> float:
        """The regularization before the first reward: 1 if none is given."""
        return 1.0 if self.regularization == AUTO else self.regularization

    @property
    def unit_scale(self) -> float:
        """The scale of its randomness; 1 if sigma is still to multiply it.

        It is the boldness where a model implies sigma.
        """
        if self.scale == AUTO:
            return 1.0 if self.model.learns_noise else self.boldness
        return self.scale

    @property
    def reward_law(self) -> Perturbation:
        """The law to judge its randomness by."""
        return Gaussian(self.unit_scale)

    @property
    def rule(self) -> MemberRule | None:
        """Which member of the model acts; None if it has one, or one for each round."""
        return None

    @property
    def standing_rule(self) -> str:
        """What an error says where `standing_only` is not kept to."""
        return f"{type(self).__name__}, which knows its observations by standing arm"

    _repr_html_ = recipe_html

    def prior(self, arms: Arms) -> float | Unknown:
        """Return the regularization, or what is to be learned of the scales on these arms."""
        if not self.calibrates:
            return self.model.strength(self.regularization, arms)
        learned = self.regularization == AUTO
        sizes, lam = (arms.sizes, 0.0) if learned else (np.ones(arms.dim), self.lam)
        if self.intercept and sizes is not None:
            sizes = np.append(sizes, 1.0)
        return Unknown(sizes, lam, self.intercept)

    @abstractmethod
    def build(self, arms: Arms, address: Address) -> Model:
        """Return the model that it acts on, before the first observation."""

    def chooser(self, model: Model) -> Chooser:
        """Return the way from the model to an arm: the model itself, unless overridden."""
        return model

    def new_model(self, arms: Arms, address: Address, log: LogSink | bool | None = True) -> Model:
        """Return a checked model, ready to choose and learn; `log` as in `start`."""
        self.check(arms)
        self.check_log(arms, log)
        check_memory("size", getattr(self, "size", 1), self.least_numbers(arms))
        model = self.build(arms, address)
        self.check_built(model)
        model.rule, model.address = self.rule, address
        return model

    def start(
        self, arms: Arms, seed: int | None = None, *, log: LogSink | bool | None = True
    ) -> Policy:
        """Return a live policy on these arms.

        `seed`: of everything that it draws. None draws one from the operating system, and
        `policy.seed` is it.

        `log`: whether it keeps every observation in memory (True) or none (None); a function is
        given each one instead, once and in the order in which they were learned. Its error comes
        out of the update, which has been learned.

        >>> import ensample as es
        >>> seen = []
        >>> policy = es.EnsembleSampling(5).start(es.FiniteArms([[1.0]]), log=seen.append)
        >>> policy.update(policy.decide(), 0.5)
        >>> [(entry.round, entry.arm, entry.y) for entry in seen]
        [(0, 0, 0.5)]
        """
        address = Address(drawn_seed() if seed is None else seed)
        return self.policy_type(self, arms, address, self.new_model(arms, address, log), log)

    def replay(
        self,
        arms: Arms,
        log: "Log | Table",
        seed: int | None = None,
        *,
        round: int | None = None,
        onward: LogSink | bool | None = True,
    ) -> Policy:
        """Return the policy of a log: with its `policy.seed`, the same state to the last bit.

        Without a `seed` one is drawn as in `start`: a new policy that learned the same rewards with
        perturbations of its own.

        `log` may also be a frame of pandas or polars: see `Log`. Rounds go on after the last one in
        the log; where later ones were begun and never rewarded, say with which `round`. `onward` is
        what `start` calls `log`, for what comes after this one: unless it is True nothing of this
        one is kept, and a function is given what is new.
        """
        policy = self.start(arms, seed)
        entries = entries_of(log, arms, self.model)
        for place, entry in enumerate(entries if self.standing_only else ()):
            if entry.arm == UNNUMBERED:
                expected = f"standing arms for {self.standing_rule}"
                raise InvalidArgument(f"log.arm[{place}]", UNNUMBERED, expected)
        bookkeeping = policy.bookkeeping
        bookkeeping.learn_all(entries, "log.reward")
        if round is not None:
            bookkeeping.round = whole("round", round, bookkeeping.round, LAST_ROUND)
        self.check_log(arms, onward)
        bookkeeping.log_to(onward)
        return policy

    def offer(self, arms: Arms, features: ArrayLike) -> Offer:
        """Return the features of a round as an offer, if the recipe takes any."""
        if self.standing_only:
            raise InvalidArgument("features", features, f"None for {self.standing_rule}")
        if self.setting is None:
            return arms.offer(features)
        if not self.theorem_lets_arms_change:
            self._refuse("one set of arms for all rounds", "decide was given features")
        offer = arms.offer(features)
        if offer.rows is not None:
            self.check_norm(float(np.sqrt(np.square(offer.rows).sum(axis=1).max())))
        return offer

    def least_numbers(self, arms: Arms) -> int:
        """Return how many numbers all members take, at least; 0 if that is unknown."""
        return 0

    def guarantee(self, setting: Setting) -> Guarantee:
        """Return what is proved of its regret on a problem with the constants of `setting`.

        That is on one set of arms of norm <= 1. Of `PerturbedHistory` and `LinUCB` it holds too
        where arms change and regret is to the best of each round, if they do not depend on what the
        round draws, noise or perturbations. `AssumptionError` where nothing is proved, or the
        constants are not those of the theorem.
        """
        instance("setting", setting, Setting, "a Setting")
        proved = "a bound that is proved with its constants"
        raise AssumptionError("a guarantee", proved, f"none is known for {self!r}")

    # Checks. Those of fields are called by `__post_init__` and may normalise a field.

    def set_fields(self, **values: object) -> None:
        """Replace fields by what was made of them; for `__post_init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def check_regularization(self, auto: bool = True) -> None:
        given, bounds = self.regularization, (LEAST_REGULARIZATION, LARGEST_SCALE)
        check = number_or_auto if auto else number
        self.set_fields(regularization=check("regularization", given, *bounds))

    def check_scale(self) -> None:
        self.set_fields(scale=number_or_auto("scale", self.scale, 0.0, LARGEST_SCALE))

    def check_half_life(self) -> None:
        """Raise on a half-life that cannot be used."""
        if self.half_life is not None:
            self.set_fields(half_life=number("half_life", self.half_life, above=0.0))
        if self.setting is not None:
            self.require_memory(f"{type(self).__name__}.from_theorem")

    def check_model(self, *kinds: type[Any]) -> None:
        """Raise on a model that is none of these kinds, or not that of a theorem."""
        instance("model", self.model, RewardModel, "a model such as Linear()")
        if kinds and not isinstance(self.model, kinds):
            known = " or ".join(kind.__name__ for kind in kinds)
            expected = f"a model of kind {known} for {type(self).__name__}"
            raise InvalidArgument("model", self.model, expected)
        if self.setting is not None and not isinstance(self.model, Linear):
            self._refuse("Linear()", f"model = {self.model!r}")

    def require_memory(self, theorem: str) -> None:
        """Raise unless nothing is forgotten: theorems are about sums over the whole past."""
        if self.half_life is not None:
            found = f"half_life = {self.half_life:g}"
            raise AssumptionError(theorem, "that nothing is forgotten", found)

    def check_built(self, model: object) -> None:
        """Raise unless this recipe, perhaps the user's own, can act on the model."""
        name = type(self).__name__
        if not isinstance(model, Model):
            raise WrongType("build", model, f"a Model from {name}.build")
        if model.size == 1 and getattr(self, "size", 1) != 1:
            members = f"the number of members in {type(model).__name__}.size"
            raise InvalidArgument("size", 1, f"{members}, as {self!r} has several")
        alone = self.rule is None and type(self).chooser is Recipe.chooser
        if alone and model.size is not None and model.size > 1:
            members = f"the {model.size} members of {type(model).__name__}"
            expected = f"a rule such as UniformMember() to choose among {members}: {name}.rule"
            raise InvalidArgument("rule", None, expected)

    def check(self, arms: Arms) -> None:
        """Raise unless the arms fit the recipe, and the theorem that it follows."""
        instance("arms", arms, Arms, "arms such as FiniteArms(features)")
        if self.standing_only and arms.rows is None:
            raise InvalidArgument("arms", arms, f"FiniteArms for {self.standing_rule}")
        setting = self.setting
        if setting is None:
            return
        if isinstance(arms, ChangingArms) and not self.theorem_lets_arms_change:
            self._refuse("one set of arms for all rounds", f"arms = {arms!r}")
        if arms.dim != setting.dim:
            self._refuse(f"arms of dim {setting.dim}, as in its setting", f"dim = {arms.dim}")
        if self.theorem_counts_arms and (arms.rows is None or len(arms.rows) > (setting.arms or 0)):
            self._refuse(f"at most {setting.arms} arms, as in its setting", f"arms = {arms!r}")
        self.check_norm(arms.largest_norm)

    def check_log(self, arms: Arms, log: LogSink | bool | None) -> None:
        """Raise if the log is to be left out and the recipe looks at it."""
        if log is not True and self.model.needs_log(arms):
            expected = f"True on arms without numbers: {self.model!r} looks at all of it"
            raise InvalidArgument("log", log, expected)

    def check_norm(self, largest: float | None) -> None:
        """Raise if the longest arm is too long for the theorem that the recipe follows."""
        if self.setting is not None and largest is not None and largest > 1.0 + 1e-12:
            self._refuse("arms of norm <= 1", f"the largest norm is {largest:.6g}")

    def _refuse(self, assumption: str, found: str) -> None:
        raise AssumptionError(f"{type(self).__name__}.from_theorem", assumption, found)


class PerturbationRecipe(Recipe):
    """A recipe that perturbs rewards by Z ~ `reward` and starts from W ~ `initial`.

    It keeps `size` members, with Gaussian laws and a uniform rule, unless it has fields that say
    otherwise; `PerturbedHistory` has one member for each round.
    """

    size: int
    initial: InitialLaw | None = None
    reward: Perturbation | None = None
    member: MemberRule | Callable[[int, int, Generator], int] = UNIFORM_MEMBER
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
        if self.calibrates:
            return (self.reward or GAUSSIAN).rescaled(1.0)
        return self.reward or Gaussian(self.unit_scale)

    @property
    def draws_fresh(self) -> bool:
        """True if the ensemble is drawn anew each round."""
        return False

    @property
    def ageing_rate(self) -> float:
        """The variance that a perturbation gains when observations double, over its first."""
        return 0.0

    @property
    def is_gaussian(self) -> bool:
        """True if both perturbation laws are Gaussian."""
        return all(law is None or type(law) is Gaussian for law in (self.initial, self.reward))

    @property
    def rule(self) -> MemberRule | None:
        return as_member_rule(self.member)

    def least_numbers(self, arms: Arms) -> int:
        return self.size * self.model.member_numbers(arms.dim)

    def build(self, arms: Arms, address: Address) -> Model:
        return self.model.ensemble(self, arms, address)

    def check_fields(self) -> None:
        """Raise on a field that cannot be used."""
        if hasattr(self, "size"):
            self.set_fields(size=whole("size", self.size, 1, LARGEST_SIZE))
        self.check_scale()
        self.check_regularization()
        law = "an initial law such as Gaussian(1.0), or None"
        instance("initial", self.initial, InitialLaw | None, law)
        law = "a perturbation such as Gaussian(1.0), or None"
        instance("reward", self.reward, Perturbation | None, law)
        instance("setting", self.setting, Setting | None, "a Setting, or None")
        self.check_half_life()

    def require_laws(self, theorem: Theorem, prescribed: "PerturbationRecipe") -> None:
        """Raise unless regularization and laws are those that a theorem prescribes."""
        self.require_memory(theorem.name)
        if self.calibrates:
            found = 'scale = "auto", of which nothing is proved'
            raise AssumptionError(theorem.name, "a scale that is given", found)
        own, theirs = ((item.lam, item.initial_law, item.reward_law) for item in (self, prescribed))
        if own[0] != theirs[0] or not (same_law(own[1], theirs[1]) and same_law(own[2], theirs[2])):
            words = "regularization {}, W ~ {} and Z ~ {}"
            raise AssumptionError(theorem.name, words.format(*theirs), words.format(*own))

    @staticmethod
    def theorem_fields(setting: Setting, perturbation: Perturbation) -> dict[str, Any]:
        """Return the laws that theorems prescribe: Z at `perturbation_scale`."""
        scale = perturbation_scale(setting, perturbation)
        return {
            "scale": radius(setting),
            "regularization": setting.regularization,
            "initial": perturbation.rescaled(math.sqrt(setting.regularization) * scale),
            "reward": perturbation.rescaled(scale),
            "setting": setting,
        }


def number_or_auto(name: str, value: object, least: float, most: float) -> float | Auto:
    """Return a field that is a number, or "auto": learned."""
    if isinstance(value, str):
        if value == AUTO:
            return AUTO
        raise InvalidArgument(name, value, f'a number >= {least:g}, or "auto"')
    return number(name, value, least, most)


def same_law(law: InitialLaw, other: InitialLaw) -> bool:
    """Return True if laws are of one kind and of one scale, rounding aside."""
    close = math.isclose(law.scale, other.scale, rel_tol=1e-12)
    return close and law.rescaled(1.0) == other.rescaled(1.0)
