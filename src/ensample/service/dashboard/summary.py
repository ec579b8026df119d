"""Sums of an experiment's events for its page: a fold that goes on where it stopped."""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ensample.evaluation.propensity_check import HEIGHTS, PropensityCheck, by_height
from ensample.experiments.events import Activated, Decided, Event, Expired, Rewarded
from ensample.experiments.mixture import Mixture
from ensample.experiments.settings import Settings
from ensample.service.dashboard.joining import Joining, Pending
from ensample.service.dashboard.lift import Gain, Lift, RewardMean, against_action, against_chance
from ensample.service.dashboard.timeline import Stretch, Timeline

ALARM = 0.01  # of all checks of propensities together
NAMES = 1_000  # actions that are told apart; further ones are counted together
OTHERS = "(others)"
RECENT = 16  # questions by which votes are counted
PIECE = 2_048  # decisions checked together
EDGES = [0.0, *HEIGHTS.tolist(), 1.0]
HEIGHT_NAMES = [f"{100 * low:g} to {100 * high:g}%" for low, high in pairwise(EDGES)]
DRAWN = ("baseline", "floor", "policy")


class Posed(NamedTuple):
    """A question as it was asked."""

    context: Any
    actions: list[str] | dict[str, Any] | None


@dataclass
class OfferChecks:
    """Actions that are on offer together, with decisions that are not checked yet."""

    names: tuple[str, ...]
    places: list[int]  # of the names among all actions
    mixture: Mixture
    unchecked: list[tuple[list[float], int, int]]  # propensities, place in the offer, who drew


