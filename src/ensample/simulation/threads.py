"""Work on threads: a bounded number of tasks at a time, in any order, until done or told to stop."""

import itertools
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ensample.types import IntArray

__all__ = ["on_threads"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def on_threads(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int, stop: IntArray
) -> Generator[tuple[Task, Result], None, None]:
    """(task, result) as they finish. On Ctrl-C or an error `stop[0]` tells the running ones, which then end soon."""
    coming = iter(tasks)
    waiting: dict[Future[Result], Task] = {}
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                for task in itertools.islice(coming, 2 * workers - len(waiting)):
                    waiting[pool.submit(work, task)] = task
                if not waiting:
                    return
                finished, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)  # wakes up for Ctrl-C
                for future in finished:
                    yield waiting.pop(future), future.result()
        except BaseException:  # also GeneratorExit: whoever asked has left
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
