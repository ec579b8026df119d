"""Decisions that last: a targeting key has the same action for a while.

Nothing is kept for it but the decision itself, whose id says whose it is. Time is cut into
windows as long as a decision lasts, and the id is a hash of (experiment, key, window, try). A
decision that lasts now was taken in this window or in the one before, so two ids are looked up,
and several servers agree without asking each other. If the action is no longer on offer, the next
try is taken.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from ensample.checks import check_label
from ensample.experiments import Experiment, NamedDecision

TRIES = 4
LOOK_BACK = 32  # windows


def sticky_id(experiment: str, key: str, window: int, attempt: int = 0) -> str:
    """Return the id of a decision.

    >>> sticky_id("shop", "ann", 7) == sticky_id("shop", "ann", 7) != sticky_id("shop", "ann", 8)
    True
    """
    words = f"{len(experiment)}:{experiment}{len(key)}:{key}{window}:{attempt}"
    return f"sticky-{hashlib.sha256(words.encode()).hexdigest()[:40]}"


def sticky_decision(
    experiment: Experiment, key: str, lasts: int, now: int | None = None, **question: Any
) -> NamedDecision:
    """Return the decision of a key, or take a new one.

    Ask it of the worker, so that nothing comes between.
    """
    check_label("targetingKey", key)
    time = experiment.now() if now is None else now
    window = time // lasts
    for earlier in (window - 1, window):
        for found in attempts(experiment, key, earlier):
            if found.time + lasts > time and found.action in experiment.actions:
                return found
    taken = sum(1 for _ in attempts(experiment, key, window))
    return experiment.decide(id=sticky_id(experiment.name, key, window, taken), **question)


def attempts(experiment: Experiment, key: str, window: int) -> Iterator[NamedDecision]:
    """Yield the decisions of a key in a window."""
    for attempt in range(TRIES):
        found = experiment.decision(sticky_id(experiment.name, key, window, attempt))
        if found is None:
            return
        yield found


def latest(
    experiment: Experiment, key: str, lasts: int, now: int | None = None
) -> NamedDecision | None:
    """Return the last decision of a key whose reward may still come."""
    check_label("targetingKey", key)
    time = experiment.now() if now is None else now
    wait = experiment.settings.reward.wait_microseconds or 0
    back = min(LOOK_BACK, 1 + -(-wait // lasts))
    for window in range(time // lasts, time // lasts - back - 1, -1):
        found = list(attempts(experiment, key, window))
        if found:
            return found[-1]
    return None
