"""Sums of an experiment's events for its page: a fold that goes on where it stopped."""

from collections import deque
from itertools import pairwise
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ensample.evaluation.propensity_check import HEIGHTS, PropensityCheck, by_height
from ensample.experiments.events import Activated, Decided, Event, Expired, Rewarded
from ensample.experiments.settings import Settings
from ensample.service.dashboard.joining import Joining, Pending
from ensample.service.dashboard.lift import ActionMeans, Gain, Lift, against_action, against_chance
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


class UncheckedOffer:
    """Decisions with the same actions on offer, until they are checked."""

    def __init__(self, names: tuple[str, ...], places: list[int], baseline: int | None) -> None:
        self.names, self.places, self.baseline = names, places, baseline
        self.propensities: list[list[float]] = []
        self.chosen: list[int] = []
        self.drawn: list[int] = []  # places in DRAWN


class Summary:
    """Events go in by `enter`, in order; `flush` before it is looked at."""

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
        self.means = ActionMeans()
        self.joining = Joining(settings.reward, self._settled, self._revised)
        self.recent: deque[Posed] = deque(maxlen=RECENT)
        self._offers: dict[tuple[str, ...], UncheckedOffer] = {}
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
                self.joining.expired(event)
        self.seq += 1

    def _decided(self, event: Decided) -> None:
        offer = self._offer(tuple(event.offer))
        place = event.offer.index(event.action)
        own = offer.places[place]
        stretch = self.timeline.at(event.time)
        stretch.decisions += 1
        stretch.actions[own] = stretch.actions.get(own, 0) + 1
        self.chosen[own] += 1
        self.drawn[event.drawn] += 1
        self.decisions += 1
        gain = None
        if event.propensities is None:
            self.unknown += 1
        else:
            gain = self._known(event.propensities, place, offer)
            offer.drawn.append(DRAWN.index(event.drawn))
            stretch.known += 1
            stretch.disagreement += self._disagreement(event.propensities, offer)
        self.joining.decided(
            event, Pending(event.time, own, event.active, event.drawn == "baseline", gain)
        )
        if self._unchecked >= PIECE:
            self._check()
        self.recent.append(
            Posed(event.context, (event.features or event.offer) if event.narrowed else None)
        )

    def _offer(self, names: tuple[str, ...]) -> UncheckedOffer:
        found = self._offers.get(names)
        if found is None:
            baseline = self.settings.baseline
            held = (
                names.index(baseline[0]) if baseline is not None and baseline[0] in names else None
            )
            found = self._offers[names] = UncheckedOffer(
                names, [self._place(name) for name in names], held
            )
        return found

    def _place(self, name: str) -> int:
        known = name if name in self.actions or len(self.actions) < NAMES else OTHERS
        place = self.actions.setdefault(known, len(self.actions))
        if place == len(self.chosen):
            self.chosen.append(0)
        return place

    def _share(self, offer: UncheckedOffer) -> float:
        """Of the holdout."""
        return (
            0.0
            if offer.baseline is None or self.settings.baseline is None
            else self.settings.baseline[1]
        )

    def _known(self, propensities: list[float], place: int, offer: UncheckedOffer) -> Gain | None:
        """What a decision adds to the check and to the weights, and its part in the lift."""
        offer.propensities.append(propensities)
        offer.chosen.append(place)
        self._unchecked += 1
        if propensities[place] > 0.0:
            weight = 1.0 / (len(propensities) * propensities[place])
            self.weights += weight
            self.squared_weights += weight * weight
        if self.settings.reward.rule == "sum":
            return None  # sums have no range that is known, so that no bound holds
        if self.settings.baseline is None:
            return against_chance(propensities, place) if self.settings.floor > 0.0 else None
        return (
            None
            if offer.baseline is None
            else against_action(propensities, place, offer.baseline, self._share(offer))
        )

    def _disagreement(self, propensities: list[float], offer: UncheckedOffer) -> float:
        """Return 1 - sum w_k^2, w without floor and holdout: the chance that two members differ."""
        count, share, floor = len(propensities), self._share(offer), self.settings.floor
        kept, least = (1.0 - share) * (1.0 - floor), (1.0 - share) * floor / count
        if kept <= 0.0:
            return 0.0
        squares: float = (
            sum(map(mul, propensities, propensities)) + count * least * least - 2.0 * least
        )
        if offer.baseline is not None:
            squares += (
                share * share - 2.0 * share * propensities[offer.baseline] + 2.0 * share * least
            )
        return min(max(1.0 - squares / (kept * kept), 0.0), 1.0)

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
        self.timeline.at(pending.time).reward(pending.reward, pending.held)
        self.means.add(pending.action, scaled)
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
        """Three tests: by action, by the height of the propensity, and of who drew."""
        for offer in self._offers.values():
            if offer.chosen:
                propensities, chosen = np.array(offer.propensities), np.array(offer.chosen)
                self.check.add(*self._together(offer, propensities, chosen))
                self.heights.add(HEIGHT_NAMES, *by_height(propensities, chosen))
                share, floor = self._share(offer), self.settings.floor
                law = [share, (1.0 - share) * floor, (1.0 - share) * (1.0 - floor)]
                self.draws.add(DRAWN, np.tile(law, (len(offer.drawn), 1)), np.array(offer.drawn))
                offer.propensities, offer.chosen, offer.drawn = [], [], []
        self._unchecked = 0
        if len(self._offers) > NAMES:
            self._offers.clear()

    def _together(
        self, offer: UncheckedOffer, propensities: Any, chosen: Any
    ) -> tuple[list[str], Any, Any]:
        """Actions that are not told apart are one."""
        others = self.actions.get(OTHERS, -1)
        if others not in offer.places:
            return list(offer.names), propensities, chosen
        known = list(self.actions)
        column = {place: number for number, place in enumerate(dict.fromkeys(offer.places))}
        names, places = (
            [known[place] for place in column],
            np.array([column[place] for place in offer.places]),
        )
        joined = propensities @ np.eye(len(names))[places]
        return names, joined, places[chosen]

    def flush(self) -> None:
        """Take in what waits for others like it."""
        self._check()
        self.lift.flush()
        self.means.flush()

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the propensities."""
        return self.check.holds and self.heights.holds and self.draws.holds

    @property
    def effective(self) -> float:
        """Return (sum w)^2 / sum w^2, the effective sample of a target that chooses at random."""
        return self.weights**2 / self.squared_weights if self.squared_weights else 0.0
