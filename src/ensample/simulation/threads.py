"""Work on threads: a bounded number of tasks at a time, in any order, until done or told to stop.

Kernels let go of Python's lock. Where little of the work is theirs, threads wait for the lock and for each other: two of them
take two and a half times as long as one alone for live policies of a few arms. So there are as many threads as are busy.
"""

import itertools
import math
import os
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, TypeVar

from ensample.types import IntArray

__all__ = ["Crew", "Spent", "cores", "on_threads"]

Task = TypeVar("Task")
Result = TypeVar("Result")

ENOUGH = 0.02  # seconds of tasks that tell how busy threads are
ALMOST = 0.6  # of a thread that is busy is worth one
REST = 1.0  # seconds with fewer threads before all are tried again, twice as many each time


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Spent(NamedTuple):
    """The seconds of a task."""

    busy: float  # on a core
    passed: float


class Crew:
    """How many of the threads that there may be are worth having."""

    def __init__(self, most: int) -> None:
        self.most = self.size = most
        self._seen = Spent(0.0, 0.0)
        self._rest, self._until = REST, math.inf

    def note(self, size: int, spent: Spent, now: float) -> None:
        """A task that began among so many has ended: those that were not busy are too many."""
        if size != self.size or size == 1:
            return
        busy, passed = (old + new for old, new in zip(self._seen, spent, strict=True))
        self._seen = Spent(busy, passed)
        if passed < ENOUGH:
            return
        self._seen = Spent(0.0, 0.0)
        self.size = max(1, int(size * busy / passed + ALMOST))
        if self.size < size:
            self._until = now + max(self._rest, 8.0 * spent.passed)
            self._rest *= 2.0

    def look(self, now: float) -> int:
        """How many there are to be. After a rest all are tried again: what kept them waiting may be over."""
        if now >= self._until:
            self.size, self._until = self.most, math.inf
        return self.size


def on_threads(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int, stop: IntArray
) -> Generator[tuple[Task, Result], None, None]:
    """(task, result) as they finish. On Ctrl-C or an error `stop[0]` tells the running ones, which then end soon.

    At most so many workers: fewer where they would wait for each other. Tasks compute, and wait for nothing else.
    """
    coming = iter(tasks)
    crew = Crew(workers)
    waiting: dict[Future[tuple[Result, Spent]], tuple[Task, int]] = {}

    def timed(task: Task) -> tuple[Result, Spent]:
        passed, busy = time.monotonic(), time.thread_time()
        result = work(task)
        return result, Spent(time.thread_time() - busy, time.monotonic() - passed)

    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                size = crew.look(time.monotonic())
                room = 2 * workers if size == workers else size  # some wait in line, where all threads may take them
                for task in itertools.islice(coming, max(0, room - len(waiting))):
                    waiting[pool.submit(timed, task)] = task, size
                if not waiting:
                    return
                finished, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)  # wakes up for Ctrl-C
                for future in finished:
                    task, size = waiting.pop(future)
                    result, spent = future.result()
                    crew.note(size, spent, time.monotonic())
                    yield task, result
        except BaseException:  # also GeneratorExit: whoever asked has left
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
