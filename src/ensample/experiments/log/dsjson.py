"""dsjson, the log format of Vowpal Wabbit and of Azure Personalizer, both ways.

A line is a decision, its keys in this order: `_label_cost` (minus the reward),
`_label_probability`, `_label_Action` (from 1), `_labelIndex` (from 0), `o` (outcomes), `Timestamp`,
`Version`, `EventId`, `a` (the actions by number from 1, the chosen one first), `c` (what was known,
with the actions in `_multi`), `p` (the propensities in the order of `a`), `VWState`. Decisions that
were never shown have no line. Skipped are lines that say so (`_skipLearn`), and those about a
decision elsewhere, by its `EventId`: a reward that came too late, that it was shown. Any other line
is none of dsjson.

Rewards that came after the wait are in `_lateRewards`, a key of our own that VW skips:
[{"v": value, "t": time}, ...].

Ours has the context in the namespace `Context` and each action, with its name as `_tag`, in
`Action`, so that `-q CA` crosses them. VW has no lists of words: `"tags": ["tennis"]` is written
`"tags[]": {"tennis": true}`, and read back. Others' lines are read too: an action without a tag is
called by its id or name or, without these, by its number.
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
    MICROSECOND,
    Row,
    compact,
    existing_file,
    frame_of,
    lines_of,
    readable,
)
from ensample.files import write_whole

if TYPE_CHECKING:
    import polars

CONTEXT, ACTION, VALUES, LIST = "Context", "Action", "values", "[]"
SHOWN = 10  # keys of a line that is something else
UNKNOWN = {  # columns that lines do not have
    "log_version": LOG_VERSION,
    "round": 0,
    "member": None,
    "drawn": "policy",
    "floor": 0.0,
    "baseline": None,
    "share": 0.0,
    "active": True,
    "reward_time": None,
    "duplicate": 0,
    "not_shown": 0,
    "reward_low": None,
    "reward_high": None,
}


def write_dsjson(frames: "Iterable[polars.DataFrame]", path: str | os.PathLike[str]) -> int:
    """Write the decisions that were shown, with their propensities; return how many there are."""
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
    """Return a row of the log as a line; None if it was not shown, or propensities are unknown."""
    if not row["active"] or row["propensities"] is None:
        return None
    names, features = row["offer"], json.loads(row["features"] or "{}")
    first = names.index(row["action"])
    order = [first, *(place for place in range(len(names)) if place != first)]
    reward, late = row["reward"], row.get("late_rewards")
    actions = [
        {"_tag": name, ACTION: {"name": name} | words_as_dicts(features.get(name) or {})}
        for name in names
    ]
    line = {
        "_label_cost": 0 if reward is None else -reward,
        "_label_probability": row["propensities"][first],
        "_label_Action": first + 1,
        "_labelIndex": first,
        "o": [] if reward is None else [{"v": reward}],
        "Timestamp": timestamp(row["time"]),
        "Version": "1",
        "EventId": row["id"],
        "a": [place + 1 for place in order],
        "c": {CONTEXT: as_namespace(json.loads(row["context"])), "_multi": actions},
        "p": [row["propensities"][place] for place in order],
        "VWState": {"m": f"{row['experiment']}/{row['policy_version']}"},
    }
    if late:
        line["_lateRewards"] = [{"v": each["value"], "t": timestamp(each["time"])} for each in late]
    return compact(line)


def timestamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_namespace(context: Any) -> Any:
    """Return a context as an object: VW knows nothing else."""
    if context is None:
        return {}
    return words_as_dicts(context if isinstance(context, dict) else {VALUES: context})


def words_as_dicts(known: dict[str, Any]) -> dict[str, Any]:
    """Write lists of words as objects.

    >>> words_as_dicts({"tags": ["tennis", "tea"], "sizes": [1, 2]})
    {'tags[]': {'tennis': True, 'tea': True}, 'sizes': [1, 2]}
    """
    found: dict[str, Any] = {}
    for name, value in known.items():
        if isinstance(value, list) and any(isinstance(item, str) for item in value):
            found[f"{name}{LIST}"] = {str(item): True for item in value}
        else:
            found[name] = words_as_dicts(value) if isinstance(value, dict) else value
    return found


def words_as_lists(known: Any) -> Any:
    """Do the inverse of `words_as_dicts`, but for words that stood twice."""
    if not isinstance(known, dict):
        return known
    found = {}
    for name, value in known.items():
        is_list = name.endswith(LIST) and isinstance(value, dict)
        found[name.removesuffix(LIST)] = list(value) if is_list else words_as_lists(value)
    return found


def read_dsjson(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Read a file of dsjson as a log. Lines about a decision elsewhere, or not shown, are skipped.

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
    file = existing_file(path, "a file of dsjson")
    with readable(path, "a file of dsjson"):
        with lines_of(file) as lines:
            found = [row_of(path, number, line) for number, line in enumerate(lines, 1)]
        rows = [row for row in found if row is not None]
        if found and not rows:
            of = f"all {len(found):,} lines are of decisions elsewhere or not shown"
            expected = f"at least one decision that was shown; {of}"
            raise InvalidArgument("path", os.fspath(path), expected)
        return frame_of(rows)


def row_of(path: str | os.PathLike[str], number: int, line: str) -> Row | None:
    """Return a line as a row of the log; None if it is skipped."""
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
        raise InvalidArgument("path", os.fspath(path), said) from None


def as_row(event: dict[str, Any]) -> Row:
    actions = event["c"]["_multi"]
    names = list(names_of(actions))
    places = [int(action) - 1 for action in event["a"]]
    shares = dict(zip(places, map(float, event["p"]), strict=True))
    if sorted(places) != list(range(len(names))):
        raise ValueError(f"a = {event['a']}: expected the numbers 1 to {len(names)}")
    chosen = int(event.get("_label_Action", event["a"][0])) - 1
    experiment, _, version = str(event.get("VWState", {}).get("m", "")).rpartition("/")
    features, reward = features_of(names, actions), reward_of(event)
    late = [
        {"value": float(each["v"]), "time": microseconds(each["t"])}
        for each in event.get("_lateRewards", [])
    ]
    return UNKNOWN | {
        "id": str(event["EventId"]),
        "time": microseconds(event["Timestamp"]),
        "experiment": experiment,
        "policy_version": int(version) if version.isdecimal() else 0,
        "context": compact(context_of(event["c"])),
        "offer": names,
        "features": compact(features) if any(features.values()) else None,
        "action": names[chosen],
        "propensity": shares[chosen],
        "propensities": [shares[place] for place in range(len(names))],
        "reward": reward,
        "outcome": "waiting" if reward is None else "applied",
        "late": len(late),
        "late_rewards": late,
    }


def reward_of(event: dict[str, Any]) -> float | None:
    """Return the sum of the outcomes; of a line without any, minus its cost if it has one."""
    if "o" in event:
        values = [outcome.get("v") for outcome in event["o"]]
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        return sum(numbers) if numbers else None
    cost = event.get("_label_cost")
    if cost is None:
        return None
    if not math.isfinite(cost):
        raise ValueError(f"_label_cost = {cost}")
    return -float(cost)


def names_of(actions: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the name of each action; a second one of the same name gets its number."""
    taken: set[str] = set()
    for number, action in enumerate(actions, 1):
        inner: Any = action.get(ACTION)
        inner = inner if isinstance(inner, dict) else {}
        named = [action.get("_tag"), inner.get("name"), inner.get("id")]
        named += [action.get("id"), action.get("name")]
        known = (str(name) for name in named if isinstance(name, str | int) and name != "")
        name = next(known, str(number))
        name = f"{name} {number}" if name in taken else name
        taken.add(name)
        yield name


def features_of(names: list[str], actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is known of each action but its name; None for nothing."""
    found: dict[str, Any] = {}
    for name, action in zip(names, actions, strict=True):
        plain = action[ACTION] if set(action) == {"_tag", ACTION} else action
        known = {key: value for key, value in plain.items() if (key, value) != ("name", name)}
        known.pop("_tag", None)
        found[name] = words_as_lists(known) or None
    return found


def context_of(known: dict[str, Any]) -> Any:
    """Return what was known but the actions; ours is as it was given."""
    rest = {key: value for key, value in known.items() if key != "_multi"}
    if set(rest) != {CONTEXT}:
        return rest
    known = words_as_lists(rest[CONTEXT])
    return known[VALUES] if set(known) == {VALUES} else known


def microseconds(text: str) -> int:
    """Read a time such as 2026-11-17T04:19:46.1234567Z; digits beyond the sixth are dropped."""
    time = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND
