"""Rewards from before an experiment began: frames of pandas or polars, CSV, Parquet."""

import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ensample.checks import blaming, check_label
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.events import Learned
from ensample.experiments.inputs import checked_name, own_features
from ensample.experiments.snapshots import captured, restored, snapshot_of
from ensample.experiments.state import State
from ensample.extras import package
from ensample.frames import columns_of, is_frame
from ensample.plain_data import plain_context

CHUNK = 500  # rows of one event
USUAL = 1e10  # products of two such numbers are `checks.ORDINARY`
LOGGED = "context", "features", "action", "reward", "active"

Rows = list[list[Any]]
"""[context, action, features of the action, reward] each."""


def past_rows(engine: ExperimentEngine, data: Any, context: Any, action: str, reward: str) -> Rows:
    """Return the rows of `data` that have a reward; raise on one that cannot be learned."""
    frame = opened(data)
    columns = dict(columns_of(frame))
    if "log_version" in columns:
        rows = engine.ask(lambda: list(logged_rows(engine.state, columns)))
    else:
        for name in (action, reward):
            if name not in columns:
                expected = f"a frame with the columns {action} and {reward}, and {name} is missing"
                raise InvalidArgument("data", frame, expected)
        contexts = contexts_of(frame, columns, context, (action, reward))
        given = zip(contexts, list(columns[action]), list(columns[reward]), strict=True)
        rows = engine.ask(
            lambda: [checked(engine.state, *row) for row in given if not is_missing(row[2])]
        )
    engine.ask(lambda: check_learnable(engine.state, rows))
    if frame is not data and context is None and "log_version" not in columns:
        warn_of_features(data, columns, (action, reward))
    return rows


def opened(data: Any) -> Any:
    """Return a frame, read from a file if it is a path."""
    if is_frame(data):
        return data
    if not isinstance(data, str | os.PathLike):
        raise WrongType("data", data, "a frame of pandas or polars, or a file .csv or .parquet")
    pl = package("polars", "Experiment.learn")
    read_csv = partial(pl.read_csv, infer_schema_length=None)  # types of all rows
    readers = {".csv": read_csv, ".parquet": pl.read_parquet}
    suffix = os.path.splitext(os.fspath(data))[1]
    if suffix not in readers or not os.path.isfile(data):
        raise InvalidArgument("data", os.fspath(data), "a file .csv or .parquet that is there")
    return readers[suffix](data)


def logged_rows(state: State, columns: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the rows of a log that were shown; contexts and features are JSON."""
    for name in LOGGED:
        if name not in columns:
            raise InvalidArgument("data", list(columns), f"a log, and its column {name} is missing")
    values = (list(columns[name]) for name in LOGGED)
    for context, features, action, reward, active in zip(*values, strict=True):
        if is_missing(reward) or not active:
            continue
        name = checked_name("data.action", action)
        row = checked(state, from_json("data.context", context), name, reward)
        own = None if features is None else from_json("data.features", features)
        if isinstance(own, dict):
            row[2] = own_features("data.features", own.get(action))
        yield row


def from_json(argument: str, value: Any) -> Any:
    try:
        return json.loads(value)
    except (ValueError, TypeError, RecursionError):
        raise InvalidArgument(argument, value, "JSON, as a log has it") from None


def warn_of_features(file: Any, columns: dict[str, Any], others: tuple[str, str]) -> None:
    """Warn of a file's columns that nobody has named: its times are not known before the choice."""
    names = usual_names(columns, others)
    if names not in ([], ["context"]):
        warnings.warn(
            f"{os.path.basename(file)}: the columns {', '.join(names)} are taken for the context. "
            f"Name those that are known before each decision: context={names!r}",
            stacklevel=4,
        )


def contexts_of(
    frame: Any, columns: dict[str, Any], context: Any, others: tuple[str, str]
) -> Iterable[Any]:
    """Return the contexts; one column of dicts or JSON is a context by itself."""
    if isinstance(context, str):
        context = [context]
    names = usual_names(columns, others) if context is None else list(context)
    for name in names:
        if name not in columns:
            raise InvalidArgument("context", name, f"one of the columns {', '.join(columns)}")
    if not names:
        return [{}] * frame.shape[0]
    if len(names) == 1 and holds_contexts(columns[names[0]]):
        given = list(columns[names[0]])
        return (value if isinstance(value, dict) else json.loads(value) for value in given)
    values = [list(columns[name]) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def usual_names(columns: dict[str, Any], others: tuple[str, str]) -> list[str]:
    """Return `context` if it holds dicts or JSON, else the columns known before the choice."""
    if "context" in columns and holds_contexts(columns["context"]):
        return ["context"]
    return [name for name in columns if name not in (*others, "propensity")]


def holds_contexts(values: Any) -> bool:
    """Return True if the first value is a dict, or looks like a JSON object."""
    first: Any = next(iter(list(values)), {})
    is_object = isinstance(first, str) and first.lstrip().startswith("{")
    return isinstance(first, dict) or is_object


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def checked(state: State, context: Any, action: Any, reward: Any) -> list[Any]:
    if not isinstance(action, str):
        raise WrongType("data.action", action, "names of actions")
    if action not in state.actions:
        if state.settings.actions is not None:
            expected = f"one of the actions {', '.join(state.standing)}"
            raise InvalidArgument("data.action", action, expected)
        check_label("data.action", action)
    y = state.settings.reward.value("data.reward", reward)
    return [plain_context("data.context", context), str(action), None, y]


def check_learnable(state: State, rows: Rows) -> None:
    """Raise on a row that the model refuses.

    A copy of the state learns them all, if any number among them is unusual.
    """
    stored = all(encoder.stored for encoder in state.settings.features.encoders)
    usual = is_usual(state.actions) and is_usual(rows)
    if stored and usual and not state.learner.is_careful:
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


def chunks(rows: Rows, progress: bool) -> Iterable[Rows]:
    """Return the rows in chunks, with a bar on the standard error stream if wanted."""
    parts = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    if not progress:
        return parts
    from rich.console import Console
    from rich.progress import track

    return track(parts, "learning", console=Console(stderr=True))
