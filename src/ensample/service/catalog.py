"""The experiments of a service: each is open as long as it runs, with a worker of its own."""

import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ensample.errors import EnsampleError, InvalidArgument
from ensample.experiments import Experiment
from ensample.experiments.opening import begun
from ensample.experiments.storage.base import NameTaken, Snapshot, Storage
from ensample.service.places import Place, is_name
from ensample.service.refusals import Refusal, unavailable
from ensample.service.service_settings import ServiceSettings
from ensample.service.store import Keeping
from ensample.service.worker import Batch, Crowd, Worker

Watch = Callable[[str, Batch], None]
Aside = Callable[[Callable[[], Snapshot]], Future[Snapshot]]
"""Who makes snapshots while others are answered."""
Warn = Callable[[str, str], None]
"""Is told of an experiment that is broken, and why."""


CAPITALS = "there is an experiment whose name differs in capitals only"


class Unmade(Exception):
    """A place was begun, and what it should hold was never kept: nobody was told that there is such an experiment."""


class Hosted:
    """An experiment with its worker."""

    def __init__(
        self, name: str, experiment: Experiment, storage: Storage, worker: Worker, store: Keeping
    ) -> None:
        self.name, self.experiment, self.storage, self.worker, self._store = (
            name,
            experiment,
            storage,
            worker,
            store,
        )

    @property
    def paused(self) -> bool:
        return self.name in self._store.paused()


class Catalog:
    """All of them."""

    def __init__(
        self,
        settings: ServiceSettings,
        store: Keeping,
        place: Place,
        watch: Watch,
        aside: Aside,
        warn: Warn,
    ) -> None:
        self.settings, self.store, self.place = settings, store, place
        self.watch, self.aside, self.warn = watch, aside, warn
        self._crowd = Crowd()
        self.hosted: dict[str, Hosted] = {}
        self.broken: dict[
            str, str
        ] = {}  # why an experiment cannot be opened, or kept at the moment

    def open_all(self) -> None:
        """Those that cannot be opened are known as broken, and the others work."""
        self.place.prepare()
        self.open_new()

    def open_new(self) -> None:
        """Those that are not open yet: other servers may have made some."""
        for name in self.place.names():
            if name not in self.hosted:
                try:
                    self._open(name, None)
                    self.broken.pop(name, None)
                except Unmade:
                    continue
                except EnsampleError as error:
                    self._break(name, str(error))

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
            raise InvalidArgument(
                "name",
                name,
                "letters, digits, '.', '_' and '-', 100 at most, a letter or digit first",
            )
        if name in self.hosted or name in self.broken:
            found = self[name]
            check_same(found.experiment, given)
            return found, False
        if len(self.hosted) + len(self.broken) >= self.settings.experiments:
            raise Refusal(
                409,
                f"there are {self.settings.experiments} experiments already",
                code="too_many_experiments",
            )
        there = self.place.names()
        if any(
            other != name and other.lower() == name.lower()
            for other in (*self.hosted, *self.broken, *there)
        ):
            raise Refusal(409, CAPITALS)
        if name in there:  # of another server, it may be
            with contextlib.suppress(Unmade):
                found = self._open(name, None)
                check_same(found.experiment, given)
                return found, False
        Experiment(name, **given)  # refuses what does not fit together before anything is there
        try:
            return self._open(name, given), True
        except NameTaken:  # by another server, at the same moment
            raise Refusal(409, CAPITALS) from None

    def _open(self, name: str, given: dict[str, Any] | None) -> Hosted:
        """With `given`, which may be empty, it is made if it is not there."""
        storage = self.place.storage(name)
        try:
            if storage.count == 0 and given is None:
                raise Unmade
            experiment = begun(storage, {"name": name}, given or {})
        except BaseException:
            storage.close()
            raise
        experiment.snapshot_every, experiment.aside = self.settings.snapshot_every, self.aside
        here = (
            not self.place.shared
        )  # where it is, another server's commit may have to be waited for
        worker = Worker(
            experiment,
            self.settings.queue,
            lambda batch: self._observe(name, batch),
            self._crowd,
            here,
        )
        self.hosted[name] = Hosted(name, experiment, storage, worker, self.store)
        return self.hosted[name]

    def _observe(self, name: str, batch: Batch) -> None:
        if batch.error is not None:
            self._break(
                name,
                str(batch.error)
                if isinstance(batch.error, EnsampleError)
                else type(batch.error).__name__,
            )
        elif batch.events:
            self.broken.pop(name, None)
        self.watch(name, batch)

    def _break(self, name: str, why: str) -> None:
        """Said once, however often it is found."""
        if self.broken.get(name) != why:
            self.broken[name] = why
            self.warn(name, why)

    def pause(self, name: str, paused: bool) -> Hosted:
        found = self[name]
        self.store.pause(name, paused)
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
        raise Refusal(
            409, f"the experiment is there, and is another: {error}", argument=error.argument
        ) from None
