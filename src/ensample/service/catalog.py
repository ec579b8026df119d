"""The experiments of a service, each open while the service runs, with a worker."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ensample.errors import EnsampleError, InvalidArgument
from ensample.experiments import Experiment
from ensample.experiments.commit_queue import Batch
from ensample.experiments.opening import experiment_in
from ensample.experiments.settings import Settings
from ensample.experiments.storage.base import NameTaken, Storage
from ensample.service.errors import HTTPError, unavailable
from ensample.service.journal import Journal
from ensample.service.metrics import Metrics
from ensample.service.settings import ServiceSettings
from ensample.service.store import Store, is_name
from ensample.service.worker import Crowd, Worker

NAME_EXPECTED = "letters, digits, '.', '_' and '-', 100 at most, a letter or digit first"


class OnlyBegun(Exception):
    """A storage without events: a service was killed before anybody was told of the experiment."""


@dataclass(frozen=True)
class Hosted:
    """An experiment with its worker."""

    name: str
    experiment: Experiment
    storage: Storage
    worker: Worker


class Catalog:
    """All experiments, by name."""

    def __init__(
        self, settings: ServiceSettings, store: Store, metrics: Metrics, journal: Journal
    ) -> None:
        self.settings, self.store = settings, store
        self.metrics, self.journal = metrics, journal
        self.hosted: dict[str, Hosted] = {}
        self.broken: dict[str, str] = {}  # why an experiment cannot be opened, or kept now
        self._crowd = Crowd()
        self._snapshots = ThreadPoolExecutor(1, "snapshots")

    def open_new(self) -> None:
        """Open the experiments that are not open yet. Those that cannot be opened are broken."""
        for name in self.store.names():
            if name not in self.hosted:
                try:
                    self._open(name, None)
                    self.broken.pop(name, None)
                except OnlyBegun:
                    continue
                except EnsampleError as error:
                    self._break(name, str(error))

    def __getitem__(self, name: str) -> Hosted:
        found = self.hosted.get(name)
        if found is not None:
            return found
        if name in self.broken:
            raise unavailable(f"the experiment {name} cannot be opened")
        raise HTTPError(404, "expected the name of an experiment: there is none of this name")

    def __contains__(self, name: str) -> bool:
        return name in self.hosted or name in self.broken

    def create(self, name: str, given: dict[str, Any]) -> tuple[Hosted, bool]:
        """Return an experiment and whether it is new. Raise if there is another one of this name.

        The caller sees to it that there is one call at a time.
        """
        if not is_name(name):
            raise InvalidArgument("name", name, NAME_EXPECTED)
        if name in self:
            return self._same(self[name], given), False
        if len(self.hosted) + len(self.broken) >= self.settings.experiments:
            message = f"there are {self.settings.experiments} experiments already"
            raise HTTPError(409, message, code="too_many_experiments")
        stored = self.store.names()
        others = {*self.hosted, *self.broken, *stored} - {name}
        if name.lower() in map(str.lower, others):
            raise name_taken()
        if name in stored:  # another server may have made it
            with contextlib.suppress(OnlyBegun):
                return self._same(self._open(name, None), given), False
        Experiment(name, **given)  # raises before anything is stored
        try:
            return self._open(name, given), True
        except NameTaken:  # by another server, at the same moment
            raise name_taken() from None

    def _same(self, found: Hosted, given: dict[str, Any]) -> Hosted:
        """Return an experiment if it is what was given. Raise otherwise."""
        try:
            Settings.rebuilt(found.experiment.settings.described(), given)
        except InvalidArgument as error:
            message = f"the experiment is there, and is another: {error}"
            raise HTTPError(409, message, argument=error.argument) from None
        return found

    def _open(self, name: str, given: dict[str, Any] | None) -> Hosted:
        """Open an experiment, and make it if it is not there and `given` says what it is."""
        storage = self.store.storage(name)
        try:
            if storage.count == 0 and given is None:
                raise OnlyBegun
            experiment = experiment_in(storage, {"name": name}, given or {})
        except BaseException:
            storage.close()
            raise
        snapshots = experiment.engine.snapshots
        snapshots.every = self.settings.snapshot_every
        snapshots.submit = self._snapshots.submit
        worker = Worker(
            experiment,
            self.settings.queue,
            lambda batch: self._observe(name, batch),
            self._crowd,
            here=not self.store.shared,  # a commit may have to wait for another server
        )
        self.hosted[name] = Hosted(name, experiment, storage, worker)
        return self.hosted[name]

    def _observe(self, name: str, batch: Batch) -> None:
        error = batch.error
        if error is not None:
            self._break(
                name, str(error) if isinstance(error, EnsampleError) else type(error).__name__
            )
        elif batch.events:
            self.broken.pop(name, None)
        self.metrics.count_batch(name, batch)

    def _break(self, name: str, why: str) -> None:
        if self.broken.get(name) != why:  # it is logged once, however often it is found
            self.broken[name] = why
            self.journal.write("warning", "broken", experiment=name, why=why)

    def close(self) -> None:
        """Answer the questions that wait, and close all storages."""
        for found in self.hosted.values():
            found.worker.stop()
        self._snapshots.shutdown(wait=True, cancel_futures=True)


def name_taken() -> HTTPError:
    return HTTPError(409, "there is an experiment whose name differs in capitals only")
