"""The experiments of a service: a file each, in the folder `experiments` of its data."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ensample.errors import EnsampleError, InvalidArgument, StorageError
from ensample.experiments import Experiment
from ensample.experiments.opening import begun
from ensample.experiments.sqlite import SQLiteStorage
from ensample.experiments.storage import Storage
from ensample.serve.refusals import Refusal, unavailable
from ensample.serve.service_settings import ServiceSettings
from ensample.serve.store import Store
from ensample.serve.worker import Batch, Worker

__all__ = ["Catalog", "Hosted", "experiment_files", "is_name"]

NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
FOLDER, SUFFIX = "experiments", ".db"
Watch = Callable[[str, Batch], None]


def is_name(name: str) -> bool:
    """Whether an experiment may be called so: its name is part of addresses and of a file's name."""
    return NAME.fullmatch(name) is not None


def experiment_files(data: Path) -> dict[str, Path]:
    """The file of each experiment, by name."""
    found = sorted((data / FOLDER).glob(f"*{SUFFIX}"))
    return {path.name.removesuffix(SUFFIX): path for path in found if is_name(path.name.removesuffix(SUFFIX))}


class Hosted:
    """An experiment with its worker."""

    def __init__(self, experiment: Experiment, storage: Storage, worker: Worker, paused: bool) -> None:
        self.experiment, self.storage, self.worker, self.paused = experiment, storage, worker, paused


class Catalog:
    """All of them; each is open as long as the service runs."""

    def __init__(
        self,
        settings: ServiceSettings,
        store: Store,
        watch: Watch = lambda *_: None,
        storage_of: Callable[[Path], Storage] = SQLiteStorage,
    ) -> None:
        self.settings, self.store, self.watch, self.storage_of = settings, store, watch, storage_of
        self.hosted: dict[str, Hosted] = {}
        self.broken: dict[str, str] = {}  # why an experiment cannot be opened, or kept at the moment
        self.folder = settings.data / FOLDER

    def open_all(self) -> None:
        """Those that cannot be opened are known as broken, and the others work."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(error.errno, error.strerror or str(error), str(self.folder)) from error
        for name, path in experiment_files(self.settings.data).items():
            try:
                self._open(name, path, None)
            except Refusal:
                continue  # nobody was told that there is such an experiment
            except EnsampleError as error:
                self.broken[name] = str(error)

    def __getitem__(self, name: str) -> Hosted:
        found = self.hosted.get(name)
        if found is not None:
            return found
        if name in self.broken:
            raise unavailable(f"the experiment {name} cannot be opened")
        raise Refusal(404, "expected the name of an experiment: there is none of this name")

    def create(self, name: str, given: dict[str, Any]) -> tuple[Hosted, bool]:
        """The experiment, and whether it is new; 409 if there is another one of this name. One call at a time."""
        if not is_name(name):
            raise InvalidArgument("name", name, "letters, digits, '.', '_' and '-', 100 at most, a letter or digit first")
        if name in self.hosted or name in self.broken:
            found = self[name]
            check_same(found.experiment, given)
            return found, False
        if len(self.hosted) + len(self.broken) >= self.settings.experiments:
            raise Refusal(409, f"there are {self.settings.experiments} experiments already", code="too_many_experiments")
        if any(other.lower() == name.lower() for other in (*self.hosted, *self.broken)):
            raise Refusal(409, "there is an experiment whose name differs in capitals only")
        return self._open(name, self.folder / f"{name}{SUFFIX}", given), True

    def _open(self, name: str, path: Path, given: dict[str, Any] | None) -> Hosted:
        """With `given`, which may be empty, it is made if it is not there."""
        if given is not None:
            Experiment(name, **given)  # refuses what does not fit together before there is a file
        storage = self.storage_of(path)
        try:
            if storage.count == 0 and given is None:
                raise Refusal(404, "a file was begun, and what it should be was never kept")
            experiment = begun(storage, {"name": name}, given or {})
        except BaseException:
            storage.close()
            raise
        experiment.snapshot_every = self.settings.snapshot_every
        worker = Worker(experiment, self.settings.queue, lambda batch: self._observe(name, batch))
        self.hosted[name] = Hosted(experiment, storage, worker, name in self.store.paused())
        return self.hosted[name]

    def _observe(self, name: str, batch: Batch) -> None:
        if batch.error is not None:
            self.broken[name] = type(batch.error).__name__
        elif batch.events:
            self.broken.pop(name, None)
        self.watch(name, batch)

    def pause(self, name: str, paused: bool) -> Hosted:
        found = self[name]
        self.store.pause(name, paused)
        found.paused = paused
        return found

    def close(self) -> None:
        """Answer what waits, and let go of all files."""
        for found in self.hosted.values():
            found.worker.stop()


def check_same(experiment: Experiment, given: dict[str, Any]) -> None:
    from ensample.experiments.settings import Settings

    try:
        Settings.rebuilt(experiment.settings.described(), given)
    except InvalidArgument as error:
        raise Refusal(409, f"the experiment is there, and is another: {error}", argument=error.argument) from None