class Summary:
    """The sums of an experiment. Events are entered in order; flush before looking at it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seq = 0  # events taken in
        self.decisions = 0
        self.actions: dict[str, int] = {}  # places, in the order in which they were met
        self.chosen: list[int] = []
        self.drawn = {"policy": 0, "floor": 0, "baseline": 0}
        self.unknown = 0  # decisions whose propensities are not known
        self.weights, self.squared_weights = 0.0, 0.0  # of a uniform target
        self.total, self.rewarded = 0.0, 0
        self.check, self.heights, self.draws = (PropensityCheck(ALARM / 3) for _ in range(3))
        self.timeline, self.lift = Timeline(), Lift()
        self.means: dict[int, RewardMean] = {}  # by place of the action
        self.joining = Joining(settings.reward, self._settled, self._revised)
        self.recent: deque[Posed] = deque(maxlen=RECENT)
        self._offers: dict[tuple[str, ...], OfferChecks] = {}
        self._unchecked = 0

    def enter(self, event: Event) -> None:
        match event:
            case Decided():
                self._decided(event)
            case Rewarded():
                self.joining.rewarded(event)
            case Activated():
                self.joining.activated(event)
            case Expired():
                self.joining.expire(event.time, event.most)
        self.seq += 1

    def _decided(self, event: Decided) -> None:
        offer = self._offer(tuple(event.offer))
        place = event.offer.index(event.action)
        own, stretch = offer.places[place], self.timeline.at(event.time)
        stretch.decisions += 1
        stretch.actions[own] += 1
        self.chosen[own] += 1
        self.drawn[event.drawn] += 1
        self.decisions += 1
        gain = None
        if event.propensities is None:
            self.unknown += 1
        else:
            offer.unchecked.append((event.propensities, place, DRAWN.index(event.drawn)))
            self._unchecked += 1
            gain = self._gain(event.propensities, place, offer.mixture)
            weights = offer.mixture.weights(event.propensities)
            stretch.known += 1
            if weights is not None:  # the chance that two members want different actions
                stretch.disagreement += 1.0 - sum(map(mul, weights, weights))
        held = event.drawn == "baseline"
        self.joining.decided(event, Pending(event.time, own, event.active, held, gain))
        if self._unchecked >= PIECE:
            self._check()
        actions = (event.features or event.offer) if event.narrowed else None
        self.recent.append(Posed(event.context, actions))

    def _offer(self, names: tuple[str, ...]) -> OfferChecks:
        found = self._offers.get(names)
        if found is None:
            held, share = self.settings.baseline or ("", 0.0)
            place, share = (names.index(held), share) if held in names else (None, 0.0)
            mixture = Mixture(self.settings.floor, share, place, len(names))
            places = [self._place(name) for name in names]
            found = self._offers[names] = OfferChecks(names, places, mixture, [])
        return found

    def _place(self, name: str) -> int:
        known = name if name in self.actions or len(self.actions) < NAMES else OTHERS
        place = self.actions.setdefault(known, len(self.actions))
        if place == len(self.chosen):
            self.chosen.append(0)
        return place

    def _gain(self, propensities: list[float], place: int, mixture: Mixture) -> Gain | None:
        """Add a decision to the weights, and return its part in the lift, if there is one."""
        if propensities[place] > 0.0:
            weight = 1.0 / (len(propensities) * propensities[place])
            self.weights += weight
            self.squared_weights += weight * weight
        if self.settings.reward.rule == "sum":
            return None  # sums have no range that is known, so that no bound holds
        if mixture.baseline is not None:
            return against_action(propensities, place, mixture.baseline, mixture.share)
        if self.settings.baseline is None and self.settings.floor > 0.0:
            return against_chance(propensities, place)
        return None

    def _scaled(self, reward: float) -> float:
        """Return a reward as a number in [0, 1], if it is none of several that are added up."""
        rules = self.settings.reward
        return (reward - rules.low) / (rules.high - rules.low)

    def _settled(self, pending: Pending) -> None:
        """Count a decision that is final."""
        if pending.reward is None:
            return
        scaled = self._scaled(pending.reward)
        self.total += pending.reward
        self.rewarded += 1
        stretch = self.timeline.at(pending.time)
        stretch.rewarded += 1
        stretch.total += pending.reward
        stretch.held_rewarded += pending.held
        stretch.held_total += pending.held * pending.reward
        self.means.setdefault(pending.action, RewardMean()).add(scaled)
        if pending.gain is not None:
            self.lift.add(pending.gain, scaled)

    def _revised(self, pending: Pending, reward: float | None) -> None:
        """Count a decision within its wait by a provisional reward, or no longer."""
        before, pending.provisional = pending.provisional, reward
        stretch = self.timeline.at(pending.time)
        if before is not None:
            self._add_open(stretch, pending.gain, before, -1)
        if reward is not None:
            self._add_open(stretch, pending.gain, reward, 1)

    def _add_open(self, stretch: Stretch, gain: Gain | None, reward: float, sign: int) -> None:
        stretch.open += sign
        stretch.open_total += sign * reward
        if gain is not None:
            r = self._scaled(reward)
            stretch.open_gains += sign
            stretch.open_r += sign * r
            stretch.open_d += sign * gain.d
            stretch.open_dr += sign * gain.d * r

    def settle(self, now: int) -> None:
        """Close what is due at `now`, once all events before it were entered."""
        self.joining.expire(now)

    def _check(self) -> None:
        """Run three tests: by action, by the height of the propensity, and of who drew."""
        for offer in self._offers.values():
            if not offer.unchecked:
                continue
            rows, chosen, drawn = map(np.array, zip(*offer.unchecked, strict=True))
            self.check.add(*self._known_actions(offer, rows, chosen))
            self.heights.add(HEIGHT_NAMES, *by_height(rows, chosen))
            share, floor = offer.mixture.share, offer.mixture.floor
            law = [share, (1.0 - share) * floor, (1.0 - share) * (1.0 - floor)]
            self.draws.add(DRAWN, np.tile(law, (len(drawn), 1)), drawn)
            offer.unchecked = []
        self._unchecked = 0
        if len(self._offers) > NAMES:
            self._offers.clear()

    def _known_actions(
        self, offer: OfferChecks, rows: Any, chosen: Any
    ) -> tuple[list[str], Any, Any]:
        """Return names, propensities and what was chosen, with the other actions as one."""
        if self.actions.get(OTHERS, -1) not in offer.places:
            return list(offer.names), rows, chosen
        found, column = np.unique(offer.places, return_inverse=True)
        names = list(self.actions)
        return [names[place] for place in found], rows @ np.eye(len(found))[column], column[chosen]

    def flush(self) -> None:
        """Add what waits for others like it."""
        self._check()
        self.lift.flush()

    @property
    def holds(self) -> bool:
        """Return True if nothing speaks against the propensities."""
        return self.check.holds and self.heights.holds and self.draws.holds

    @property
    def effective(self) -> float:
        """Return (sum w)^2 / sum w^2, the effective sample of a target that chooses at random."""
        return self.weights**2 / self.squared_weights if self.squared_weights else 0.0
