"""The cluster engine: the same tasks, on the workers of a Dask cluster."""

import asyncio
import itertools
import logging
import pickle
import queue
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensample.checks import file_path
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.lab.engines import Engine
from ensample.lab.work import Block, Task, play
from ensample.version import NUMBERS, __version__

PATIENCE = 15.0  # seconds for a scheduler to answer, and again for a first worker to come
AHEAD = (
    3  # tasks under way for each thread of the cluster: the next is there before the last is done
)
TLS = "tls://"
LATER = "finished cells are safe, and the same command goes on from here"
CAUTION = (
    "it asks nobody who they are and encrypts nothing: whoever can reach the scheduler or a worker can run code there, and "
    "through their answers here, as you; use a tls:// address with --cluster-security"
)


@dataclass(frozen=True)
class Cluster(Engine):
    """A Dask cluster by the address of its scheduler, or "local" for one on this machine while the study runs.

    `security` is a file with the paths of the keys for a tls:// address; a local cluster makes keys of its own.
    """

    address: str
    security: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.address, str):
            raise WrongType("cluster", self.address, "'local' or the address of a scheduler")
        require("cryptography", "distributed", user=f"cluster={self.address!r}")
        if self.security is not None and not self.address.startswith(TLS):
            expected = (
                "None: a local cluster makes its own keys"
                if self.address == "local"
                else "None without a tls:// address"
            )
            raise InvalidArgument("cluster_security", str(self.security), expected)
        if self.address.startswith(TLS):
            self._keys()  # now rather than when the folder is made

    @property
    def caution(self) -> str:
        return (
            ""
            if self.address == "local" or self.address.startswith(TLS)
            else f"cluster = {self.address!r}: {CAUTION}"
        )

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Block]]:
        with quiet(), impatient(), self._client() as client:
            try:
                yield from on_cluster(client, iter(tasks), self.address)
            except (
                OSError,
                CancelledError,
            ) as error:  # distributed's own errors of this kind are among them
                raise InvalidArgument(
                    "cluster", self.address, f"a scheduler that stays ({error}); {LATER}"
                ) from error

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A client for other work than that of studies; errors of the connection are ours."""
        with quiet(), impatient(), self._client() as client:
            try:
                yield client
            except (OSError, CancelledError) as error:
                raise InvalidArgument(
                    "cluster", self.address, f"a scheduler that stays ({error})"
                ) from error

    def _client(self) -> AbstractContextManager[Any]:
        if self.address == "local":
            from ensample.lab.local_cluster import local_client

            return local_client()
        from distributed import Client

        keys = self._keys()
        try:
            greet(self.address, keys)
            client: AbstractContextManager[Any] = Client(
                self.address, timeout=PATIENCE, security=keys
            )
            return client
        except (
            OSError,
            ValueError,
            TypeError,
            ImportError,
        ) as error:  # the last of another version of distributed
            said = str(error) or f"it said nothing for {PATIENCE:.0f} s"
            raise InvalidArgument(
                "cluster", self.address, f"'local' or a scheduler that answers ({said})"
            ) from None

    def _keys(self) -> Any:
        """What shows who we are; None where nobody asks."""
        if not self.address.startswith(TLS):
            return None
        from ensample.lab.cluster_keys import configured_keys, keys_in

        return (
            configured_keys(self.address)
            if self.security is None
            else keys_in(file_path("cluster_security", self.security))
        )

    def __str__(self) -> str:
        return f"cluster {self.address}"


def greet(address: str, keys: Any) -> None:
    """Raise unless somebody there speaks as a scheduler does. To one who takes the call and says nothing, a client would
    listen for ever.
    """
    from distributed import Security
    from distributed.comm.core import connect

    async def call() -> None:
        options = (keys or Security()).get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, timeout=PATIENCE, **options), PATIENCE)
        comm.abort()

    with ThreadPoolExecutor(
        1
    ) as elsewhere:  # this thread may have a loop at work, as in a notebook
        elsewhere.submit(asyncio.run, call()).result()


@contextmanager
def impatient() -> Iterator[None]:
    """No call to a scheduler that has gone is waited for longer than its first answer was."""
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": PATIENCE}):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Without distributed's own logs: what goes wrong is said once, by an error."""
    names = [
        name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"
    ]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def on_cluster(client: Any, tasks: Iterator[Task], address: str) -> Iterator[tuple[Task, Block]]:
    """A window of tasks; a task whose worker is lost goes to another one."""
    under_way: dict[Any, Task] = {}
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def submit(count: int) -> None:
        for task in itertools.islice(tasks, max(0, count)):
            future = client.submit(pickle.loads, pickle.dumps(UnpickledCall(task)), pure=False)
            under_way[future] = task
            future.add_done_callback(finished.put)

    try:
        submit(AHEAD * threads_of(client))
        while under_way:
            future = next_of(finished, Patience(client, address))
            task = under_way.pop(future)
            yield task, result_of(future, task, Patience(client, address))
            submit(AHEAD * threads_of(client) - len(under_way))
    except BaseException:
        with suppress(Exception):  # a scheduler that has gone has cancelled them itself
            client.cancel(list(under_way))
        raise


