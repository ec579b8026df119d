"""What all handlers share: settings, keys, experiments, numbers, the log."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ensample.errors import EnsampleError, StorageError
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.writer_lock import WriterLock
from ensample.service.catalog import Catalog
from ensample.service.dashboard.counting import count_along
from ensample.service.gate import Gate
from ensample.service.journal import Journal
from ensample.service.metrics import Metrics
from ensample.service.places import Database, Files, Place, sole
from ensample.service.postgres_store import PostgresStore
from ensample.service.refusals import Refusal
from ensample.service.service_settings import ServiceSettings
from ensample.service.store import Keeping, Store

T = TypeVar("T")
ASIDE = 2  # threads for what takes long
PROBE = 1.0  # seconds between two looks whether a storage works again


class Service:
    """Open between `start` and `stop`."""

    def __init__(
        self,
        settings: ServiceSettings,
        journal: Journal | None = None,
        storage_of: Callable[[Path], Storage] = SQLiteStorage,
    ) -> None:
        self.settings = settings
        self.journal = Journal(settings.log_level) if journal is None else journal
        self.metrics = Metrics()
        self._pool: PostgresPool | None = None
        self.store, place = self._opened(storage_of)
        self._sole = self._held()
        self.gate = Gate(settings, self.store)
        self._aside = ThreadPoolExecutor(ASIDE, "aside")
        self._snapshots = ThreadPoolExecutor(1, "snapshots")
        self.catalog = Catalog(
            settings, self.store, place, self.metrics.batch, self._snapshots.submit, self._warn
        )
        self.creating, self.evaluating = asyncio.Lock(), asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    def _opened(self, storage_of: Callable[[Path], Storage]) -> tuple[Keeping, Place]:
        settings = self.settings
        if not settings.database:
            return Store(settings.data), Files(settings.data, storage_of)
        pool = self._pool = PostgresPool(settings.database, settings.database_connections)
        return PostgresStore(pool), Database(pool)

    @property
    def database_failure(self) -> str:
        """The call to the database that failed since one succeeded; "" if none did, or without a database."""
        return "" if self._pool is None else self._pool.failure

    @property
    def is_ready(self) -> bool:
        return not (self.catalog.broken or self.database_failure)

    def _held(self) -> WriterLock | None:
        """The folder, which no other service has then; a database is meant for several."""
        if self.settings.database:
            return None
        try:
            return sole(self.settings.data)
        except EnsampleError:
            self.store.close()
            raise

    def _warn(self, experiment: str, why: str) -> None:
        self.journal.warning("broken", experiment=experiment, why=why)

    async def start(self) -> None:
        await self.aside(self.catalog.open_all)
        self.metrics.ready.set_function(lambda: self.is_ready)
        self._tasks = [asyncio.create_task(self._probe()), asyncio.create_task(self._count())]
        self.journal.info(
            "open", experiments=len(self.catalog.hosted), broken=list(self.catalog.broken) or None
        )

    async def stop(self) -> None:
        """Everything that waits is answered first; who reads a file lets go of it before it is closed."""
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                self.journal.error("ended before its time", ended)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, partial(self._aside.shutdown, cancel_futures=True))
        await loop.run_in_executor(None, self.catalog.close)
        self._snapshots.shutdown(wait=True, cancel_futures=True)
        await loop.run_in_executor(None, self.store.close)
        if self._sole is not None:
            self._sole.release()
        self.journal.info("closed")

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do what takes long in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work, *arguments)

    async def _count(self) -> None:
        """For the pages of experiments, before somebody looks at them."""
        while True:
            await asyncio.sleep(PROBE)
            try:
                await self.aside(
                    count_along, [found.experiment for found in self.catalog.hosted.values()]
                )
            except (
                Exception
            ) as error:  # a page that is slower is no reason to stop, nor to keep quiet
                self.journal.error("not counted", error)

    async def _probe(self) -> None:
        """Where something could not be kept, look now and then whether it can be again; and what other servers have made."""
        while True:
            await asyncio.sleep(PROBE)
            if self.catalog.place.shared:
                with contextlib.suppress(EnsampleError):
                    async with self.creating:
                        await self.aside(self.catalog.open_new)
            for name in list(self.catalog.broken):
                found = self.catalog.hosted.get(name)
                probe = getattr(found.storage, "probe", None) if found is not None else None
                if found is not None and probe is not None:
                    with contextlib.suppress(EnsampleError, Refusal):
                        if await found.worker.ask(partial(succeeds, probe)):
                            self.catalog.broken.pop(name, None)


def succeeds(probe: Callable[[], None]) -> bool:
    """Whether something can be kept; that it cannot is no business of the questions that are answered together with this."""
    try:
        probe()
    except StorageError:
        return False
    return True
