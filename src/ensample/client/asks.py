"""The calls of the service, one function each: what is sent, and how the answer is read. `Client` and `AsyncClient` send them.

Whatever may be sent twice has an id: where none is given, it is made here, once, before the first attempt.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ensample.checks import check_label
from ensample.client.answers import (
    Decision,
    EventOutcome,
    ExperimentView,
    Explained,
    Outcome,
    reading,
    reading_decision,
)
from ensample.codec import describe
from ensample.errors import InvalidArgument, ServiceError, WrongType
from ensample.plain_data import plain

T = TypeVar("T")
Items = list[dict[str, Any]]
FORMATS = ("parquet", "jsonl", "dsjson")


@dataclass(frozen=True)
class Ask(Generic[T]):
    """A call. `safe`: to send it twice is to send it once."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    content: bytes | None = None
    safe: bool = True


def experiments() -> Ask[list[str]]:
    """The names of the experiments."""
    return Ask("GET", "/v1/experiments", lambda answer: list(answer["experiments"]))


def experiment(name: str) -> Ask[ExperimentView]:
    """An experiment as it is now."""
    return Ask("GET", of(name), reading(ExperimentView))


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
) -> Ask[ExperimentView]:
    """Make an experiment; the same call again changes nothing, another is refused (409).

    Recipe, features and reward are objects of this library, or dicts such as {"kind": "EnsembleSampling", "size": 30}.
    """
    body = given(actions=actions, floor=floor, baseline=baseline, seed=seed)
    body |= given(reward=described(reward), features=described(features), recipe=described(recipe))
    if reward is not None:
        body["reward"].pop("kind", None)
    return Ask("PUT", of(experiment), reading(ExperimentView), body)


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
) -> Ask[Decision]:
    """Choose an action. The arguments are those of `ensample.Experiment.decide`.

    With a `targeting_key` the decision lasts: whoever it stands for has the same action for a while.
    """
    body = given(
        context=None if context is None else plain("context", context),
        actions=actions,
        id=id,
        excluded=list(excluded or ()) or None,
        targetingKey=targeting_key,
    )
    body |= {"active": active, "dry_run": dry_run}
    check_labels(body, "id", "targetingKey")
    return Ask("POST", of(experiment, "decide"), reading_decision, with_id(body))


def decide_all(
    experiment: str, questions: Iterable[Mapping[str, Any]]
) -> Ask[list[Decision | ServiceError]]:
    """Many decisions with one commit: dicts with `context`, `actions`, `id` and the other words of the API.

    A question that is refused has its error as its answer.
    """
    body = [with_id(plain(f"questions[{place}]", item)) for place, item in enumerate(questions)]
    return Ask("POST", of(experiment, "decide"), each(reading_decision), body)


def reward(
    experiment: str,
    id: str | Decision,
    value: float,
    *,
    action: str | None = None,
    key: str | None = None,
) -> Ask[Outcome]:
    """The reward of a decision, and what became of it.

    "duplicate" may be this very reward, where a first attempt arrived and its answer did not. Of rewards that are added up,
    each call is one of its own unless they have the same `key`.
    """
    body = given(value=value, action=action, key=key or new_id())
    check_labels(body, "action", "key")
    return Ask("POST", of(experiment, "decisions", known(id), "reward"), outcome, body)


def reward_all(
    experiment: str, rewards: Mapping[str, float] | Sequence[Mapping[str, Any]]
) -> Ask[list[Outcome | ServiceError]]:
    """Many rewards with one commit: a dict from ids to values, or dicts with `id`, `value`, `action` and `key`."""
    items: Any = (
        [{"id": id, "value": value} for id, value in rewards.items()]
        if isinstance(rewards, Mapping)
        else rewards
    )
    body = [
        {"key": new_id()} | plain(f"rewards[{place}]", item) for place, item in enumerate(items)
    ]
    return Ask("POST", of(experiment, "rewards"), each(outcome), body)


def activate(experiment: str, id: str | Decision) -> Ask[Outcome]:
    """A decision that was made with `active=False` was shown."""
    return Ask("POST", of(experiment, "decisions", known(id), "activate"), outcome)


def activate_all(
    experiment: str, ids: Iterable[str | Decision]
) -> Ask[list[Outcome | ServiceError]]:
    """Many activations with one commit."""
    return Ask(
        "POST", of(experiment, "activations"), each(outcome), [{"id": known(id)} for id in ids]
    )


def event(
    experiment: str,
    targeting_key: str,
    value: float = 1.0,
    *,
    event: str = "reward",
    key: str | None = None,
) -> Ask[EventOutcome]:
    """The reward of the decision that a targeting key has."""
    body = {
        "experiment": experiment,
        "targetingKey": targeting_key,
        "event": event,
        "value": value,
        "key": key or new_id(),
    }
    check_labels(body, "experiment", "targetingKey", "key")
    return Ask("POST", "/v1/events", reading(EventOutcome), plain("event", body))


