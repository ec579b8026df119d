"""Thread pool for tasks: a bounded number at a time, in any order, until done or stopped.

Kernels release the GIL. Where they do little of the work, threads wait for the GIL: then one is
used.
"""

import itertools
import math
import os
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, TypeVar

from ensample.types import IntArray

Task = TypeVar("Task")
Result = TypeVar("Result")

ENOUGH = 0.02  # seconds of tasks that tell how busy threads are
MIN_CORES = 1.4  # used by all threads together; with less they wait for the GIL
PAUSE = 1.0  # seconds with one thread before all are tried again; doubled each time
MAX_PAUSE = 60.0


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Spent(NamedTuple):
    """Seconds of a task."""

    busy: float  # on a core
    passed: float


class PoolSize:
    """Number of threads to use: all, or one while all together use less than 1.4 cores."""

    def __init__(self, most: int) -> None:
        self.most = self.size = most
        self._ignored = most  # first tasks, in which threads import modules
        self._seen: list[Spent] = []
        self._pause, self._until = PAUSE, math.inf

    def record(self, size: int, spent: Spent, now: float) -> None:
        """Record the end of a task that began when `size` threads were used."""
        if self._ignored > 0:
            self._ignored -= 1
        elif size == self.size > 1:
            self._seen.append(spent)
            busy, passed = map(sum, zip(*self._seen, strict=True))
            if len(self._seen) >= self.most and passed >= ENOUGH:
                self._seen.clear()
                if size * busy < MIN_CORES * passed:
                    self.size, self._until = 1, now + self._pause
                    self._pause = min(2.0 * self._pause, MAX_PAUSE)

    def current(self, now: float) -> int:
        """Return the number of threads to use now. After a pause all are tried again."""
        if now >= self._until:
            self.size, self._until = self.most, math.inf
        return self.size


def on_threads(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    workers: int,
    stop: IntArray,
    all_of_them: bool = False,
) -> Generator[tuple[Task, Result], None, None]:
    """Yield (task, result) as tasks finish.

    At most `workers` threads are used, and one where more would wait for each other, unless
    `all_of_them`. On Ctrl-C or an error `stop[0]` is set, so that running kernels end soon.
    """
    coming = iter(tasks)
    pool_size = PoolSize(workers)
    waiting: dict[Future[tuple[Result, Spent]], tuple[Task, int]] = {}

    def timed(task: Task) -> tuple[Result, Spent]:
        passed, busy = time.monotonic(), time.thread_time()
        result = work(task)
        return result, Spent(time.thread_time() - busy, time.monotonic() - passed)

    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                size = workers if all_of_them else pool_size.current(time.monotonic())
                most = 2 * workers if size == workers else size  # keep some in the queue
                for task in itertools.islice(coming, max(0, most - len(waiting))):
                    waiting[pool.submit(timed, task)] = task, size
                if not waiting:
                    return
                # The time-out lets Ctrl-C in.
                for future in wait(waiting, 0.2, FIRST_COMPLETED).done:
                    task, size = waiting.pop(future)
                    result, spent = future.result()
                    pool_size.record(size, spent, time.monotonic())
                    yield task, result
        except BaseException:  # also GeneratorExit, where the caller stops early
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
