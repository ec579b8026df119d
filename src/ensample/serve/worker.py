"""One thread for each experiment: it answers all questions that wait with one commit, and only then hands out the answers.

While the disk is busy the event loop goes on, and what it takes in meanwhile is the next batch.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ensample.experiments import Experiment
from ensample.serve.refusals import unavailable

__all__ = ["Batch", "Worker"]

T = TypeVar("T")
MOST = 256  # questions of one commit


class Batch(NamedTuple):
    """What became of one."""

    questions: int
    events: int  # that were kept
    seconds: float
    error: Exception | None  # of the storage


class Waiting(NamedTuple):
    question: Callable[[], Any]
    future: "asyncio.Future[Any]"


class Worker:
    """The questions to one experiment; `observe` is told of each batch, in the worker's thread."""

    def __init__(self, experiment: Experiment, most: int, observe: Callable[[Batch], None]) -> None:
        self.experiment, self.most, self.observe = experiment, most, observe
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"experiment {experiment.name}", daemon=True)
        self._thread.start()

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer, once it is kept."""
        if self._queue.qsize() >= self.most:
            raise unavailable("too many calls wait for this experiment")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(Waiting(question, future))
        return await future

    def stop(self) -> None:
        """Once all that wait are answered; the experiment is closed then."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                self._answer(batch)
        finally:
            self.experiment.close()

    def _next(self) -> list[Waiting] | None:
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MOST and not self._queue.empty():
            item = self._queue.get()
            if item is None:
                self._queue.put(None)  # for the next look, after these
                break
            batch.append(item)
        return batch

    def _answer(self, batch: list[Waiting]) -> None:
        start, before = time.perf_counter(), self.experiment.events
        failure: Exception | None = None
        try:
            answers: list[Any] = self.experiment.together([item.question for item in batch])
        except Exception as error:  # of the storage: nothing of this batch is kept
            failure, answers = error, [error] * len(batch)
        kept = self.experiment.events - before if failure is None else 0
        self.observe(Batch(len(batch), kept, time.perf_counter() - start, failure))
        loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Any]]] = {}
        for item, answer in zip(batch, answers, strict=True):
            loops.setdefault(item.future.get_loop(), []).append((item, answer))
        for loop, pairs in loops.items():
            loop.call_soon_threadsafe(deliver, pairs)


def deliver(pairs: list[tuple[Waiting, Any]]) -> None:
    """In the event loop; who has gone meanwhile gets nothing."""
    for item, answer in pairs:
        if item.future.done():
            continue
        if isinstance(answer, Exception):
            item.future.set_exception(answer)
        else:
            item.future.set_result(answer)