def explain(experiment: str, id: str | Decision) -> Ask[Explained]:
    """How a decision came about: votes, scores and features of the time."""
    return Ask("GET", of(experiment, "decisions", known(id)), reading(Explained))


def change(
    experiment: str, *, add: Any = None, remove: Iterable[str] | None = None
) -> Ask[ExperimentView]:
    """Actions come and go."""
    body = given(add=add, remove=None if remove is None else list(remove))
    return Ask("POST", of(experiment, "actions"), reading(ExperimentView), body)


def pause(experiment: str, paused: bool = True) -> Ask[ExperimentView]:
    """Decide nothing for a while, or again; rewards are taken all the time."""
    return Ask("POST", of(experiment, "pause"), reading(ExperimentView), {"paused": paused})


def evaluate(experiment: str, policies: Sequence[Any], **more: Any) -> Ask[list[dict[str, Any]]]:
    """What other policies would have earned on the log: "uniform", "logged", "action:NAME" or recipes."""
    asked = [policy if isinstance(policy, str) else described(policy) for policy in policies]
    body = plain("evaluate", {"policies": asked, **more})
    return Ask("POST", of(experiment, "evaluate"), lambda answer: list(answer["evaluations"]), body)


def learn(experiment: str, path: "str | os.PathLike[str]") -> Ask[int]:
    """Learn the rewards of a log from elsewhere, .parquet, .jsonl or .dsjson; how many. Twice learns twice."""
    address = log(experiment, path).path
    return Ask(
        "POST", address, lambda answer: int(answer["learned"]), content=content_of(path), safe=False
    )


def log(experiment: str, path: "str | os.PathLike[str]") -> Ask[None]:
    """The log, in the format that the file's name says."""
    return Ask("GET", f"{of(experiment, 'log')}?format={format_of(path)}", lambda _: None)


def of(experiment: str, *parts: str) -> str:
    """The address of something of an experiment.

    >>> of("shop", "decisions", "visit/1", "reward")
    '/v1/experiments/shop/decisions/visit%2F1/reward'
    """
    if not isinstance(experiment, str) or not experiment:
        raise WrongType("experiment", experiment, "the name of an experiment")
    check_label("experiment", experiment)
    return "/".join(("/v1/experiments", *map(quoted, (experiment, *parts))))


def quoted(text: str) -> str:
    """Nothing in it is a sign of the address; a text of dots would be one."""
    return quote(text, safe="").replace(".", "%2E") if set(text) == {"."} else quote(text, safe="")


def known(id: str | Decision) -> str:
    """The id of a decision."""
    text = id.id if hasattr(id, "id") else id
    if not isinstance(text, str) or not text:
        raise WrongType("id", id, "a decision or its id")
    check_label("id", text)
    return text


def check_labels(body: dict[str, Any], *names: str) -> None:
    """Raise if one of these fields is a text with control characters; the service refuses fields of other types."""
    for name in names:
        if isinstance(body.get(name), str):
            check_label(name, body[name])


def new_id() -> str:
    return secrets.token_hex(16)


def with_id(body: dict[str, Any]) -> dict[str, Any]:
    """A question that can be asked again."""
    return (
        body
        if body.get("id") is not None or body.get("targetingKey") is not None
        else body | {"id": new_id()}
    )


def given(**arguments: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: plain(name, value) for name, value in arguments.items() if value is not None}


def described(value: Any) -> Any:
    """An object of this library as JSON has it."""
    if value is None or isinstance(value, Mapping):
        return value
    return describe(value)


def format_of(path: "str | os.PathLike[str]") -> str:
    """
    >>> format_of("shop.parquet")
    'parquet'
    """
    found = Path(path).suffix.removeprefix(".")
    if found not in FORMATS:
        raise InvalidArgument("path", os.fspath(path), "a file .parquet, .jsonl or .dsjson")
    return found


def content_of(path: "str | os.PathLike[str]") -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidArgument(
            "path", os.fspath(path), f"a file that can be read ({error.strerror})"
        ) from None


def outcome(answer: Any) -> Outcome:
    found: Outcome = answer["outcome"]
    return found


def each(read: Callable[[Any], T]) -> "Callable[[Any], list[T | ServiceError]]":
    """Of a batch."""
    return lambda answers: [
        refusal(422, item) if "error" in item else read(item) for item in answers
    ]


def refusal(status: int, answer: Any) -> ServiceError:
    error = answer["error"]
    return ServiceError(status, error["code"], error["message"], error.get("argument"))