class Patience:
    """With a cluster that has no workers, for a while: what it has under way would be waited for for ever."""

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self.last = time.monotonic()  # when there was a worker

    def check(self) -> None:
        if workers_of(self.client):
            self.last = time.monotonic()
        elif time.monotonic() - self.last > PATIENCE:
            expected = (
                f"a scheduler with workers, and it has had none for {PATIENCE:.0f} s; {LATER}"
            )
            raise InvalidArgument("cluster", self.address, expected)


def next_of(finished: "queue.SimpleQueue[Any]", patience: Patience) -> Any:
    """The next future that is finished."""
    while True:
        with suppress(queue.Empty):
            return finished.get(timeout=1.0)
        patience.check()


def result_of(future: Any, task: Task, patience: Patience) -> Block:
    """What a task gave; what befell it on the workers, said in terms of cells and workers."""
    from distributed import KilledWorker

    try:
        return gathered(future, patience)
    except KilledWorker as error:
        deaths = f"{error.allowed_failures + 1} of them died at it, perhaps of too little memory"
        expected = f"workers that live through cell {task.cell.number} ({task.cell.name}), and {deaths}; {LATER}"
        raise InvalidArgument("cluster", patience.address, expected) from error
    except (ImportError, AttributeError) as error:
        if isinstance(error, AttributeError) and "Can't get attribute" not in str(error):
            raise
        expected = f"workers with ensample {__version__}, as here ({error}); {LATER}"
        raise InvalidArgument("cluster", patience.address, expected) from error


def gathered(future: Any, patience: Patience) -> Block:
    """The result of a future that was finished. A worker that dies before it is fetched takes it along: it is computed anew."""
    while True:
        try:
            block: Block = future.result(timeout=1.0)
            return block
        except TimeoutError:
            if future.status == "error":  # the task's own
                raise
            patience.check()


def threads_of(client: Any) -> int:
    """Workers come and go."""
    return max(1, sum(workers_of(client).values()))


def workers_of(client: Any) -> dict[str, int]:
    """The threads of each worker there is."""
    if client.status != "running":  # at once, instead of calling somebody who has gone
        raise ConnectionError("the connection is lost")
    threads: dict[str, int] = client.nthreads()
    return threads


@dataclass(frozen=True)
class UnpickledCall:
    """A task that is done by being unpickled.

    To the scheduler, and to a worker until it begins, it is bytes: neither needs this package to pass them on, and a worker
    that lacks it says so. A task that distributed itself unpickles ends such a worker without a word.
    """

    task: Task

    def __reduce__(self) -> tuple[Any, ...]:
        return play_there, (pickle.dumps(self.task), (__version__, NUMBERS))


def play_there(task: bytes, version: tuple[str, int]) -> Block:
    """On a worker, which must be of the same version to give the same numbers."""
    if version != (__version__, NUMBERS):
        raise InvalidArgument(
            "cluster", (__version__, NUMBERS), f"workers with ensample {version}, as here"
        )
    return play(pickle.loads(task), np.zeros(1, np.int64))
