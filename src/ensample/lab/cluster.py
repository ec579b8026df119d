"""The cluster engine: the same tasks, on the workers of a Dask cluster."""

import itertools
import logging
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument
from ensample.lab.engines import Engine
from ensample.lab.work import Block, Task, play
from ensample.version import NUMBERS, __version__

__all__ = ["Cluster"]

PATIENCE = "15s"
AHEAD = 3  # tasks under way for each thread of the cluster: the next is there before the last is done


@dataclass(frozen=True)
class Cluster(Engine):
    """A Dask cluster by the address of its scheduler, or "local" for one on this machine while the study runs."""

    address: str

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Block]]:
        with self._client() as client:
            try:
                yield from on_cluster(client, iter(tasks))
            except (OSError, CancelledError) as error:  # distributed's own errors of this kind are among them
                raise InvalidArgument(
                    "cluster", self.address, f"a scheduler that stays ({error}); finished cells are safe"
                ) from error

    def _client(self) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise InvalidArgument("cluster", self.address, "the package distributed: pip install 'ensample[cluster]'") from None
        if self.address == "local":
            with deaf_to_ctrl_c():
                return Client(n_workers=None, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
        try:
            return Client(self.address, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            raise InvalidArgument("cluster", self.address, f"'local' or a scheduler that answers ({error})") from None

    def __str__(self) -> str:
        return f"cluster {self.address}"


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started in here leave Ctrl-C to this one."""
    if threading.current_thread() is not threading.main_thread():  # elsewhere signals cannot be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def on_cluster(client: Any, tasks: Iterator[Task]) -> Iterator[tuple[Task, Block]]:
    """A window of tasks; a task whose worker is lost goes to another one."""
    from distributed import as_completed

    under_way = {}
    finished = as_completed()

    def submit(count: int) -> None:
        for task in itertools.islice(tasks, max(0, count)):
            future = client.submit(play_there, task, (__version__, NUMBERS), pure=False)
            under_way[future] = task
            finished.add(future)

    try:
        submit(AHEAD * threads_of(client))
        while under_way:
            future = next(finished)
            yield under_way.pop(future), future.result()
            submit(AHEAD * threads_of(client) - len(under_way))
    except BaseException:
        client.cancel(list(under_way))
        raise


def threads_of(client: Any) -> int:
    """Workers come and go."""
    return max(1, int(sum(client.nthreads().values())))


def play_there(task: Task, version: tuple[str, int]) -> Block:
    """On a worker, which must be of the same version to give the same numbers."""
    if version != (__version__, NUMBERS):
        raise InvalidArgument("cluster", (__version__, NUMBERS), f"workers with ensample {version}, as here")
    return play(task, np.zeros(1, np.int64))
