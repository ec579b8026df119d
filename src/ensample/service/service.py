"""State that all handlers share: settings, keys, experiments, metrics, the log and threads."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from ensample.errors import EnsampleError, StorageError
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.auth import Auth
from ensample.service.catalog import Catalog
from ensample.service.dashboard.counter import count_along
from ensample.service.errors import HTTPError
from ensample.service.journal import Journal
from ensample.service.metrics import Metrics
from ensample.service.settings import ServiceSettings
from ensample.service.store import FolderStore, StorageOf, open_store

T = TypeVar("T")
THREADS = 2  # for what takes long
PROBE = 1.0  # seconds between two looks whether a storage works again


class Service:
    """A service, which is open between `start` and `stop`."""

    def __init__(
        self,
        settings: ServiceSettings,
        journal: Journal | None = None,
        storage_of: StorageOf = SQLiteStorage,
    ) -> None:
        self.settings = settings
        self.journal = Journal(settings.log_level) if journal is None else journal
        self.metrics = Metrics()
        self.store = open_store(settings, storage_of)
        if isinstance(self.store, FolderStore):
            self.store.lock()
        self.auth = Auth(settings, self.store)
        self.catalog = Catalog(settings, self.store, self.metrics, self.journal)
        self.creating, self.evaluating = asyncio.Lock(), asyncio.Lock()
        self._threads = ThreadPoolExecutor(THREADS, "service")
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def database_failure(self) -> str:
        """The call to the database that failed since one succeeded, or ""."""
        pool = getattr(self.store, "pool", None)
        return "" if pool is None else str(pool.failure)

    @property
    def is_ready(self) -> bool:
        return not (self.catalog.broken or self.database_failure)

    async def start(self) -> None:
        await self.in_thread(self.store.prepare)
        await self.in_thread(self.catalog.open_new)
        self.metrics.ready.set_function(lambda: self.is_ready)
        self._tasks = [asyncio.create_task(task()) for task in (self._probe, self._count)]
        hosted, broken = self.catalog.hosted, self.catalog.broken
        self.journal.write("info", "open", experiments=len(hosted), broken=list(broken) or None)

    async def stop(self) -> None:
        """Answer everything that waits.

        Files are closed after those who read them have finished.
        """
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                self.journal.error("ended before its time", ended)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        await asyncio.to_thread(self.catalog.close)
        await asyncio.to_thread(self.store.close)
        self.journal.write("info", "closed")

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do what takes long in one of a few threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def _count(self) -> None:
        """Count events for the dashboard before somebody looks at it."""
        while True:
            await asyncio.sleep(PROBE)
            experiments = [found.experiment for found in self.catalog.hosted.values()]
            try:
                await self.in_thread(count_along, experiments)
            except Exception as error:  # the page is slower then: no reason to stop
                self.journal.error("not counted", error)

    async def _probe(self) -> None:
        """Look for experiments of other servers, and whether a broken storage works again."""
        while True:
            await asyncio.sleep(PROBE)
            if self.store.shared:
                with contextlib.suppress(EnsampleError):
                    async with self.creating:
                        await self.in_thread(self.catalog.open_new)
            for name in list(self.catalog.broken):
                found = self.catalog.hosted.get(name)
                probe = getattr(found.storage, "probe", None) if found is not None else None
                if found is not None and probe is not None:
                    with contextlib.suppress(EnsampleError, HTTPError):
                        if await found.worker.ask(partial(succeeds, probe)):
                            self.catalog.broken.pop(name, None)


def succeeds(probe: Callable[[], None]) -> bool:
    """Return True if a probe of a storage does not fail.

    A failure is not that of the batch it is in.
    """
    try:
        probe()
    except StorageError:
        return False
    return True
