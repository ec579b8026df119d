"""Events of an experiment, in order. Its state is a fold of them, and so is its log.

Times are whole microseconds since 1970. As JSON an event is an object with its fields and its kind.
"""

import json
from typing import Any, NamedTuple

from ensample.errors import SnapshotError
from ensample.plain_data import PlainDict


class Created(NamedTuple):
    """The first event: what the experiment is."""

    time: int
    settings: dict[str, Any]
    numbers: int  # `LIVE_NUMBERS` of the recipe's family: others come to another state
    migrated: int = (
        0  # the first events, which an earlier version recorded: its decisions are facts
    )


class Decided(NamedTuple):
    """An action was chosen."""

    id: str
    time: int
    context: Any
    offer: list[str]  # names of the actions on offer
    features: dict[str, PlainDict | None] | None  # of the moment, for those that brought some
    action: str
    propensities: list[float] | None  # of all on offer; None where the recipe does not know them
    member: int | None  # that acted; None where chance or the baseline did
    drawn: str  # "policy", "floor" or "baseline"
    version: int  # the number of rewards learned
    round: int
    active: bool  # False: it counts once it is activated
    narrowed: bool = False  # whether the actions on offer were named, or some excluded


class Activated(NamedTuple):
    """A decision was shown after all."""

    id: str
    time: int
    outcome: str


class Rewarded(NamedTuple):
    """A reward came, and what became of it."""

    id: str
    time: int
    value: float
    action: str | None  # that it was for, where that was said
    key: str | None  # by which a reward that is sent twice is known
    outcome: str


class Expired(NamedTuple):
    """The wait of decisions is over: of all that are due, or of the first `most` of them."""

    time: int
    most: int | None


class Changed(NamedTuple):
    """Actions came and went."""

    time: int
    added: dict[str, PlainDict | None]
    removed: list[str]


class Learned(NamedTuple):
    """Rewards from elsewhere: [context, action, the action's features, reward] each."""

    time: int
    rows: list[list[Any]]


Event = Created | Decided | Activated | Rewarded | Expired | Changed | Learned

KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Created, Decided, Activated, Rewarded, Expired, Changed, Learned)
}
KIND = {kind: name for name, kind in KINDS.items()}
FIELDS: dict[type[Any], tuple[str, ...]] = {kind: ("kind", *kind._fields) for kind in KIND}
encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def to_json(event: Event) -> str:
    """One line.

    >>> to_json(Expired(17, None))
    '{"kind":"expired","time":17,"most":null}'
    """
    kind = type(event)
    return encode(dict(zip(FIELDS[kind], (KIND[kind], *event), strict=True)))


def from_json(text: str | bytes) -> Event:
    """The inverse of `to_json`; for what was written by it."""
    fields = json.loads(text)
    try:
        event: Event = KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError) as error:
        raise SnapshotError(
            f"an event that this version does not know ({error}): update ensample"
        ) from error
    return event
