"""A recipe at work: a ledger over a model."""

import hashlib
import re
from collections.abc import Collection, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.arms import ApproximateArms, Arms, Offer
from ensample.calibration import Calibration
from ensample.checks import as_reward, as_rewards, boolean, instance, sequence, vector, whole
from ensample.errors import (
    AssumptionError,
    DecisionError,
    InvalidArgument,
    PropensityError,
    WrongType,
)
from ensample.frames import is_column, is_frame
from ensample.member_rules import MemberRule, Promises, UniformMember, no_promises
from ensample.models.model import Model
from ensample.models.search import recall
from ensample.policies.decision import LAST_ROUND, UNNUMBERED, Decision, Log
from ensample.policies.diagnostics import Diagnostics, diagnose
from ensample.policies.ledger import Ledger, LogSink, Observation, checked_sink
from ensample.policies.sampled import SampledPropensities, sampled
from ensample.randomness import Address
from ensample.theory import Setting
from ensample.types import ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.certificate import Certificate
    from ensample.policies.recipe import Recipe


NOT_KNOWN = float("nan")  # a propensity that was not asked for


class Policy:
    """A recipe at work: each round a member of its model acts greedily, and all members learn from the reward.

    What it has learned is a fold over its log of (round, features, reward), in the order of the updates; what is drawn for a
    round depends on (seed, round) only. Rewards may come late, in any order and many at a time. Two orders of the same rewards
    give the same model but for the rounding of sums. Threads may share a policy: it has one lock.

    `rule` says which member acts; None is for models that have one member, or one for each round.
    """

    def __init__(
        self,
        recipe: "Recipe",
        arms: Arms,
        address: Address,
        model: Model,
        rule: MemberRule | None = None,
        log: LogSink | bool | None = True,
    ) -> None:
        self.recipe = recipe
        self.arms = arms
        self._address = address
        self._rule = rule
        self._origin = fingerprint(recipe, address.seed)
        self._ledger = Ledger(model, arms.rows, arms.dim, log)
        if self._ledger.keeps_log:
            model.history = self._ledger.history
        self._offers: dict[int, Offer] = {}  # rounds' own, until the next update
        self._voted: tuple[int, Offer, IntArray, FloatArray] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recipe!r}, {self.arms!r}, seed={self.seed}, round={self.round})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from ensample.policies.showing import policy_html

        return policy_html(self)

    @property
    def seed(self) -> int:
        return self._address.seed

    @property
    def model(self) -> Model:
        """What has been learned."""
        return self._steady().model

    @property
    def round(self) -> int:
        """The number of rounds begun, which is the index of the next."""
        return self._steady().round

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self._steady().version

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
        """theta^j of every member in the coming round, or that round's own: [m, d]. Of models that have them."""
        return self.model.at(self.round).estimates(self.round)

    @property
    def inflation(self) -> float:
        """What multiplies the perturbations in the coming round: 1 where the scale is in the perturbations themselves."""
        return self.model.at(self.round).inflation

    @property
    def calibration(self) -> Calibration | None:
        """The scales of noise and parameter as learned from the rewards; None where the recipe gives them."""
        with self._ledger.lock:
            return self.model.calibration

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that wait for their reward, the oldest first."""
        return list(self._steady().open.values())

    def decide(self, features: ArrayLike | None = None, *, propensity: bool = False) -> Decision:
        """Choose an arm for the next round: among the rows of `features` where they are given."""
        offer = self.arms if features is None else self._offer(features)
        asked = propensity is not False and boolean("propensity", propensity)
        ledger = self._ledger
        with ledger.lock:
            if ledger._pending is not None:
                ledger.settle()
            round = ledger.round
            member, arm, x = self._choose(round, offer)
            known = float(self._shares(round, offer)[arm]) if asked else None
            decision = Decision(
                round, arm, x, member, ledger.version, known, features is None, self._origin
            )
            if features is not None:
                self._offers[round] = offer
            # In this order: a round that was begun and has no decision does no harm, one that is used twice does.
            ledger.round = round + 1
            ledger.open[round] = decision
        return decision

    def update(
        self,
        decision: "Decision | int | ArrayLike | None" = None,
        reward: Any = None,
        *,
        round: int | None = None,
    ) -> None:
        """Learn the reward of a decision, of the decision of a `round`, or of an arm.

        An arm's index stands for the oldest open decision for that standing arm. Where there is none, and for a vector of
        features, it is an observation of its own, which takes the next round.
        """
        try:
            y = as_reward("reward", reward)
        except InvalidArgument as error:
            raise self.recipe.model.refusal(error) from None
        ledger = self._ledger
        with ledger.lock:
            if ledger._pending is not None or ledger.undelivered:
                ledger.make_way()
            if round is not None:
                if decision is not None:
                    raise InvalidArgument(
                        "round", round, "None where a decision or an arm is given"
                    )
                decision = self._decided(round)
            observation = self._observation(decision, y, ledger.round, ())
            if self._offers:
                self._offers.clear()
            ledger.learn(observation)

    def update_many(
        self, decisions: "Sequence[Decision | int | ArrayLike]", rewards: ArrayLike
    ) -> None:
        """Learn several rewards in the order given: all of them or, on any error, none."""
        items = sequence("decisions", decisions, "a sequence of decisions or arms")
        ys = as_rewards("rewards", rewards, self.recipe.model.as_reward)
        if len(ys) != len(items):
            raise InvalidArgument("rewards", rewards, f"{len(items)} numbers, one a decision")
        ledger = self._ledger
        with ledger.lock:
            ledger.make_way()
            observations: dict[int, Observation] = {}
            fresh = ledger.round
            for place, (decision, y) in enumerate(zip(items, ys, strict=True)):
                try:
                    observation = self._observation(decision, y, fresh, observations)
                except InvalidArgument as error:
                    raise type(error)(f"decisions[{place}]", error.value, error.expected) from None
                round = observation[0]
                observations[round] = observation
                fresh = max(fresh, round + 1)
            self._offers.clear()
            ledger.learn_all(list(observations.values()), "rewards")

    def forget(self, decision: Decision) -> None:
        """Close a decision whose reward will never come."""
        instance("decision", decision, Decision, "a decision")
        with self._ledger.lock:
            known = self._known(decision, ())
            del self._ledger.open[known.round]

    def propensities(
        self, features: ArrayLike | None = None, *, round: int | None = None
    ) -> FloatArray:
        """The exact probability of each arm in the next round, or in any `round` were it now: [K]."""
        offer = self.arms if features is None else self._offer(features)
        with self._ledger.lock:
            return self._shares(
                self.round if round is None else whole("round", round, 0, LAST_ROUND), offer
            )

    def sampled_propensities(
        self, members: int, features: ArrayLike | None = None
    ) -> SampledPropensities:
        """The probability of each arm in the next round, from the votes of some members: see `SampledPropensities`."""
        offer = self.arms if features is None else self._offer(features)
        with self._ledger.lock:
            return sampled(self, offer, whole("members", members, 1))

    def propensity(self, decision: Decision) -> float:
        """The exact probability with which a decision of this policy was taken: known until the next update.

        Later the state of the time is gone, and this raises `PropensityError`; `decide(propensity=True)` keeps it.
        """
        instance("decision", decision, Decision, "a decision")
        with self._ledger.lock:
            known = self._steady().open.get(decision.round)
            if known is None or not known.stands_for(decision):
                raise DecisionError("decision", decision, "an open decision of this policy")
            if known.propensity is not None:
                return known.propensity
            offer = self.arms if known.standing else self._offers.get(known.round)
            if known.version != self._ledger.version or offer is None:
                raise PropensityError(
                    f"the policy has learned since {decision!r}, or its round's own arms were not saved: ask for its "
                    "propensity before the next update, or use decide(propensity=True)"
                )
            return float(self._shares(known.round, offer)[known.arm])

    def votes(self) -> IntArray | None:
        """Each member's greedy arm in the coming round: [m]; None for policies and arms without members or numbers."""
        if self.model.size is None or self._rule is None or self.arms.rows is None:
            return None
        with self._ledger.lock:
            return self._votes(self.round, self.arms)[0].copy()

    def recall(self) -> float:
        """The share of members whose greedy arm, as it is found, is the best for them: 1 but for `ApproximateArms`."""
        with self._ledger.lock:
            if not isinstance(self.arms, ApproximateArms):
                return 1.0
            thetas = np.ascontiguousarray(self.estimates[:, : self.arms.dim].T)
            return recall(thetas, self.arms)

    def log(self) -> Log:
        """All observations so far, in the order of the fold; `start(log=...)` says whether they are kept."""
        with self._ledger.lock:
            self._require_log("log()")
            return self._steady().log()

    def save(self, path: str | PathLike[str], *, log: bool = True) -> None:
        """Write a snapshot for `ensample.load`: complete or not at all. Without its log it is as large as what was learned.

        A function that is given the log has taken all of it before, or its error comes out: a snapshot has nothing undelivered.
        """
        from ensample.policies.snapshot import save  # safetensors are needed by those who save

        with self._ledger.lock:
            self._ledger.make_way()
            save(self, path, boolean("log", log))

    def certificate(self) -> "Certificate":
        """A bound on the regret so far, from the log: valid for all rounds at once. See `Certificate`."""
        from ensample.policies.certificate import certify  # needed by those who ask

        with self._ledger.lock:
            self._require_log("certificate()")
            return certify(self)

    def diagnostics(
        self, theta_star: ArrayLike | None = None, setting: Setting | None = None
    ) -> Diagnostics:
        """What the analysis watches; with the true parameter also the paper's events. See `Diagnostics`."""
        with self._ledger.lock:
            return diagnose(self, theta_star, setting)

    def _log_to(self, log: LogSink | bool | None) -> None:
        """From now on: what `start` calls `log`. Raise where what was learned so far needs the log that would be dropped."""
        if log is True:
            return
        self.recipe.check_log(self.arms, log)
        checked_sink(log)
        kept, self.model.history = self.model.history, None
        fault = self.model.fault()
        if fault is not None:
            self.model.history = kept
            raise InvalidArgument("log", log, f"True: there are {fault}")
        self._ledger.log_to(log)

    def _steady(self) -> Ledger:
        """The ledger, with no update cut short."""
        ledger = self._ledger
        if ledger._pending is not None:
            with ledger.lock:
                ledger.settle()
        return ledger

    def _choose(self, round: int, offer: Offer) -> tuple[int, int | None, FloatArray]:
        """(member, arm, features) for a round; changes nothing."""
        model, rule = self._ledger.model, self._rule
        size = model.size
        if size is None:
            member = round
        elif type(rule) is UniformMember:
            member = (
                0 if model.is_fresh else int(self._address.uniform(round) * size)
            )  # as it chooses: the usual case, at once
        elif rule is None:
            member = 0
        else:
            member = rule.choose(
                round,
                size,
                self._address,
                self._promises(round, offer) if rule.looks else no_promises,
            )
            if type(member) is not int or not 0 <= member < size:  # a rule may be the user's own
                member = whole("member", member, 0, size - 1)
        arm, x = model.at(round).best(member, offer)
        return member, arm, x

    def _shares(self, round: int, offer: Offer) -> FloatArray:
        """The probability of each arm on offer in a round, at most 1 also where rounding says more: [K]."""
        return np.minimum(self._weights(round, offer), 1.0)

    def _weights(self, round: int, offer: Offer) -> FloatArray:
        """The probability of each arm on offer in a round, but for rounding: [K]."""
        size = self._ledger.model.size
        if size is None:
            name = type(self.recipe).__name__
            raise PropensityError(
                f"the propensities of {name} have no closed form: EnsembleSampling's are exact"
            )
        rows = listed(offer)
        if (
            self._rule is None or self._ledger.model.is_fresh
        ):  # of fresh members there may be more than fit in memory
            return np.bincount(self._votes(round, offer)[0], minlength=len(rows)) / size
        weights = self._member_weights(self._rule, round, size, self._promises(round, offer))
        shares: FloatArray = (
            np.bincount(self._votes(round, offer)[0], weights, len(rows)) / weights.sum()
        )
        return shares

    def _member_weights(
        self, rule: MemberRule, round: int, size: int, promises: Promises
    ) -> FloatArray:
        """Proportional to the probability of each member in a round: [m]. A rule may be the user's own."""
        weights = vector("weights", rule.weights(round, size, promises), size)
        if weights.min() < 0.0 or weights.sum() == 0.0:
            raise InvalidArgument("weights", weights, "numbers >= 0, not all of them 0")
        return weights

    def _promises(self, round: int, offer: Offer) -> Promises:
        return lambda: self._votes(round, offer)[1]

    def _votes(self, round: int, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Each member's greedy arm in a round and what it promises, kept until the next update: ([m], [m])."""
        model, version, kept = self._ledger.model, self._ledger.version, self._voted
        acting = model.at(round)
        if acting is not model:  # rounds of their own are few
            return acting.votes(offer)
        if kept is None or kept[:2] != (version, offer):
            self._voted = kept = version, offer, *model.votes(offer)
        return kept[2:]

    def _offer(self, features: ArrayLike) -> Offer:
        """The features of a round, as an offer."""
        recipe = self.recipe
        if recipe.standing_only:
            raise InvalidArgument("features", features, f"None for {recipe.standing_rule}")
        if recipe.setting is None:
            return self.arms.offer(features)
        if not recipe.theorem_lets_arms_change:
            raise AssumptionError(
                f"{type(recipe).__name__}.from_theorem",
                "one set of arms for all rounds",
                "decide was given features",
            )
        offer = self.arms.offer(features)
        recipe.check_norm(longest(offer))
        return offer

    def _decided(self, round: object) -> Decision:
        """The open decision of a round."""
        number = whole("round", round, 0, LAST_ROUND)
        decision = self._ledger.open.get(number)
        if decision is None:
            raise DecisionError("round", number, "the round of an open decision")
        return decision

    def _known(self, decision: Decision, taken: Collection[int]) -> Decision:
        """This policy's own open decision that is equal to one from elsewhere: a snapshot, a file, another process."""
        known = self._steady().open.get(decision._round)
        if known is None or not known.stands_for(decision) or known._round in taken:
            raise DecisionError(
                "decision", decision, "an open decision of this policy, rewarded once"
            )
        return known

    def _observation(
        self, decision: object, y: float, fresh: int, taken: Collection[int]
    ) -> Observation:
        """What a reward makes of a decision; `fresh` is the next free round, `taken` are rounds already claimed."""
        if isinstance(decision, Decision):
            if taken or self._ledger.open.get(decision._round) is not decision:
                decision = self._known(decision, taken)
            arm, known = decision._arm, decision._propensity
            number = arm if arm is not None and decision._standing else UNNUMBERED
            return (
                decision._round,
                number,
                decision._features,
                y,
                NOT_KNOWN if known is None else known,
            )
        rows = self.arms.rows
        if isinstance(decision, int | np.integer) and rows is not None:
            arm = whole("arm", decision, 0, len(rows) - 1)
            for round, waiting in self._ledger.open.items():
                if waiting._arm == arm and waiting._standing and round not in taken:
                    return self._observation(waiting, y, fresh, taken)
            return fresh, arm, rows[arm], y, NOT_KNOWN
        if is_listed(decision):
            if self.recipe.standing_only:
                raise InvalidArgument(
                    "arm",
                    decision,
                    f"a decision or the number of an arm for {self.recipe.standing_rule}",
                )
            x = vector("arm", decision, self.arms.dim)
            x.setflags(write=False)  # as those of arms and decisions are
            return fresh, UNNUMBERED, x, y, NOT_KNOWN
        kinds = "a decision" if rows is None else "a decision, the index of an arm"
        raise WrongType("decision", decision, f"{kinds} or a vector of {self.arms.dim} features")

    def _require_log(self, what: str) -> None:
        if not self._ledger.keeps_log:
            raise InvalidArgument("log", None, f"a policy started with its log kept, for {what}")


def fingerprint(recipe: "Recipe", seed: int) -> str:
    """Of a recipe and a seed, the same in every process: addresses of a user's own functions do not count."""
    words = f"{type(recipe).__name__} {recipe!r} {seed}"
    return hashlib.blake2b(
        re.sub(r" at 0x[0-9a-f]+", "", words).encode(), digest_size=8
    ).hexdigest()


def is_listed(value: object) -> bool:
    """Whether it lists numbers, as features do."""
    if isinstance(value, Sequence | np.ndarray):
        return not isinstance(value, str | bytes)
    return is_column(value) or is_frame(value)


def longest(offer: Offer) -> float | None:
    """The largest norm on offer; None where arms are not listed."""
    return None if offer.rows is None else float(np.sqrt(np.square(offer.rows).sum(axis=1).max()))


def listed(offer: Offer) -> FloatArray:
    """The rows of an offer that has them."""
    if offer.rows is None:
        raise PropensityError(
            f"propensities need finitely many arms, here {offer!r}; give the features of the round"
        )
    return offer.rows
