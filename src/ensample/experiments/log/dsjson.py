"""dsjson, the log format of Vowpal Wabbit and of Azure Personalizer, both ways.

A line is a decision, its keys in this order: `_label_cost` (minus the reward), `_label_probability`, `_label_Action` (from 1),
`_labelIndex` (from 0), `o` (outcomes), `Timestamp`, `Version`, `EventId`, `a` (the actions by number from 1, the chosen one
first), `c` (what was known, with the actions in `_multi`), `p` (the propensities in the order of `a`), `VWState`. Decisions
that were never shown have no line, and lines that say so (`_skipLearn`) are passed over, as are those that say something of
of a decision elsewhere by its `EventId`: a reward that came too late, that it was shown. Any other line is none of dsjson.

Rewards that came after the wait are in `_lateRewards`, a key of our own that VW passes over: [{"v": value, "t": time}, ...].

Ours has the context in the namespace `Context` and each action, with its name as `_tag`, in `Action`, so that `-q CA`
crosses them. VW has no lists of words: `"tags": ["tennis"]` is written `"tags[]": {"tennis": true}`, and read back. Others'
lines are read too: an action without a tag is called by its id or name or, without these, by its number.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.experiments.log.table import (
    EPOCH,
    LOG_VERSION,
    Row,
    compact,
    frame_of,
    lines_of,
    readable,
)
from ensample.files import write_whole

if TYPE_CHECKING:
    import polars


CONTEXT, ACTION, VALUES, LIST = "Context", "Action", "values", "[]"
SHOWN = 10  # keys of a line that is something else


def write_dsjson(frames: "Iterable[polars.DataFrame]", path: str | os.PathLike[str]) -> int:
    """Write a log, complete or not at all; how many decisions it has: those that were shown, with their propensities."""
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for frame in frames:
            for row in frame.iter_rows(named=True):
                if (line := dsjson_line(row)) is not None:
                    file.write(f"{line}\n".encode())
                    count += 1

    write_whole(file_path("path", path), write)
    return count


def dsjson_line(row: Row) -> str | None:
    """A row of the log as a line; None for a decision that was not shown, or whose propensities are not known."""
    if not row["active"] or row["propensities"] is None:
        return None
    names, features = row["offer"], json.loads(row["features"] or "{}")
    first = names.index(row["action"])
    order = [first, *(place for place in range(len(names)) if place != first)]
    reward, late = row["reward"], row.get("late_rewards")
    return compact(
        {
            "_label_cost": 0 if reward is None else -reward,
            "_label_probability": row["propensities"][first],
            "_label_Action": first + 1,
            "_labelIndex": first,
            "o": [] if reward is None else [{"v": reward}],
            "Timestamp": as_text(row["time"]),
            "Version": "1",
            "EventId": row["id"],
            "a": [place + 1 for place in order],
            "c": {
                CONTEXT: as_namespace(json.loads(row["context"])),
                "_multi": [
                    {"_tag": name, ACTION: {"name": name} | worded(features.get(name) or {})}
                    for name in names
                ],
            },
            "p": [row["propensities"][place] for place in order],
            "VWState": {"m": f"{row['experiment']}/{row['policy_version']}"},
        }
        | (
            {"_lateRewards": [{"v": each["value"], "t": as_text(each["time"])} for each in late]}
            if late
            else {}
        )
    )


def as_text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_namespace(context: Any) -> Any:
    """VW knows objects only."""
    return (
        worded(context)
        if isinstance(context, dict)
        else {}
        if context is None
        else worded({VALUES: context})
    )


def worded(known: dict[str, Any]) -> dict[str, Any]:
    """With lists of words as objects.

    >>> worded({"tags": ["tennis", "tea"], "sizes": [1, 2]})
    {'tags[]': {'tennis': True, 'tea': True}, 'sizes': [1, 2]}
    """
    found: dict[str, Any] = {}
    for name, value in known.items():
        if isinstance(value, list) and any(isinstance(item, str) for item in value):
            found[f"{name}{LIST}"] = {str(item): True for item in value}
        else:
            found[name] = worded(value) if isinstance(value, dict) else value
    return found


def unworded(known: Any) -> Any:
    """The inverse of `worded`, but for words that stood twice."""
    if not isinstance(known, dict):
        return known
    return {
        name.removesuffix(LIST): list(value)
        if name.endswith(LIST) and isinstance(value, dict)
        else unworded(value)
        for name, value in known.items()
    }


def read_dsjson(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """A file of dsjson as a log; a line about a decision elsewhere (a dangling reward), or not shown, is passed over.

    >>> import ensample as es, tempfile
    >>> experiment = es.Experiment("news", actions=["sport", "culture"])
    >>> experiment.reward(experiment.decide({"age": 31, "tags": ["tea"]}), 1)
    'applied'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     experiment.to_dsjson(f"{folder}/log.dsjson")
    ...     es.read_dsjson(f"{folder}/log.dsjson")["reward"].to_list()
    1
    [1.0]
    """
    file = file_path("path", path)
    if not file.is_file():
        raise InvalidArgument("path", os.fspath(path), "a file of dsjson")
    with readable(path, "a file of dsjson"):
        with lines_of(file) as lines:
            found = [row_of(path, number, line) for number, line in enumerate(lines, 1)]
        rows = [row for row in found if row is not None]
        if found and not rows:
            said = f"at least one decision that was shown; all {len(found):,} lines are of decisions elsewhere or not shown"
            raise InvalidArgument("path", os.fspath(path), said)
        return frame_of(rows)


def row_of(path: object, number: int, line: str) -> Row | None:
    """A line as a row of the log; None where it is passed over."""
    try:
        event = json.loads(line)
        if not isinstance(event, dict):
            raise ValueError(f"{line[:60].strip()}: expected an object")
        if "c" not in event and "EventId" not in event:
            keys = ", ".join(list(event)[:SHOWN]) or "no key"
            raise ValueError(f"it has {keys}; expected a decision, with c, a, p and EventId")
        return None if "c" not in event or event.get("_skipLearn") is True else as_row(event)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        said = f"lines of dsjson; line {number}: {type(error).__name__}: {error}"
        raise InvalidArgument("path", os.fspath(path), said) from None  # type: ignore[call-overload]


def as_row(event: dict[str, Any]) -> Row:
    actions = event["c"]["_multi"]
    names = list(names_of(actions))
    places = [int(action) - 1 for action in event["a"]]
    shares = dict(zip(places, map(float, event["p"]), strict=True))
    if sorted(places) != list(range(len(names))):
        raise ValueError(f"a = {event['a']}: expected the numbers 1 to {len(names)}")
    chosen = int(event.get("_label_Action", event["a"][0])) - 1
    outcomes = [
        float(outcome["v"])
        for outcome in event.get("o", [])
        if isinstance(outcome.get("v"), int | float)
    ]
    reward = sum(outcomes) if "o" in event and outcomes else own_reward(event)
    version = str(event.get("VWState", {}).get("m", "")).rpartition("/")
    late = [
        {"value": float(each["v"]), "time": microseconds(each["t"])}
        for each in event.get("_lateRewards", [])
    ]
    return {
        "log_version": LOG_VERSION,
        "id": str(event["EventId"]),
        "time": microseconds(event["Timestamp"]),
        "experiment": version[0],
        "policy_version": int(version[2]) if version[2].isdecimal() else 0,
        "round": 0,
        "context": compact(context_of(event["c"])),
        "offer": names,
        "features": compact(features)
        if any((features := features_of(names, actions)).values())
        else None,
        "action": names[chosen],
        "propensity": shares[chosen],
        "propensities": [shares[place] for place in range(len(names))],
        "member": None,
        "drawn": "policy",
        "floor": 0.0,
        "baseline": None,
        "share": 0.0,
        "active": True,
        "reward": reward,
        "outcome": "waiting" if reward is None else "applied",
        "reward_time": None,
        "duplicate": 0,
        "late": len(late),
        "not_shown": 0,
        "reward_low": None,
        "reward_high": None,
        "late_rewards": late,
    }


def own_reward(event: dict[str, Any]) -> float | None:
    """Of a line without outcomes: minus its cost, if that says anything."""
    cost = event.get("_label_cost")
    if cost is None or "o" in event:
        return None
    if not math.isfinite(cost):
        raise ValueError(f"_label_cost = {cost}")
    return -float(cost)


def names_of(actions: list[dict[str, Any]]) -> Iterator[str]:
    """The name of each action; a second one of the same name gets its number."""
    taken: set[str] = set()
    for number, action in enumerate(actions, 1):
        inner: Any = action.get(ACTION)
        inner = inner if isinstance(inner, dict) else {}
        named = (
            action.get("_tag"),
            inner.get("name"),
            inner.get("id"),
            action.get("id"),
            action.get("name"),
        )
        name = next(
            (str(name) for name in named if isinstance(name, str | int) and name != ""), str(number)
        )
        name = f"{name} {number}" if name in taken else name
        taken.add(name)
        yield name


def features_of(names: list[str], actions: list[dict[str, Any]]) -> dict[str, Any]:
    """What is known of each action but its name; None for nothing."""
    found: dict[str, Any] = {}
    for name, action in zip(names, actions, strict=True):
        plain = action[ACTION] if set(action) == {"_tag", ACTION} else action
        known = {
            key: value
            for key, value in plain.items()
            if key != "_tag" and (key, value) != ("name", name)
        }
        found[name] = unworded(known) or None
    return found


def context_of(known: dict[str, Any]) -> Any:
    """What was known but the actions; ours is as it was given."""
    rest = {key: value for key, value in known.items() if key != "_multi"}
    if set(rest) != {CONTEXT}:
        return rest
    known = unworded(rest[CONTEXT])
    return known[VALUES] if set(known) == {VALUES} else known


def microseconds(text: str) -> int:
    """Of a time such as 2026-11-17T04:19:46.1234567Z; digits beyond the sixth are dropped."""
    time = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    return round(
        ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH).total_seconds() * 1_000_000
    )
