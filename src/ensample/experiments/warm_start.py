"""Rewards from before an experiment began: frames of pandas or polars, CSV, Parquet."""

import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from ensample.checks import blaming, check_label
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.events import Learned
from ensample.experiments.inputs import checked_name, own_features
from ensample.experiments.snapshots import captured, restored, snapshot_of
from ensample.experiments.state import State
from ensample.extras import package
from ensample.frames import columns_of, is_frame
from ensample.plain_data import plain_context

CHUNK = 500  # rows of one event
USUAL = 1e10  # products of two such numbers are `checks.ORDINARY`

Rows = list[list[Any]]
T = TypeVar("T")


def past_rows(state: State, frame: Any, context: Any, action: str, reward: str) -> Rows:
    """[context, action, features, reward] of each row that has a reward, all of them checked."""
    columns = dict(columns_of(frame))
    if "log_version" in columns:
        return logged_rows(state, columns)
    for name in (action, reward):
        if name not in columns:
            raise InvalidArgument(
                "data",
                frame,
                f"a frame with the columns {action} and {reward}, and {name} is missing",
            )
    contexts = contexts_of(frame, columns, context, (action, reward))
    rows = zip(contexts, list(columns[action]), list(columns[reward]), strict=True)
    return [checked(state, *row) for row in rows if not is_missing(row[2])]


def logged_rows(state: State, columns: dict[str, Any]) -> Rows:
    """Of a log as `log_frames` has it: contexts and features are JSON, and what was not shown is left out."""
    found, wanted = [], ("context", "features", "action", "reward", "active")
    for name in wanted:
        if name not in columns:
            raise InvalidArgument("data", list(columns), f"a log, and its column {name} is missing")
    for context, features, action, reward, active in zip(
        *(list(columns[name]) for name in wanted), strict=True
    ):
        if is_missing(reward) or not active:
            continue
        row = checked(
            state, from_json("data.context", context), checked_name("data.action", action), reward
        )
        own = None if features is None else from_json("data.features", features)
        row[2] = (
            None if not isinstance(own, dict) else own_features("data.features", own.get(action))
        )
        found.append(row)
    return found


def from_json(argument: str, value: Any) -> Any:
    try:
        return json.loads(value)
    except (ValueError, TypeError, RecursionError):
        raise InvalidArgument(argument, value, "JSON, as a log has it") from None


def opened(data: Any) -> Any:
    """A frame, or a file that holds one."""
    if is_frame(data):
        return data
    if not isinstance(data, str | os.PathLike):
        raise WrongType("data", data, "a frame of pandas or polars, or a file .csv or .parquet")
    pl = package("polars", "Experiment.learn")
    readers = {
        ".csv": partial(pl.read_csv, infer_schema_length=None),
        ".parquet": pl.read_parquet,
    }  # types of all rows
    suffix = os.path.splitext(os.fspath(data))[1]
    if suffix not in readers or not os.path.isfile(data):
        raise InvalidArgument("data", os.fspath(data), "a file .csv or .parquet that is there")
    return readers[suffix](data)


def say_features(file: Any, frame: Any, action: str, reward: str) -> None:
    """Warn of the columns of a file that nobody has named: its times and probabilities are not known before the choice."""
    columns = dict(columns_of(frame))
    names = usual_names(columns, (action, reward))
    if names not in ([], ["context"]) and "log_version" not in columns:
        warnings.warn(
            f"{os.path.basename(file)}: the columns {', '.join(names)} are taken for the context. "
            f"Name those that are known before each decision: context={names!r}",
            stacklevel=3,
        )


def contexts_of(
    frame: Any, columns: dict[str, Any], context: Any, others: tuple[str, str]
) -> Iterator[Any]:
    """By the names of its columns; one column of dicts or JSON is a context by itself."""
    if isinstance(context, str):
        context = [context]
    names = usual_names(columns, others) if context is None else list(context)
    for name in names:
        if name not in columns:
            raise InvalidArgument("context", name, f"one of the columns {', '.join(columns)}")
    if len(names) == 1 and holds_contexts(columns[names[0]]):
        return (
            value if isinstance(value, dict) else json.loads(value)
            for value in list(columns[names[0]])
        )
    values = [list(columns[name]) for name in names]
    return (
        (
            {name: item for name, item in zip(names, row, strict=True)}
            for row in zip(*values, strict=True)
        )
        if names
        else iter([{}] * frame.shape[0])
    )


def usual_names(columns: dict[str, Any], others: tuple[str, str]) -> list[str]:
    """A column `context` of dicts or JSON, as evaluation has it, else all that is known before the choice."""
    if "context" in columns and holds_contexts(columns["context"]):
        return ["context"]
    return [name for name in columns if name not in (*others, "propensity")]


def holds_contexts(values: Any) -> bool:
    return all(isinstance(value, dict) or is_object(value) for value in list(values)[:1])


def is_object(value: object) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("{")


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def checked(state: State, context: Any, action: Any, reward: Any) -> list[Any]:
    if not isinstance(action, str):
        raise WrongType("data.action", action, "names of actions")
    if state.settings.actions is not None and action not in state.actions:
        raise InvalidArgument(
            "data.action", action, f"one of the actions {', '.join(state.standing)}"
        )
    if action not in state.actions:
        check_label("data.action", action)
    return [
        plain_context("data.context", context),
        str(action),
        None,
        state.settings.reward.value("data.reward", reward),
    ]


def check_learnable(state: State, rows: Rows) -> None:
    """Raise on a row that the model refuses: a copy of the state learns them all, if any number among them is unusual."""
    own = state.settings.features.encoders
    if (
        all(encoder.stored for encoder in own)
        and is_usual(state.actions)
        and is_usual(rows)
        and not state.learner.is_careful
    ):
        return
    copy = restored(state.settings, snapshot_of(captured(state)))
    for place, row in enumerate(rows):
        with blaming(f"row {place} of data"):
            copy.apply(Learned(0, [row]), new=True)


def is_usual(value: Any) -> bool:
    """Return True if all numbers in plain data are 0 or between 1 / USUAL and USUAL in size."""
    kind = type(value)
    if kind is float or kind is int:
        return bool(value == 0 or 1.0 / USUAL <= abs(value) <= USUAL)
    if kind is dict:
        return all(map(is_usual, value.values()))
    return kind is not list or all(map(is_usual, value))


def chunks(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def shown(parts: Iterable[T], count: int, progress: bool) -> Iterable[T]:
    """With a bar on the standard error stream, if wanted."""
    if not progress:
        return parts
    from rich.console import Console
    from rich.progress import track

    return track(parts, "learning", total=count, console=Console(stderr=True))
