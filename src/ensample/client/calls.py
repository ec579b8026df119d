"""The calls of the service, one function each: the request, and how its answer is read.

Whatever may be sent twice has an id: where none is given, it is made here, before the first
attempt.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import quote

from ensample.checks import check_label
from ensample.codec import describe
from ensample.errors import InvalidArgument, ServiceError, WrongType
from ensample.plain_data import plain

T = TypeVar("T")
Record = TypeVar("Record", bound=tuple[Any, ...])
LogFile = str | os.PathLike[str]
FORMATS = (".parquet", ".jsonl", ".dsjson")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Outcome = Literal["applied", "duplicate", "late", "unknown", "not_shown"]
"""What became of a reward: it counts; there is one already; the wait was over; there is no such
decision; another action was shown."""


class Decision(NamedTuple):
    """An action, and how likely it was. The fields are those of `ensample.NamedDecision`."""

    id: str
    action: str
    propensity: float | None
    propensities: dict[str, float] | None
    member: int | None
    drawn: str
    version: int
    time: int
    active: bool


class ExperimentView(NamedTuple):
    """An experiment as it is now."""

    name: str
    settings: dict[str, Any]
    actions: list[str]
    decisions: int
    version: int
    waiting: int
    outcomes: dict[str, int]
    events: int
    paused: bool


class EventOutcome(NamedTuple):
    """What became of an event, and the decision that it was the reward of."""

    outcome: Outcome
    id: str | None


class Explained(NamedTuple):
    """How a decision came about: votes, scores and features of the time."""

    id: str
    action: str
    drawn: str
    member: int
    version: int
    propensities: dict[str, float] | None
    votes: dict[str, float] | None
    scores: dict[str, float] | None
    features: dict[str, dict[str, float]]
    mixture: dict[str, Any]


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request and how its answer is read. `is_safe`: to send it twice is to send it once."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    content: bytes | None = None
    is_safe: bool = True


def experiments() -> Request[list[str]]:
    """Return the names of the experiments."""
    return Request("GET", "/v1/experiments", lambda answer: list(answer["experiments"]))


def experiment(name: str) -> Request[ExperimentView]:
    """Return an experiment as it is now."""
    return Request("GET", path_of(name), reader(ExperimentView))


def create(
    experiment: str,
    *,
    actions: Any = None,
    reward: Any = None,
    features: Any = None,
    recipe: Any = None,
    floor: float | None = None,
    baseline: tuple[str, float] | None = None,
    seed: int | None = None,
) -> Request[ExperimentView]:
    """Make an experiment; the same call again changes nothing, another is refused (409).

    Recipe, features and reward are objects of this library, or dicts such as
    {"kind": "EnsembleSampling", "size": 30}.
    """
    body = given(actions=actions, floor=floor, baseline=baseline, seed=seed)
    body |= given(features=described(features), recipe=described(recipe))
    if reward is not None:
        body["reward"] = plain("reward", described(reward))
        body["reward"].pop("kind", None)
    return Request("PUT", path_of(experiment), reader(ExperimentView), body)


def decide(
    experiment: str,
    context: Any = None,
    actions: Any = None,
    *,
    id: str | None = None,
    excluded: Iterable[str] | None = None,
    active: bool = True,
    dry_run: bool = False,
    targeting_key: str | None = None,
) -> Request[Decision]:
    """Choose an action. The arguments are those of `ensample.Experiment.decide`.

    With a `targeting_key` the decision lasts: whoever it stands for has the same action for a
    while.
    """
    names = list(excluded or ()) or None
    body = given(
        context=context, actions=actions, id=id, excluded=names, targetingKey=targeting_key
    )
    body |= {"active": active, "dry_run": dry_run}
    check_labels(body, "id", "targetingKey")
    return Request("POST", path_of(experiment, "decide"), read_decision, with_id(body))


def decide_all(
    experiment: str, questions: Iterable[Mapping[str, Any]]
) -> Request[list[Decision | ServiceError]]:
    """Make many decisions with one commit, of dicts with `context`, `actions`, `id` and so on.

    A question that is refused has its error as its answer.
    """
    body = [with_id(plain(f"questions[{place}]", item)) for place, item in enumerate(questions)]
    return Request("POST", path_of(experiment, "decide"), each(read_decision), body)


def reward(
    experiment: str,
    id: str | Decision,
    value: float,
    *,
    action: str | None = None,
    key: str | None = None,
) -> Request[Outcome]:
    """Send the reward of a decision; return what became of it.

    "duplicate" may be this very reward, where a first attempt arrived and its answer did not. Of
    rewards that are added up, each call is one of its own unless they have the same `key`.
    """
    body = given(value=value, action=action, key=key or new_id())
    check_labels(body, "action", "key")
    path = path_of(experiment, "decisions", id_of(id), "reward")
    return Request("POST", path, read_outcome, body)


def reward_all(
    experiment: str, rewards: Mapping[str, float] | Sequence[Mapping[str, Any]]
) -> Request[list[Outcome | ServiceError]]:
    """Send many rewards with one commit.

    They are a dict from ids to values, or dicts with `id`, `value`, `action` and `key`.
    """
    if isinstance(rewards, Mapping):
        rewards = [{"id": id, "value": value} for id, value in rewards.items()]
    items = [plain(f"rewards[{place}]", item) for place, item in enumerate(rewards)]
    body = [{"key": new_id()} | item for item in items]
    return Request("POST", path_of(experiment, "rewards"), each(read_outcome), body)


def activate(experiment: str, id: str | Decision) -> Request[Outcome]:
    """Say that a decision made with `active=False` was shown."""
    return Request("POST", path_of(experiment, "decisions", id_of(id), "activate"), read_outcome)


def activate_all(
    experiment: str, ids: Iterable[str | Decision]
) -> Request[list[Outcome | ServiceError]]:
    """Activate many decisions with one commit."""
    body = [{"id": id_of(id)} for id in ids]
    return Request("POST", path_of(experiment, "activations"), each(read_outcome), body)


def event(
    experiment: str,
    targeting_key: str,
    value: float = 1.0,
    *,
    event: str = "reward",
    key: str | None = None,
) -> Request[EventOutcome]:
    """Send the reward of the decision that a targeting key has."""
    body: dict[str, Any] = {"experiment": experiment, "targetingKey": targeting_key, "event": event}
    body |= {"value": value, "key": key or new_id()}
    check_labels(body, "experiment", "targetingKey", "key")
    return Request("POST", "/v1/events", reader(EventOutcome), plain("event", body))


def explain(experiment: str, id: str | Decision) -> Request[Explained]:
    """Return how a decision came about: votes, scores and features of the time."""
    return Request("GET", path_of(experiment, "decisions", id_of(id)), reader(Explained))


def change(
    experiment: str, *, add: Any = None, remove: Iterable[str] | None = None
) -> Request[ExperimentView]:
    """Add and remove actions."""
    body = given(add=add, remove=None if remove is None else list(remove))
    return Request("POST", path_of(experiment, "actions"), reader(ExperimentView), body)


def pause(experiment: str, paused: bool = True) -> Request[ExperimentView]:
    """Decide nothing for a while, or again; rewards are taken all the time."""
    return Request("POST", path_of(experiment, "pause"), reader(ExperimentView), {"paused": paused})


def evaluate(
    experiment: str, policies: Sequence[Any], **more: Any
) -> Request[list[dict[str, Any]]]:
    """Return what other policies would have earned on the log.

    They are "uniform", "logged", "action:NAME" or recipes.
    """
    targets = [policy if isinstance(policy, str) else described(policy) for policy in policies]
    body = plain("evaluate", {"policies": targets, **more})
    path = path_of(experiment, "evaluate")
    return Request("POST", path, lambda answer: list(answer["evaluations"]), body)


def learn(experiment: str, path: LogFile) -> Request[int]:
    """Learn the rewards of a log from elsewhere, .parquet, .jsonl or .dsjson; return how many.

    What is sent twice is learned twice.
    """
    address = log(experiment, path).path
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        expected = f"a file that can be read ({error.strerror})"
        raise InvalidArgument("path", os.fspath(path), expected) from None
    read = lambda answer: int(answer["learned"])  # noqa: E731
    return Request("POST", address, read, content=content, is_safe=False)


def log(experiment: str, path: LogFile) -> Request[None]:
    """Return the log in the format that the file's name says."""
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise InvalidArgument("path", os.fspath(path), "a file .parquet, .jsonl or .dsjson")
    return Request("GET", f"{path_of(experiment, 'log')}?format={suffix[1:]}", lambda _: None)


def path_of(experiment: str, *parts: str) -> str:
    """Return the path of something of an experiment; no sign of a name is one of the address.

    >>> path_of("shop", "decisions", "visit/1", "reward")
    '/v1/experiments/shop/decisions/visit%2F1/reward'
    """
    if not isinstance(experiment, str) or not experiment:
        raise WrongType("experiment", experiment, "the name of an experiment")
    check_label("experiment", experiment)
    quoted = [quote(part, safe="") for part in (experiment, *parts)]
    dots = [part.replace(".", "%2E") if set(part) == {"."} else part for part in quoted]
    return "/".join(("/v1/experiments", *dots))


def id_of(id: str | Decision) -> str:
    text = id.id if hasattr(id, "id") else id
    if not isinstance(text, str) or not text:
        raise WrongType("id", id, "a decision or its id")
    check_label("id", text)
    return text


def check_labels(body: dict[str, Any], *names: str) -> None:
    """Raise if one of these fields is a text with control characters."""
    for name in names:
        if isinstance(body.get(name), str):  # the service refuses other types
            check_label(name, body[name])


def new_id() -> str:
    return secrets.token_hex(16)


def with_id(body: dict[str, Any]) -> dict[str, Any]:
    """Return a question that can be sent again."""
    has_id = body.get("id") is not None or body.get("targetingKey") is not None
    return body if has_id else body | {"id": new_id()}


def given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not None, as plain data."""
    return {name: plain(name, value) for name, value in arguments.items() if value is not None}


def described(value: Any) -> Any:
    """Return an object of this library as JSON has it."""
    return value if value is None or isinstance(value, Mapping) else describe(value)


def reader(kind: type[Record]) -> Callable[[Any], Record]:
    """Return a function that reads an answer; fields that a later service may add are left out.

    >>> reader(EventOutcome)({"outcome": "applied", "id": "q1", "more": 1})
    EventOutcome(outcome='applied', id='q1')
    """
    names = kind._fields  # type: ignore[attr-defined]
    return lambda answer: kind(*(answer[name] for name in names))


def read_decision(answer: Any) -> Decision:
    """Return a decision, whose time is sent as text (ISO 8601) and kept in microseconds."""
    time = datetime.fromisoformat(answer["time"])
    return reader(Decision)(answer | {"time": (time - EPOCH) // timedelta(microseconds=1)})


def read_outcome(answer: Any) -> Outcome:
    found: Outcome = answer["outcome"]
    return found


def each(read: Callable[[Any], T]) -> "Callable[[Any], list[T | ServiceError]]":
    """Return a function that reads the answers of a batch."""
    return lambda answers: [
        refusal(422, item) if "error" in item else read(item) for item in answers
    ]


def refusal(status: int, answer: Any) -> ServiceError:
    error = answer["error"]
    return ServiceError(status, error["code"], error["message"], error.get("argument"))
