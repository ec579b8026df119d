"""Tasks of a study on the workers of a Dask cluster."""

import asyncio
import itertools
import logging
import pickle
import queue
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ensample.checks import file_path
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.lab.tasks import Engine, Task
from ensample.simulation.plan import RunArrays
from ensample.version import NUMBERS, __version__

Answer = TypeVar("Answer")

PATIENCE = 15.0  # seconds for a scheduler to answer, and again for a first worker to come
AHEAD = 3  # tasks under way for each thread: the next is there before the last is done
TLS = "tls://"
LATER = "finished cells are safe, and the same command goes on from here"
KEYS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
OPEN = (
    "it asks nobody who they are and encrypts nothing: whoever can reach the scheduler or a worker "
    "can run code there, and through their answers here, as you; use a tls:// address with "
    "--cluster-security"
)


@dataclass(frozen=True)
class Cluster(Engine):
    """A Dask cluster by the address of its scheduler, or "local".

    `security` is a file with the paths of the keys for a tls:// address; a local cluster makes keys
    of its own.
    """

    address: str
    security: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.address, str):
            raise WrongType("cluster", self.address, "'local' or the address of a scheduler")
        require("cryptography", "distributed", user=f"cluster={self.address!r}")
        if self.security is not None and not self.address.startswith(TLS):
            local = "None: a local cluster makes its own keys"
            expected = local if self.address == "local" else "None without a tls:// address"
            raise InvalidArgument("cluster_security", str(self.security), expected)
        self._keys()  # checks them before a folder is made

    @property
    def warning(self) -> str:  # type: ignore[override]
        closed = self.address == "local" or self.address.startswith(TLS)
        return "" if closed else f"cluster = {self.address!r}: {OPEN}"

    def __str__(self) -> str:
        return f"cluster {self.address}"

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, RunArrays]]:
        with self.session(advice=f"; {LATER}") as client:
            yield from on_cluster(client, iter(tasks), self.address)

    @contextmanager
    def session(self, advice: str = "") -> Iterator[Any]:
        """Yield a client of distributed. Errors of the connection are raised as ours."""
        import dask

        from ensample.lab.local_cluster import local_client

        open_client = local_client if self.address == "local" else self._client
        patience = dask.config.set({"distributed.comm.timeouts.connect": PATIENCE})
        with quiet(), patience, open_client() as client:
            try:
                yield client
            except (OSError, CancelledError) as error:  # distributed's own are among them
                expected = f"a scheduler that stays ({error}){advice}"
                raise InvalidArgument("cluster", self.address, expected) from error

    def _client(self) -> Any:
        from distributed import Client

        keys = self._keys()
        try:
            greet(self.address, keys)
            return Client(self.address, timeout=PATIENCE, security=keys)
        # ImportError: another version of distributed.
        except (OSError, ValueError, TypeError, ImportError) as error:
            reason = str(error) or f"it said nothing for {PATIENCE:.0f} s"
            expected = f"'local' or a scheduler that answers ({reason})"
            raise InvalidArgument("cluster", self.address, expected) from None

    def _keys(self) -> Any:
        """Return the keys for a tls:// address: of the file, or distributed's configured ones."""
        if not self.address.startswith(TLS):
            return None
        from distributed import Security

        if self.security is not None:
            return keys_in(file_path("cluster_security", self.security))
        keys: Any = Security()
        if not keys.tls_ca_file or not keys.tls_client_cert:
            expected = f"a file with the keys for {self.address}: ca, cert and key"
            raise InvalidArgument("cluster_security", None, expected)
        return keys


def keys_in(file: Path) -> Any:
    """Return the keys that a TOML file names by paths: ca, cert and, unless cert holds it, key.

    A path that is not absolute is relative to the file.
    """
    from distributed import Security

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        for key in ("ca", "cert", *table):
            path = table.get(key)
            if key not in KEYS or path is None or not isinstance(path, str):
                state = "missing" if path is None else f"{path!r:.100}"
                raise ValueError(f"{key} is {state}")
            if not (file.absolute().parent / path).is_file():
                raise ValueError(f"no file is there; {key} is {path!r}")
        paths = {KEYS[key]: str(file.absolute().parent / path) for key, path in table.items()}
        keys = Security(require_encryption=True, **paths)
        keys.get_connection_args("client")  # fails for PEM files that do not belong together
    except (OSError, ValueError, RecursionError) as error:  # ssl's errors are among them
        expected = f"a TOML file with the paths ca, cert and key of PEM files ({error})"
        raise InvalidArgument("cluster_security", str(file), expected) from None
    return keys


