"""Decisions that last: whoever a targeting key stands for has the same action for a while.

Nothing is kept for it but the decision itself, whose id says whose it is: time is cut into windows as long as a decision lasts,
and the id is a hash of (experiment, key, window, try). A decision that lasts now was taken in this window or in the one before,
so that two ids are to be looked up; and several servers agree without asking each other. Where the action is no longer on offer
the next try is taken.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from ensample.checks import check_label
from ensample.experiments import Experiment, NamedDecision

TRIES = 4
LOOK_BACK = 32  # windows


def sticky_id(experiment: str, key: str, window: int, attempt: int = 0) -> str:
    """
    >>> sticky_id("shop", "ann", 7) == sticky_id("shop", "ann", 7) != sticky_id("shop", "ann", 8)
    True
    """
    words = f"{len(experiment)}:{experiment}{len(key)}:{key}{window}:{attempt}"
    return f"sticky-{hashlib.sha256(words.encode()).hexdigest()[:40]}"


def sticky_decision(
    experiment: Experiment, key: str, stays: int, now: int | None = None, **question: Any
) -> NamedDecision:
    """The decision of this key, or a new one; within a question to the experiment, so that nothing comes between."""
    check_label("targetingKey", key)
    time = experiment.now() if now is None else now
    window = time // stays
    for earlier in (window - 1, window):
        for found in tried(experiment, key, earlier):
            if found.time + stays > time and found.action in experiment.actions:
                return found
    taken = sum(1 for _ in tried(experiment, key, window))
    return experiment.decide(id=sticky_id(experiment.name, key, window, taken), **question)


def tried(experiment: Experiment, key: str, window: int) -> Iterator[NamedDecision]:
    for attempt in range(TRIES):
        found = experiment.decision(sticky_id(experiment.name, key, window, attempt))
        if found is None:
            return
        yield found


def latest(
    experiment: Experiment, key: str, stays: int, now: int | None = None
) -> NamedDecision | None:
    """The last decision of a key whose reward may still come."""
    check_label("targetingKey", key)
    time = experiment.now() if now is None else now
    wait = experiment.settings.reward.wait_microseconds or 0
    back = min(LOOK_BACK, 1 + -(-wait // stays))
    for window in range(time // stays, time // stays - back - 1, -1):
        found = list(tried(experiment, key, window))
        if found:
            return found[-1]
    return None
