"""Work on threads: a bounded number of tasks at a time, in any order, until done or told to stop.

Kernels let go of Python's lock. Where little of the work is theirs, threads wait for the lock and for each other: two of them
take two and a half times as long as one alone for live policies of a few arms. There one thread is left to do it.
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
LOCKED = 1.4  # cores that threads use together where they wait for one lock: next to one
REST, LONGEST_REST = 1.0, 60.0  # seconds alone before all are tried again, twice as many each time


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Spent(NamedTuple):
    """The seconds of a task."""

    busy: float  # on a core
    passed: float


class Crew:
    """How many threads are at work: all, or one where together they are no more than that."""

    def __init__(self, most: int) -> None:
        self.most = self.size = most
        self._new = most  # tasks that do not count: what they have to load, others wait for
        self._seen: list[Spent] = []
        self._rest, self._until = REST, math.inf

    def note(self, size: int, spent: Spent, now: float) -> None:
        """A task that began among so many has ended."""
        if self._new > 0:
            self._new -= 1
        elif size == self.size > 1:
            self._seen.append(spent)
            busy, passed = map(sum, zip(*self._seen, strict=True))
            if len(self._seen) >= self.most and passed >= ENOUGH:
                self._seen.clear()
                if size * busy < LOCKED * passed:
                    self.size, self._until = 1, now + self._rest
                    self._rest = min(2.0 * self._rest, LONGEST_REST)

    def look(self, now: float) -> int:
        """How many there are to be. After a rest all are tried again: what kept them waiting may be over."""
        if now >= self._until:
            self.size, self._until = self.most, math.inf
        return self.size


def on_threads(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int, stop: IntArray, all_of_them: bool = False
) -> Generator[tuple[Task, Result], None, None]:
    """(task, result) as they finish. On Ctrl-C or an error `stop[0]` tells the running ones, which then end soon.

    `workers`: at most so many, and one where more would wait for each other; or always `all_of_them`.
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
                size = workers if all_of_them else crew.look(time.monotonic())
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
