"""Models as policies use them, and their descriptions in recipes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, ChangingArms, Offer
from ensample.calibration import AGEING, AUTO, Calibration, Unknown
from ensample.checks import LARGEST, ORDINARY, are_within, as_reward, vector, whole
from ensample.errors import InvalidArgument, PropensityError
from ensample.member_rules import MemberRule, Promises, no_promises
from ensample.perturbations import InitialLaw, Perturbation
from ensample.randomness import Address
from ensample.types import Auto, FloatArray, IntArray

Choice = tuple[int, int | None, FloatArray]
"""(member, arm, features) of a round; arm is None where arms have no numbers."""


class Advice(NamedTuple):
    """The answer of a recipe for a round."""

    member: int
    arm: int
    weights: list[float] | None  # the probability of each arm; None if it has no closed form


class Chooser(ABC):
    """The way from a model to an arm: a model itself, by its member rule, or one around it."""

    @abstractmethod
    def choose(self, round: int, offer: Offer) -> Choice:
        """Return (member, arm, features) for a round; change nothing."""

    @abstractmethod
    def propensities(self, round: int, offer: Offer) -> FloatArray:
        """Return the probability of each arm on offer in a round: [K]."""

    def advise(self, round: int, offer: Offer) -> Advice:
        """Return choice and propensities for a round whose arms are listed."""
        member, arm, _ = self.choose(round, offer)
        assert arm is not None
        try:
            return Advice(member, arm, self.propensities(round, offer).tolist())
        except PropensityError:
            return Advice(member, arm, None)


class Model(Chooser):
    """One or many members, each of which scores the arms on offer; all learn from an observation.

    What was learned is in `arrays()`, named and of fixed shapes, and nowhere else: they are what
    snapshots store and what is put back where learning was cut short. `count` says how many
    observations are in them and is the last thing that `learn` changes. A model of your own defines
    `scores`, `learn`, `arrays` and `count`, and says its `size` where it has more than one member;
    the rest follows. One that knows observations by the numbers of their arms alone goes with a
    recipe that says `standing_only = True`.
    """

    size: int | None = 1
    """The number of members; None if every round has a model of its own: number t in round t."""

    whole: ClassVar[bool] = False
    """True if `learn` changes everything in one call of the core. If not, arrays are copied
    first.
    """

    is_fresh: ClassVar[bool] = False
    """True if members are drawn anew each round: they are exchangeable, and the first acts."""

    ordinary_feature: float = ORDINARY
    """The largest magnitude of features that `is_bounded` covers."""

    ordinary_state: float = LARGEST
    """The largest magnitude in `arrays()` that `is_bounded` covers."""

    history: Callable[[], tuple[FloatArray, FloatArray]] | None = None
    """All features and rewards, in the order of the log; None where the policy keeps no log."""

    other_features: Callable[[], FloatArray]
    """The features in the log that are no standing arm's: [n, d]. Set where a log is kept."""

    rule: MemberRule | None = None  # which member acts; None if there is one, or one a round
    address: Address  # of all that is drawn
    _voted: tuple[int, Offer, IntArray, FloatArray] | None = None

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of observations learned."""

    @abstractmethod
    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        """Return what a member expects of each row of features [K, d]: [K]."""

    @abstractmethod
    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        """Take in the reward y of features x [d], or raise and change nothing.

        `arm` is the number of a standing arm, or -1 for features that are none's (never for a
        `standing_only` recipe). What is drawn may depend on the round, not on the order.
        """

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what was learned, by name; `learn` changes these arrays in place."""

    def complete(self) -> None:
        """Bring a `learn` to its end that was interrupted after `count` had changed."""

    def is_bounded(self) -> bool:
        """Return True if no number of ordinary observations can make `arrays()` infinite or NaN.

        Ordinary are features up to `ordinary_feature` and rewards up to `checks.ORDINARY_REWARD`. A
        model that cannot promise it is copied before each observation, checked after it and
        restored where the check fails.
        """
        return False

    def is_ordinary(self, x: FloatArray) -> bool:
        """Return True if features, of one arm [d] or of all [K, d], are covered by `is_bounded`."""
        return are_within(x, self.ordinary_feature)

    def fault(self) -> str | None:
        """Return what is impossible about loaded `arrays()`, if anything is."""
        return None

    def choose(self, round: int, offer: Offer) -> Choice:
        if self.rule is None:
            member = round if self.size is None else 0
        else:
            member = self.acting_member(self.rule, round, offer)
        arm, x = self.at(round).best(member, offer)
        return member, arm, x

    def acting_member(self, rule: MemberRule, round: int, offer: Offer) -> int:
        """Return the member that acts in a round by a rule, which may be the user's own."""
        size = self.size or 1
        promises = self._promises(round, offer) if rule.looks else no_promises
        member = rule.choose(round, size, self.address, promises)
        if type(member) is not int or not 0 <= member < size:
            member = whole("member", member, 0, size - 1)
        return member

    def propensities(self, round: int, offer: Offer) -> FloatArray:
        """Return the probability of each arm on offer in a round: [K], at most 1."""
        if self.size is None:
            drawn = "the propensities of a model that is drawn for each round"
            raise PropensityError(f"{drawn} have no closed form: EnsembleSampling's are exact")
        count = len(listed(offer))
        if self.rule is None:
            return self._shares_of_votes(round, offer)
        weights = self.member_weights(round, offer)
        shares = np.bincount(self.votes_in(round, offer)[0], weights, count) / weights.sum()
        return np.asarray(np.minimum(shares, 1.0))

    def _shares_of_votes(self, round: int, offer: Offer) -> FloatArray:
        """Return the share of members whose greedy arm is each: [K]."""
        votes, _ = self.votes_in(round, offer)
        return np.bincount(votes, minlength=len(listed(offer))) / votes.size

    def member_weights(self, round: int, offer: Offer) -> FloatArray:
        """Return weights proportional to the probability of each member in a round: [m]."""
        assert self.rule is not None and self.size is not None
        given = self.rule.weights(round, self.size, self._promises(round, offer))
        weights = vector("weights", given, self.size)
        if weights.min() < 0.0 or weights.sum() == 0.0:
            raise InvalidArgument("weights", weights, "numbers >= 0, not all of them 0")
        return weights

    def _promises(self, round: int, offer: Offer) -> Promises:
        return lambda: self.votes_in(round, offer)[1]

    def votes_in(self, round: int, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Return `votes` in a round, kept until the next observation: ([m], [m])."""
        acting, kept = self.at(round), self._voted
        if acting is not self:
            return acting.votes(offer)
        if kept is None or kept[:2] != (self.count, offer):
            self._voted = kept = self.count, offer, *self.votes(offer)
        return kept[2:]

    def _scored(self, member: int, rows: FloatArray) -> FloatArray:
        """Return `scores`, which may be somebody else's, if there is one for each row."""
        scores = np.asarray(self.scores(member, rows))
        if scores.shape != (len(rows),):
            expected = f"a number for each of {len(rows)} rows of features"
            raise InvalidArgument("scores", scores, f"{expected} from {type(self).__name__}.scores")
        return scores

    def _check_best(self, scores: FloatArray, best: FloatArray) -> None:
        """Raise if the best of some scores is NaN, which is larger than all numbers."""
        if np.isnan(best).any():
            expected = f"numbers, and no NaN, from {type(self).__name__}.scores"
            raise InvalidArgument("scores", scores, expected)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        """Return (arm, features) that a member likes best, the lowest number on ties."""
        if offer.rows is None:
            if isinstance(offer, ChangingArms):
                offer.offer()  # says that the features of the round are missing
            expected = f"arms that are listed: {type(self).__name__} scores them one by one"
            raise InvalidArgument("arms", offer, expected)
        scores = self._scored(member, offer.rows)
        arm = int(scores.argmax())
        self._check_best(scores, scores[arm])
        return arm, offer.rows[arm]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Return each member's greedy arm and what it promises: ([m], [m])."""
        if self.size is None:
            name = type(self).__name__
            raise PropensityError(f"{name} has no standing members: their votes cannot be counted")
        rows = listed(offer)
        scores = np.array([self._scored(member, rows) for member in range(self.size)])
        promised = scores.max(axis=1)
        self._check_best(scores, promised)
        return scores.argmax(axis=1), promised

    def at(self, round: int) -> Self:
        """Return the model as it acts in a round: itself, or another view of the same arrays."""
        return self

    @property
    def inflation(self) -> float:
        """The factor of the perturbations when choosing: 1 if the scale is in the perturbations."""
        return 1.0

    @property
    def calibration(self) -> Calibration | None:
        """The scales of noise and parameter that were learned; None if they are given."""
        return None

    @property
    def mean(self) -> FloatArray:
        """The centre of the members: [d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no mean")

    @property
    def gram(self) -> FloatArray:
        """V: [d, d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no gram")

    @property
    def inverse(self) -> FloatArray:
        """V^-1: [d, d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no inverse")

    def estimates(self, round: int) -> FloatArray:
        """Return theta^j of every member, or that of the round: [m, d], if there are any."""
        raise AttributeError(f"{type(self).__name__} has no estimates")


def listed(offer: Offer) -> FloatArray:
    """Return the rows of an offer that has them."""
    if offer.rows is None:
        needed = "need finitely many arms"
        raise PropensityError(
            f"propensities and votes {needed}, here {offer!r}; give the features of the round"
        )
    return offer.rows


def fault_of_counts(counts: NDArray[Any], most: int) -> str | None:
    """Return what is impossible about counts of observations, if anything is."""
    if counts.size and not (counts.min() >= 0 and counts.max() <= most):
        return f"counts that are not from 0 to {most}"
    return None


class EnsemblePlan(Protocol):
    """The ensemble that a recipe asks for: its fields, and what follows from them."""

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

    # What follows from them

    @property
    def unit_scale(self) -> float: ...  # of perturbations; 1 if sigma is still to multiply it
    @property
    def initial_law(self) -> InitialLaw: ...  # P_I of a linear model
    @property
    def reward_law(self) -> Perturbation: ...  # P_R
    @property
    def rate(self) -> float: ...  # at which the past fades, log 2 / half_life; 0 if it does not
    @property
    def boldness(self) -> float: ...  # the factor of sigma where the scale is "auto"
    @property
    def draws_fresh(self) -> bool: ...  # True if the ensemble is drawn anew each round
    @property
    def ageing_rate(self) -> float: ...  # what a variance gains when the observations double

    def prior(self, arms: Arms) -> float | Unknown:
        """Return the regularization of a linear model, or what is to be learned of the scales."""


class RewardModel(ABC):
    """A description of how a reward depends on features: what the field `model` of a recipe takes.

    A description is frozen and knows no data. What it makes for a recipe at work is a `Model`. One
    of your own is a frozen dataclass derived from this class.
    """

    learns_noise: ClassVar[bool] = True
    """True if the size of the noise is learned where the scale is "auto". If not, the model implies
    it.
    """

    ageing: ClassVar[float] = AGEING
    """Default of `EnsembleSampling(ageing=)` for fresh members."""

    model_family: ClassVar[str] = "linear"
    """The key of `version.LIVE_NUMBERS` whose number experiments with this model record."""

    def why_not_fresh(self) -> str:
        """Return why its ensembles cannot be drawn anew each round; empty if they can."""
        return f"members of {self!r} are trained, not drawn"

    def strength(self, regularization: float | Auto, arms: Arms) -> float:
        """Return lam before the first reward: 1 for "auto", unless overridden."""
        return 1.0 if regularization == AUTO else regularization

    def needs_log(self, arms: Arms) -> bool:
        """Return True if what it makes for these arms looks at the policy's log."""
        return False

    def member_numbers(self, dim: int) -> int:
        """Return how many numbers a live member is, at least; 0 if that is not known."""
        return 0

    def check(self, plan: EnsemblePlan) -> None:  # noqa: B027 (most combinations will do)
        """Raise `InvalidArgument` on fields of a recipe that this model cannot do with."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest possible reward."""
        return -math.inf, math.inf

    @property
    def rewards_expected(self) -> str:
        """How errors call the rewards that it can learn from; empty if any number will do."""
        low, high = self.reward_range
        if (low, high) == (-math.inf, math.inf):
            return ""
        return f"a number from {low:g} to {high:g} for {type(self).__name__}()"

    def as_reward(self, argument: str, value: object) -> float:
        """Return a reward as a number; its range is checked when it is learned."""
        try:
            return as_reward(argument, value)
        except InvalidArgument as error:
            expected = self.rewards_expected or error.expected
            raise type(error)(error.argument, error.value, expected) from None

    @abstractmethod
    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> Model:
        """Return the `plan.size` members of Algorithm 1 before the first observation."""
