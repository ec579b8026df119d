"""Migration: the log of an experiment carried over into a new file of this version.

Decisions with their propensities, contexts and rewards stay as they were recorded. What was learned
from them is computed again, by this version, and new decisions are made from that.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice, zip_longest
from os import PathLike
from pathlib import Path
from typing import Any

from ensample.checks import file_path
from ensample.errors import EnsampleError, InvalidArgument, SnapshotError, StorageError
from ensample.experiments.events import Created
from ensample.experiments.features import Encoder, Features, as_features
from ensample.experiments.log.builder import log_rows
from ensample.experiments.log.table import Row
from ensample.experiments.opening import newer_version, recorded_settings
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.snapshots import captured, creation, snapshot_of
from ensample.experiments.state import State
from ensample.experiments.storage.base import Reading, Storage
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.experiments.storage.writer_lock import WriterLock
from ensample.files import sync
from ensample.policies.recipe import Recipe

PIECE = 10_000  # events of a batch; a snapshot follows each
SHOW_EVERY = 100  # events

Show = Callable[[int, int], object]
"""A callback that gets (steps done, steps in all)."""


def migrate_experiment(
    old: str | PathLike[str],
    new: str | PathLike[str],
    *,
    features: Features | Encoder | None = None,
    recipe: Recipe | None = None,
) -> int:
    """Carry an experiment over to a new file of this version; return the number of decisions.

    What the log says stays as it was recorded, and every row of the new log is compared with the
    old one: decisions, propensities, contexts and rewards. What is learned from them is computed
    again by this version, so that later decisions are its own. The old file is only read; the new
    one is written completely or not at all.

    `features` and `recipe` are needed where they are objects of your own, which a file cannot hold.
    `ensample migrate` does the same on the command line, also for all experiments of a service.

    >>> import ensample as es, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     old, new, actions = f"{folder}/old.db", f"{folder}/new.db", ["sport", "culture"]
    ...     with es.open_experiment(old, "news", actions=actions) as experiment:
    ...         decision = experiment.decide({"age": 31})
    ...     es.migrate_experiment(old, new)
    ...     with es.open_experiment(new) as experiment:
    ...         experiment.reward(decision.id, 1)
    1
    'applied'
    """
    given = {"features": None if features is None else as_features(features), "recipe": recipe}
    source, target = file_path("old", old), file_path("new", new)
    if not source.is_file():
        raise InvalidArgument("old", os.fspath(old), "the file of an experiment: there is none")
    with staged(target) as part:
        return carry_over_file(source, part, given)


def carry_over_file(
    old: Path, new: Path, given: dict[str, Any] | None = None, show: Show = lambda done, total: None
) -> int:
    """Carry the experiment of a file over to a new file; return the number of rows of its log."""
    expected = "an experiment that is not in use: close it, or stop the service, first"
    with (
        sole_writer("old", old, expected),
        closing(SQLiteReader(old, alone=True)) as events,
        closing(SQLiteStorage(new)) as storage,
    ):
        return carry_over(events, storage, given, show)


def carry_over(old: Reading, new: Storage, given: dict[str, Any] | None, show: Show) -> int:
    """Append the events of `old` to an empty storage and compare the logs; return their length."""
    if old.count == 0:
        raise SnapshotError("there is no experiment in it: it has no events")
    first = creation(old)
    settings = Settings.rebuilt(first.settings, given)
    numbers = numbers_of(settings)
    if first.numbers > numbers:
        raise SnapshotError(newer_version(settings.recipe.model_family, first.numbers, numbers))
    settings = replace(settings, stream=settings.name)  # as of new experiments
    described = settings.described()
    created = first._replace(settings=described, numbers=numbers, migrated=old.count)
    append_events(old, new, created, State(settings), show)
    return compare_logs(settings, old, new, given, show)


def append_events(old: Reading, new: Storage, created: Created, state: State, show: Show) -> None:
    """Append `created` and all events after the first one, and snapshots of the state they give."""
    events = chain([created], old.read(1))
    while piece := list(islice(events, PIECE)):
        with new.batch():
            for event in piece:
                new.append(event)
                try:
                    state.apply(event)
                except EnsampleError as error:
                    said = f"event {state.seq} cannot be carried over: {error}"
                    raise SnapshotError(said) from error
                if state.seq % SHOW_EVERY == 0:
                    show(state.seq, 2 * old.count)
            snapshot = snapshot_of(captured(state))
            if len(snapshot.content or b"") <= new.room:
                new.keep(snapshot)


def compare_logs(
    settings: Settings, old: Reading, new: Storage, given: dict[str, Any] | None, show: Show
) -> int:
    """Return the number of rows of two logs, or raise unless all their rows are equal."""
    count = 0
    ours = log_rows(recorded_settings(new, given), new.read)
    for count, (row, other) in enumerate(zip_longest(log_rows(settings, old.read), ours), 1):
        if row != other:
            said = f"row {count} of the log is not what it was: {difference(row, other)}"
            raise SnapshotError(said)
        if count % SHOW_EVERY == 0:
            show(old.count + count, 2 * old.count)
    return count


def difference(row: Row | None, other: Row | None) -> str:
    """Return the first field in which two rows differ."""
    if row is None or other is None:
        return "it is missing" if other is None else "there was none"
    field = next(name for name in row if row[name] != other.get(name))
    return f"{field} of {row['id']} was {row[field]!r} and is {other.get(field)!r}"


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give a path to write a file or folder at; it becomes `target` unless there is an error.

    A process that is killed leaves the folder `.NAME.migrating`, which the next one removes.
    """
    check_absent(target)
    if not target.absolute().parent.is_dir():
        raise InvalidArgument("new", os.fspath(target), "a path in a folder that exists")
    staging = target.with_name(f".{target.name}.migrating")
    with sole_writer("new", staging, "a path to which nobody else is migrating"):
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir(mode=0o700)
            yield staging / target.name
            check_absent(target)
            os.rename(staging / target.name, target)
            sync(target.absolute().parent)
        except OSError as error:
            if isinstance(error, EnsampleError):
                raise
            said = error.strerror or str(error)
            raise StorageError(error.errno, said, os.fspath(target)) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def check_absent(target: Path) -> None:
    if os.path.lexists(target):
        raise InvalidArgument("new", os.fspath(target), "a path at which there is nothing yet")


@contextmanager
def sole_writer(
    argument: str, path: Path, expected: str, given: Path | None = None
) -> Iterator[None]:
    """Hold the lock of a file or folder; the error names the path that was given."""
    try:
        lock = WriterLock(path)
    except InvalidArgument:
        raise InvalidArgument(argument, os.fspath(given or path), expected) from None
    try:
        yield
    finally:
        lock.release()
