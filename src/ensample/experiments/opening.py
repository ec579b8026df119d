"""Experiments on the disk."""

import os
from collections.abc import Callable
from os import PathLike
from typing import Any

from ensample.checks import boolean, file_path
from ensample.errors import InvalidArgument, SnapshotError
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.experiment import Experiment
from ensample.experiments.features import Encoder, Features
from ensample.experiments.features.featuriser import as_features
from ensample.experiments.inputs import Clock
from ensample.experiments.reward import Reward
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.base import Reading, Storage
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.policies.recipe import Recipe

NOT_THERE = "the file of an experiment; to create one, give its actions, or at least its name"


def open_experiment(
    path: str | PathLike[str],
    name: str | None = None,
    *,
    actions: Any = None,
    features: Features | Encoder | None = None,
    reward: Reward | None = None,
    recipe: Recipe | None = None,
    floor: float | None = None,
    baseline: tuple[str, float] | None = None,
    seed: int | None = None,
    clock: Clock | None = None,
    ids: Callable[[], str] | None = None,
    verify: bool = False,
) -> Experiment:
    """An experiment that is kept in a file: created where there is none, else opened as it was left.

    To create one needs its actions, or at least its name: a path that was mistyped creates nothing.
    Every answer is given after its event is on the disk (SQLite, a write-ahead log, synchronous=FULL); threads share commits.
    Arguments are those of `Experiment`. Where the file is there they may be left out; those given must be what it was created
    with. One process has it open at a time; in the child of a fork what the parent opened raises
    `ForkError`. It opens from its last snapshot, whose hash is checked, and the events after it;
    with `verify` all events are taken in again and the hash of every snapshot must come out.

    >>> import ensample as es, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with es.open_experiment(f"{folder}/news.db", actions=["sport", "culture"]) as experiment:
    ...         decision = experiment.decide({"age": 31})
    ...     with es.open_experiment(f"{folder}/news.db") as experiment:
    ...         experiment.reward(decision.id, 1)
    'applied'

    It needs apsw: `pip install apsw`.
    """
    file = file_path("path", path)
    given = {
        "name": name,
        "actions": actions,
        "features": None if features is None else as_features(features),
        "reward": reward,
        "recipe": recipe,
        "floor": floor,
        "baseline": baseline,
        "seed": seed,
    }
    boolean("verify", verify)
    if file.is_dir():
        raise InvalidArgument(
            "path", os.fspath(path), "the file of an experiment, and this is a folder"
        )
    there, silent = file.exists(), all(value is None for value in given.values())
    if silent and not there:
        raise InvalidArgument("path", os.fspath(path), NOT_THERE)
    storage = SQLiteStorage(file)
    try:
        if silent and storage.count == 0:
            raise InvalidArgument("path", os.fspath(path), NOT_THERE)
        experiment = begun(storage, {"name": file.stem}, given, clock, ids)
        if verify:
            experiment.verify()
        return experiment
    except BaseException:
        storage.close()
        if not there:
            file.unlink(missing_ok=True)  # nothing was created after all
        raise


def begun(
    storage: Storage,
    defaults: dict[str, Any],
    given: dict[str, Any],
    clock: Clock | None = None,
    ids: Callable[[], str] | None = None,
) -> Experiment:
    """The experiment whose events a storage keeps, or a new one by `defaults`; what is None in `given` was not said."""
    said = {name: value for name, value in given.items() if value is not None}
    if storage.count == 0:
        told = defaults | said
        settings = Settings.created(told.pop("name"), told.pop("actions", None), **told)
        made = Experiment(settings.name, _engine=ExperimentEngine(settings, storage, clock, ids))
        if creation(storage).settings == settings.described():
            return (
                made  # else another server was a moment earlier: its settings, and its seed, count
            )
    settings = recorded_settings(storage, said)
    return Experiment(settings.name, _engine=ExperimentEngine(settings, storage, clock, ids))


def recorded_settings(storage: Storage | Reading, given: dict[str, Any] | None = None) -> Settings:
    """Return the settings of the first event; raise if this version would come to another state."""
    first = creation(storage)
    settings = Settings.rebuilt(first.settings, given)
    family, theirs = settings.recipe.model_family, first.numbers
    ours = numbers_of(settings)
    if theirs > ours:
        raise SnapshotError(newer_version(family, theirs, ours))
    if theirs < ours:
        raise SnapshotError(
            f"recorded by an earlier version, which came to other numbers (family {family}: {theirs}, "
            f"here {ours}). Carry it over with `ensample migrate OLD NEW`, which keeps all decisions and "
            "propensities as they were recorded"
        )
    return settings


def newer_version(family: str, theirs: int, ours: int) -> str:
    """Return the error of an experiment that a newer version recorded."""
    return f"recorded by a newer version (family {family}: {theirs}, here {ours}): update ensample"
