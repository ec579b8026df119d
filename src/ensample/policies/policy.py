"""A recipe at work."""

import hashlib
import re
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.arms import ApproximateArms, Arms, Offer
from ensample.calibration import Calibration
from ensample.checks import LARGEST, as_rewards, boolean, instance, sequence, whole
from ensample.errors import DecisionError, InvalidArgument, PropensityError
from ensample.models import Model
from ensample.models.learning import Observation
from ensample.models.search import recall
from ensample.policies.bookkeeping import UNKNOWN, Bookkeeping, LogSink
from ensample.policies.decision import LAST_ROUND, UNNUMBERED, Decision, fields_of_reward, read_only
from ensample.policies.diagnostics import Diagnostics, SampledPropensities, diagnose, sampled
from ensample.policies.log import Log
from ensample.policies.notebook import policy_html
from ensample.randomness import Address
from ensample.theory import Setting
from ensample.types import ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.certificate import Certificate
    from ensample.policies.recipe import Recipe


class Policy:
    """A recipe at work: each round one member acts greedily, and all learn from the reward.

    What it has learned is a fold over its log of (round, features, reward), in the order of the
    updates; what is drawn for a round depends on (seed, round) only. Rewards may come late, in any
    order and many at a time. Two orders of the same rewards give the same model but for the
    rounding of sums. Threads may share a policy: it has one lock.
    """

    def __init__(
        self,
        recipe: "Recipe",
        arms: Arms,
        address: Address,
        model: Model,
        log: LogSink | bool | None = True,
    ) -> None:
        self.recipe, self.arms = recipe, arms
        numbered_only = recipe.standing_rule if recipe.standing_only else ""
        self.bookkeeping = bookkeeping = Bookkeeping(model, arms, log, numbered_only)
        if bookkeeping.keeps_log:
            model.history, model.other_features = bookkeeping.history, bookkeeping.other_features
        self.chooser = recipe.chooser(model)
        self.origin = fingerprint(recipe, address.seed)
        self._seed = address.seed
        self._offers: dict[int, Offer] = {}  # of rounds with features of their own, until an update

    seed: int = read_only("_seed")
    """The seed of everything that it draws."""

    def __repr__(self) -> str:
        known = f"{self.recipe!r}, {self.arms!r}, seed={self.seed}, round={self.round}"
        return f"{type(self).__name__}({known})"

    _repr_html_ = policy_html

    @property
    def model(self) -> Model:
        """What has been learned."""
        return self.bookkeeping.settled().model

    @property
    def round(self) -> int:
        """The number of rounds begun, which is the index of the next."""
        return self.bookkeeping.settled().round

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self.bookkeeping.settled().version

    @property
    def mean(self) -> FloatArray:
        """theta_hat, the estimate from the real rewards: [d]. Of models that have one."""
        return self.model.mean.copy()

    @property
    def gram(self) -> FloatArray:
        """V = lam I + sum x x': [d, d]. Of models that have one."""
        return self.model.gram.copy()

    @property
    def estimates(self) -> FloatArray:
        """theta^j of every member in the coming round: [m, d]. Of models that have them."""
        return self.model.at(self.round).estimates(self.round)

    calibration: Calibration | None = read_only("model.calibration")
    """The scales of noise and parameter as learned from the rewards; None if they are given."""

    inflation: float = read_only("model.inflation")
    """The factor of the perturbations: 1 where the scale is in the perturbations themselves."""

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that wait for their reward, the oldest first."""
        return list(self.bookkeeping.settled().open.values())

    def decide(self, features: ArrayLike | None = None, *, propensity: bool = False) -> Decision:
        """Choose an arm for the next round, among the rows of `features` if they are given.

        With `propensity=True` the decision has the exact probability of its arm.
        """
        offer = self.arms if features is None else self.recipe.offer(self.arms, features)
        wanted = propensity is not False and boolean("propensity", propensity)
        bookkeeping = self.bookkeeping
        with bookkeeping.lock:
            if bookkeeping.pending is not None:
                bookkeeping.settle()
            round = bookkeeping.round
            member, arm, x = self.chooser.choose(round, offer)
            known = float(self.chooser.propensities(round, offer)[arm]) if wanted else None
            standing = features is None
            decision = Decision(
                round, arm, x, member, bookkeeping.version, known, standing, self.origin
            )
            if not standing:
                self._offers[round] = offer
            # In this order: a round that has no decision does no harm, one that is used twice does.
            bookkeeping.round = round + 1
            bookkeeping.open[round] = decision
        return decision

    def update(
        self,
        decision: "Decision | int | ArrayLike | None" = None,
        reward: Any = None,
        *,
        round: int | None = None,
    ) -> None:
        """Learn the reward of a decision, of the decision of a `round`, or of an arm.

        An arm's index stands for the oldest open decision for that standing arm. If there is none,
        and for a vector of features, it is an observation of its own, which takes the next round.
        """
        at_once = type(reward) is float and -LARGEST <= reward <= LARGEST
        y = reward if at_once else self.recipe.model.as_reward("reward", reward)
        bookkeeping = self.bookkeeping
        with bookkeeping.lock:
            if bookkeeping.pending is not None:
                bookkeeping.settle()
            if round is not None:
                if decision is not None:
                    expected = "None where a decision or an arm is given"
                    raise InvalidArgument("round", round, expected)
                decision = bookkeeping.find_round(round)
            observation = None
            if type(decision) is Decision:  # the usual case at once
                decided, arm, x, known, standing = fields_of_reward(decision)
                if bookkeeping.open.get(decided) is decision:
                    number = arm if standing and arm is not None else UNNUMBERED
                    observation = decided, number, x, y, UNKNOWN if known is None else known
            if observation is None:
                observation = bookkeeping.observation(decision, y, bookkeeping.round, ())
            if self._offers:
                self._offers.clear()
            bookkeeping.learn(observation)
            if bookkeeping.undelivered:
                bookkeeping.deliver()

    def update_many(
        self, decisions: "Sequence[Decision | int | ArrayLike]", rewards: ArrayLike
    ) -> None:
        """Learn several rewards in the order given: all of them or, on any error, none."""
        items = sequence("decisions", decisions, "a sequence of decisions or arms")
        ys = as_rewards("rewards", rewards, self.recipe.model.as_reward)
        if len(ys) != len(items):
            raise InvalidArgument("rewards", rewards, f"{len(items)} numbers, one a decision")
        bookkeeping = self.bookkeeping
        with bookkeeping.lock:
            if bookkeeping.pending is not None:
                bookkeeping.settle()
            observations: dict[int, Observation] = {}
            fresh = bookkeeping.round
            for place, (decision, y) in enumerate(zip(items, ys, strict=True)):
                try:
                    observation = bookkeeping.observation(decision, y, fresh, observations)
                except InvalidArgument as error:
                    name = f"decisions[{place}]"
                    raise type(error)(name, error.value, error.expected) from None
                round = observation[0]
                observations[round] = observation
                fresh = max(fresh, round + 1)
            self._offers.clear()
            bookkeeping.learn_all(list(observations.values()), "rewards")
            bookkeeping.deliver()

    def forget(self, decision: Decision) -> None:
        """Close a decision whose reward will never come."""
        instance("decision", decision, Decision, "a decision")
        bookkeeping = self.bookkeeping
        with bookkeeping.lock:
            del bookkeeping.open[bookkeeping.find(decision).round]

    def propensities(
        self, features: ArrayLike | None = None, *, round: int | None = None
    ) -> FloatArray:
        """Return the exact probability of each arm, next or in any `round` were it now: [K]."""
        offer = self.arms if features is None else self.recipe.offer(self.arms, features)
        with self.bookkeeping.lock:
            number = self.round if round is None else whole("round", round, 0, LAST_ROUND)
            return self.chooser.propensities(number, offer)

    def sampled_propensities(
        self, members: int, features: ArrayLike | None = None
    ) -> SampledPropensities:
        """Return propensities from the votes of some members: see `SampledPropensities`."""
        offer = self.arms if features is None else self.recipe.offer(self.arms, features)
        with self.bookkeeping.lock:
            return sampled(self, offer, whole("members", members, 1))

    def propensity(self, decision: Decision) -> float:
        """Return the exact probability with which a decision of this policy was taken.

        It is known until the next update. Later the state of the time is gone, and this raises
        `PropensityError`; `decide(propensity=True)` keeps it.
        """
        instance("decision", decision, Decision, "a decision")
        with self.bookkeeping.lock:
            bookkeeping = self.bookkeeping.settled()
            known = bookkeeping.open.get(decision.round)
            if known is None or not known.stands_for(decision):
                raise DecisionError("decision", decision, "an open decision of this policy")
            if known.propensity is not None:
                return known.propensity
            offer = self.arms if known.standing else self._offers.get(known.round)
            if known.version != bookkeeping.version or offer is None:
                raise PropensityError(
                    f"the policy has learned since {decision!r}, or its round's own arms were not "
                    "saved: ask for its propensity before the next update, or use "
                    "decide(propensity=True)"
                )
            return float(self.chooser.propensities(known.round, offer)[known.arm])

    def votes(self) -> IntArray | None:
        """Return each member's greedy arm in the coming round: [m]; None if there are none."""
        model = self.model
        if model.size is None or model.rule is None or self.arms.rows is None:
            return None
        with self.bookkeeping.lock:
            return model.votes_in(self.round, self.arms)[0].copy()

    def recall(self) -> float:
        """Return the share of members whose greedy arm, as it is found, is the best for them.

        It is 1 but for `ApproximateArms`.
        """
        with self.bookkeeping.lock:
            if not isinstance(self.arms, ApproximateArms):
                return 1.0
            return recall(np.ascontiguousarray(self.estimates[:, : self.arms.dim].T), self.arms)

    def log(self) -> Log:
        """Return all observations so far, in order; `start(log=...)` says whether they are kept."""
        with self.bookkeeping.lock:
            self.bookkeeping.require_log("log()")
            return self.bookkeeping.settled().log()

    def save(self, path: str | PathLike[str], *, log: bool = True) -> None:
        """Write a snapshot for `ensample.load`: complete or not at all.

        Without its log it is as large as what was learned.
        """
        from ensample.policies.snapshot import save

        with self.bookkeeping.lock:
            self.bookkeeping.settle()
            save(self, path, boolean("log", log))

    def certificate(self) -> "Certificate":
        """Return a bound on the regret so far, valid for all rounds at once. See `Certificate`."""
        from ensample.policies.certificate import certify

        with self.bookkeeping.lock:
            self.bookkeeping.require_log("certificate()")
            return certify(self)

    def diagnostics(
        self, theta_star: ArrayLike | None = None, setting: Setting | None = None
    ) -> Diagnostics:
        """Return what the analysis watches; with the true parameter also the paper's events."""
        with self.bookkeeping.lock:
            return diagnose(self, theta_star, setting)


def fingerprint(recipe: "Recipe", seed: int) -> str:
    """Return a hash of recipe and seed, the same in every process."""
    words = re.sub(r" at 0x[0-9a-f]+", "", f"{type(recipe).__name__} {recipe!r} {seed}")
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
