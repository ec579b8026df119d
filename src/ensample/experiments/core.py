"""From a question to the event that answers it.

Nothing changes here: `State.apply` does that, once the event is kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ensample.checks import LARGEST_REWARD, check_label
from ensample.errors import DecisionError, InvalidArgument
from ensample.experiments.events import Activated, Changed, Decided, Event, Rewarded
from ensample.experiments.inputs import Actions, as_actions
from ensample.experiments.learner import Learner
from ensample.experiments.mixture import Mixture, Uniforms
from ensample.experiments.state import State
from ensample.models.base import Advice
from ensample.plain_data import PlainDict, plain_context
from ensample.types import FloatArray

History = Callable[[str], list[Event]]


class Asked(NamedTuple):
    """A question, checked."""

    context: Any
    names: tuple[str, ...]
    moment: "dict[str, PlainDict | None] | None"  # features of the moment
    narrowed: bool  # whether the actions on offer were named, or some excluded


class Proposal(NamedTuple):
    """An event, and what applying it would compute again."""

    event: Decided
    rows: FloatArray  # [d, K]
    learner: Learner


def asked(state: State, context: Any, actions: Any, excluded: Any) -> Asked:
    """Check a question: what is on offer in which context."""
    plain = plain_context("context", context)
    is_sized = hasattr(excluded, "__len__") and not isinstance(excluded, str)
    if excluded is not None and is_sized and len(excluded) == 0:
        excluded = None
    if actions is None and excluded is None:
        if not state.standing:
            expected = "the actions on offer: the experiment has none of its own"
            raise InvalidArgument("actions", None, expected)
        return Asked(plain, state.standing, None, False)
    offer = dict.fromkeys(state.standing) if actions is None else offered(state, actions)
    has_features = any(features is not None for features in offer.values())
    if excluded is not None:
        offer = without(state, offer, excluded)
    return Asked(plain, tuple(offer), offer if has_features else None, True)


def offered(state: State, actions: Any) -> Actions:
    """Check the actions that come with a question, and return them with features of the moment."""
    given = as_actions("actions", actions)
    if state.settings.actions is None:  # else they are known
        for name in given:
            check_label("actions", name)
        return given
    new = [name for name in given if name not in state.actions]
    if new:
        known = ", ".join(state.standing)
        expected = f"actions of the experiment: {known} (add() brings more)"
        raise InvalidArgument("actions", new[0], expected)
    return given


def without(state: State, offer: Actions, excluded: Any) -> Actions:
    """Return the offer less some actions."""
    less = as_actions("excluded", excluded)
    for name in less:
        if name not in offer and name not in state.actions:
            expected = f"actions that could be on offer: {', '.join(offer)}"
            raise InvalidArgument("excluded", name, expected)
    left = {name: features for name, features in offer.items() if name not in less}
    if not left:
        raise InvalidArgument("excluded", excluded, "at least one action left on offer")
    return left


def mixture_of(state: State, names: tuple[str, ...]) -> Mixture:
    baseline, floor = state.settings.baseline, state.settings.floor
    if baseline is None or baseline[0] not in names:
        return Mixture(floor, 0.0, None, len(names))
    return Mixture(floor, baseline[1], names.index(baseline[0]), len(names))


def proposed(
    state: State, question: Asked, id: str, time: int, active: bool, uniforms: Uniforms
) -> Proposal:
    """Return the event of a decision, with the rows and the learner that it came from."""
    names, round = question.names, state.round
    rows, learner = state.rows(question.context, names, question.moment, new=True)
    mixture = mixture_of(state, names)
    advice: Advice = learner.advise(round, rows)
    drawn, place = mixture.pick(uniforms[round])
    member = advice.member if place is None else None
    known = None if advice.weights is None else mixture.propensities(advice.weights)
    event = Decided(
        id,
        time,
        question.context,
        list(names),
        question.moment,
        names[advice.arm if place is None else place],
        known,
        member,
        drawn,
        learner.version,
        round,
        active,
        question.narrowed,
    )
    return Proposal(event, rows, learner)


def next_propensities(state: State, question: Asked) -> list[float] | None:
    """Return the propensities of the next round; None if they have no closed form."""
    rows, learner = state.rows(question.context, question.names, question.moment, new=True)
    advice = learner.advise(state.round, rows)
    return (
        None
        if advice.weights is None
        else mixture_of(state, question.names).propensities(advice.weights)
    )


def same_question(event: Decided, question: Asked) -> bool:
    """Return True if a decision answered this question."""
    if event.context != question.context:
        return False
    if not question.narrowed:  # all standing actions, whichever they were at the time
        return not event.narrowed
    return tuple(event.offer) == question.names and event.features == question.moment


def judged_reward(
    state: State,
    history: History,
    id: str,
    value: float,
    action: str | None,
    key: str | None,
    time: int,
    told: bool = False,
) -> Rewarded:
    """Return the event of a reward. `told`: its time was given, and is not that of the clock."""
    outcome = outcome_of_reward(state, history, id, action, key, time)
    if (
        told
        and outcome == "applied"
        and (decided := first_decided(history(id))) is not None
        and time < decided.time
    ):
        outcome = "not_shown"
    if outcome == "applied":
        check_total(state.open[id].total, value)
    return Rewarded(id, time, value, action, key, outcome)


def check_total(total: float, value: float) -> None:
    """Raise if a reward and those that it is added to come to more than a reward may be."""
    if not abs(total + value) <= LARGEST_REWARD:
        most = f"comes to at most {LARGEST_REWARD:g} in size"
        expected = f"a reward that, added to those before of {total:g}, {most}"
        raise InvalidArgument("value", value, expected)


def outcome_of_reward(
    state: State, history: History, id: str, action: str | None, key: str | None, time: int
) -> str:
    waiting = state.open.get(id)
    if waiting is None:
        return outcome_of_closed(state, history(id), action, key)
    if action is not None and action != waiting.action:
        return "not_shown"
    if waiting.is_late(time):
        return "late"
    if not waiting.active:
        return "not_shown"
    return "duplicate" if key is not None and key in waiting.keys else "applied"


def outcome_of_closed(
    state: State, history: list[Event], action: str | None, key: str | None
) -> str:
    """Return the outcome of a reward for a decision that does not wait for one."""
    decided = first_decided(history)
    if decided is None:
        return "unknown"
    if action is not None and action != decided.action:
        return "not_shown"
    rewards = (event for event in history if isinstance(event, Rewarded))
    counted = [event.key for event in rewards if event.outcome == "applied"]
    if state.settings.reward.rule == "sum":
        return "duplicate" if key is not None and key in counted else "late"
    return "duplicate" if counted else "late"


def first_decided(history: list[Event]) -> Decided | None:
    return next((event for event in history if isinstance(event, Decided)), None)


def judged_activation(state: State, history: History, id: str, time: int) -> Activated:
    """Return the event of the news that a decision was shown."""
    return Activated(id, time, outcome_of_activation(state, history, id, time))


def outcome_of_activation(state: State, history: History, id: str, time: int) -> str:
    waiting = state.open.get(id)
    if waiting is not None:
        if waiting.active:
            return "duplicate"
        return "late" if waiting.is_late(time) else "applied"
    events = history(id)
    decided = first_decided(events)
    if decided is None:
        return "unknown"
    activations = (event for event in events if isinstance(event, Activated))
    was_shown = decided.active or any(event.outcome == "applied" for event in activations)
    return "duplicate" if was_shown else "late"


def change_of(state: State, time: int, new: Actions, old: list[str]) -> Changed:
    """Return the event of actions that come and go."""
    for name in new:
        check_label("action", name)
        if name in state.actions:
            raise InvalidArgument("action", name, "the name of a new action")
    for name in old:
        if name not in state.actions:
            raise InvalidArgument("action", name, f"one of the actions {', '.join(state.standing)}")
    if state.settings.actions is not None and len(old) == len(state.actions) and not new:
        raise InvalidArgument("action", old, "an action that is not the last one")
    return Changed(time, new, old)


def known_answer(history: list[Event], id: str, question: Asked, active: bool) -> Decided | None:
    """Return the decision that has this id; raise if it answered another question."""
    event = first_decided(history)
    if event is not None and (event.active != active or not same_question(event, question)):
        raise DecisionError(
            "id",
            id,
            "an id of its own for another question: this one was used for another context or offer",
        )
    return event