def greet(address: str, keys: Any) -> None:
    """Raise unless a scheduler answers: a client would wait forever for one that says nothing."""
    from distributed import Security
    from distributed.comm.core import connect

    async def call() -> None:
        options = (keys or Security()).get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, timeout=PATIENCE, **options), PATIENCE)
        comm.abort()

    # In another thread: this one may run an event loop, as in a notebook.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, call()).result()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence distributed's own logs: what goes wrong is raised as an error."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def on_cluster(
    client: Any, tasks: Iterator[Task], address: str
) -> Iterator[tuple[Task, RunArrays]]:
    """Yield (task, results) with a few tasks under way; a lost worker's go to another one."""
    under_way: dict[Any, Task] = {}
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def submit() -> None:
        most = AHEAD * max(1, threads_of(client))
        for task in itertools.islice(tasks, max(0, most - len(under_way))):
            future = client.submit(pickle.loads, pickle.dumps(UnpickledCall(task)), pure=False)
            under_way[future] = task
            future.add_done_callback(finished.put)

    try:
        submit()
        while under_way:
            future = wait_for(lambda: finished.get(timeout=1.0), client, address)
            task = under_way.pop(future)
            yield task, result_of(future, task, client, address)
            submit()
    except BaseException:
        with suppress(Exception):  # a scheduler that has gone has cancelled them itself
            client.cancel(list(under_way))
        raise


def wait_for(get: Callable[[], Answer], client: Any, address: str) -> Answer:
    """Call a function that times out every second until it returns.

    Raise if the cluster has no workers for a while: its tasks would never finish.
    """
    last = time.monotonic()  # when there was a worker
    while True:
        with suppress(queue.Empty, TimeoutError):
            return get()
        if threads_of(client):
            last = time.monotonic()
        elif time.monotonic() - last > PATIENCE:
            expected = f"a scheduler with workers, and it has had none for {PATIENCE:.0f} s"
            raise InvalidArgument("cluster", address, f"{expected}; {LATER}")


def result_of(future: Any, task: Task, client: Any, address: str) -> RunArrays:
    """Return the result of a finished task, or raise what happened to it in terms of cells."""
    from distributed import KilledWorker

    def fetch() -> RunArrays:
        try:
            results: RunArrays = future.result(timeout=1.0)
            return results
        except TimeoutError as error:
            if future.status == "error":  # the task's own
                raise RuntimeError("the task timed out") from error
            raise

    reason: Exception
    try:
        # A worker that dies now takes the result along: the task is then run again.
        return wait_for(fetch, client, address)
    except KilledWorker as error:
        cell = f"cell {task.cell.number} ({task.cell.name})"
        deaths = f"{error.allowed_failures + 1} of them died at it, perhaps of too little memory"
        reason, expected = error, f"workers that live through {cell}, and {deaths}; {LATER}"
    except (ImportError, AttributeError) as error:
        if isinstance(error, AttributeError) and "Can't get attribute" not in str(error):
            raise
        reason, expected = error, f"workers with ensample {__version__}, as here ({error}); {LATER}"
    raise InvalidArgument("cluster", address, expected) from reason


def threads_of(client: Any) -> int:
    """Return the number of threads of all workers, which come and go."""
    if client.status != "running":  # at once, instead of calling a scheduler that has gone
        raise ConnectionError("the connection is lost")
    return sum(client.nthreads().values())


@dataclass(frozen=True)
class UnpickledCall:
    """A task that is run by being unpickled.

    To the scheduler, and to a worker until it begins, it is bytes: neither needs this package to
    pass them on, and a worker that lacks it reports that. A task that distributed itself unpickles
    ends such a worker without a word.
    """

    task: Task

    def __reduce__(self) -> tuple[Any, ...]:
        return run_there, (pickle.dumps(self.task), (__version__, NUMBERS))


def run_there(task: bytes, version: tuple[str, int]) -> RunArrays:
    """Run a task on a worker, which must be of the same version to give the same numbers."""
    if version != (__version__, NUMBERS):
        expected = f"workers with ensample {version}, as here"
        raise InvalidArgument("cluster", (__version__, NUMBERS), expected)
    unpickled: Task = pickle.loads(task)
    return unpickled.run()
