"""The log of an experiment from its events, piece by piece.

They are read twice: first for what became of each decision, which may be known long after it, then for the decisions
themselves. So no more is held at once than a piece of rows, and some two hundred bytes for each decision.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ensample.experiments.actions import Actions
from ensample.experiments.events import Changed, Decided, Event
from ensample.experiments.fates import Fates
from ensample.experiments.log import LOG_VERSION, Row, compact, frame_of
from ensample.experiments.settings import Settings
from ensample.experiments.state import merged

if TYPE_CHECKING:
    import polars


PIECE = 20_000  # rows


def log_frames(
    settings: Settings, read: Callable[[], Iterable[Event]], now: int | None
) -> "Iterator[polars.DataFrame]":
    """Yield the log as of `now` as frames, at least one; `read` gives the same events each time."""
    rows: list[Row] = []
    pieces = 0
    for row in log_rows(settings, read, now):
        rows.append(row)
        if len(rows) == PIECE:
            yield frame_of(rows)
            rows, pieces = [], pieces + 1
    if rows or not pieces:
        yield frame_of(rows)


def log_rows(
    settings: Settings, read: Callable[[], Iterable[Event]], now: int | None = None
) -> Iterator[Row]:
    """Yield a row for each decision as it is at `now`; None: as the events leave it."""
    fates = Fates(settings)
    for event in read():
        fates.enter(event)
    if now is not None:
        fates.settle(now)
    actions: Actions = dict(settings.actions or {})
    number = 0
    for event in read():
        if isinstance(event, Changed):
            actions = {
                name: features for name, features in actions.items() if name not in event.removed
            } | event.added
        elif isinstance(event, Decided):
            yield decided_row(settings, actions, event) | fates[number]._asdict()
            number += 1


def decided_row(settings: Settings, actions: Actions, event: Decided) -> Row:
    """What is known of a decision when it is taken."""
    names, baseline, known = event.offer, settings.baseline, event.propensities
    moment = event.features or {}
    features = {name: merged(actions.get(name), moment.get(name)) for name in names}
    held = baseline if baseline is not None and baseline[0] in names else None
    bounds = (
        (settings.reward.low, settings.reward.high)
        if settings.reward.rule == "first"
        else (None, None)
    )
    return {
        "log_version": LOG_VERSION,
        "id": event.id,
        "time": event.time,
        "experiment": settings.name,
        "policy_version": event.version,
        "round": event.round,
        "context": compact(event.context),
        "offer": list(names),
        "features": compact(features)
        if any(item is not None for item in features.values())
        else None,
        "action": event.action,
        "propensity": None if known is None else known[names.index(event.action)],
        "propensities": None if known is None else list(known),
        "member": event.member,
        "drawn": event.drawn,
        "floor": settings.floor,
        "baseline": None if held is None else held[0],
        "share": 0.0 if held is None else held[1],
        "reward_low": bounds[0],
        "reward_high": bounds[1],
    }
