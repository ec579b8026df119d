"""Opening of experiments that a storage keeps, or creation where it has no events."""

import os
from collections.abc import Callable
from os import PathLike
from typing import Any

from ensample.checks import boolean, file_path
from ensample.errors import InvalidArgument, SnapshotError
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.experiment import Experiment
from ensample.experiments.features import Encoder, Features, as_features
from ensample.experiments.inputs import Clock
from ensample.experiments.reward import Reward
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.base import Reading, Storage
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.policies.recipe import Recipe


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
    """Open an experiment that is kept in a file, or create it where there is none.

    To create one needs its actions, or at least its name: a path that was mistyped creates nothing.
    Every answer is given after its event is on the disk (SQLite, a write-ahead log,
    synchronous=FULL); threads share commits. Arguments are those of `Experiment`. Where the file is
    there they may be left out; those given must be what it was created with. One process has it
    open at a time; in the child of a fork what the parent opened raises `ForkError`. It opens from
    its last snapshot, whose hash is checked, and the events after it; with `verify` all events are
    taken in again and the hash of every snapshot must come out.

    >>> import ensample as es, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, actions = f"{folder}/news.db", ["sport", "culture"]
    ...     with es.open_experiment(path, actions=actions) as experiment:
    ...         decision = experiment.decide({"age": 31})
    ...     with es.open_experiment(path) as experiment:
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
        expected = "the file of an experiment, and this is a folder"
        raise InvalidArgument("path", os.fspath(path), expected)
    is_new, is_silent = not file.exists(), all(value is None for value in given.values())
    missing = "the file of an experiment; to create one, give its actions, or at least its name"
    if is_silent and is_new:
        raise InvalidArgument("path", os.fspath(path), missing)
    storage = SQLiteStorage(file)
    try:
        if is_silent and storage.count == 0:
            raise InvalidArgument("path", os.fspath(path), missing)
        experiment = experiment_in(storage, {"name": file.stem}, given, clock, ids)
        if verify:
            experiment.verify()
        return experiment
    except BaseException:
        storage.close()
        if is_new:
            file.unlink(missing_ok=True)  # nothing was created after all
        raise


def experiment_in(
    storage: Storage,
    defaults: dict[str, Any],
    given: dict[str, Any],
    clock: Clock | None = None,
    ids: Callable[[], str] | None = None,
) -> Experiment:
    """Return the experiment that a storage keeps, or a new one by `defaults`.

    Settings that are None in `given` were not given.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if storage.count == 0:
        settings = Settings.created(**(defaults | given))
        engine = ExperimentEngine(settings, storage, clock, ids)
        if creation(storage).settings == settings.described():
            return Experiment(settings.name, _engine=engine)
        # Another server was a moment earlier: its settings, and its seed, count.
    settings = recorded_settings(storage, given)
    engine = ExperimentEngine(settings, storage, clock, ids)
    return Experiment(settings.name, _engine=engine)


def recorded_settings(storage: Reading, given: dict[str, Any] | None = None) -> Settings:
    """Return the settings of the first event; raise if this version would come to another state."""
    first = creation(storage)
    settings = Settings.rebuilt(first.settings, given)
    family, theirs, ours = settings.recipe.model_family, first.numbers, numbers_of(settings)
    if theirs > ours:
        raise SnapshotError(newer_version(family, theirs, ours))
    if theirs < ours:
        raise SnapshotError(
            "recorded by an earlier version, which came to other numbers "
            f"(family {family}: {theirs}, here {ours}). Carry it over with "
            "`ensample migrate OLD NEW`, which keeps all decisions and propensities as they were "
            "recorded"
        )
    return settings


def newer_version(family: str, theirs: int, ours: int) -> str:
    """Return the error of an experiment that a newer version recorded."""
    return f"recorded by a newer version (family {family}: {theirs}, here {ours}): update ensample"
