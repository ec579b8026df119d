"""One thread for each experiment: it answers all questions that wait with one commit, and only then hands out the answers.

While the disk is busy the event loop goes on, and what it takes in meanwhile is the next batch. All questions of one turn of
the loop are handed over together: the thread is not woken for each, to take the interpreter from a loop that has more to read.
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
        self._queue: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._turn: list[Waiting] = []  # asked in this turn of the event loop
        self._open = 0  # questions without an answer
        self._last = 1  # handed over together the last time
        self._failed = False  # whether the last batch could not be kept
        self._stopped, self._handing = False, threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"experiment {experiment.name}", daemon=True)
        self._thread.start()

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer, once it is kept."""
        if self._open >= self.most:
            raise unavailable("too many calls wait for this experiment")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._turn.append(Waiting(question, future))
        if self._open == 0 and self._last == 1:
            self._hand_over()  # nobody else is about
        elif len(self._turn) == 1:
            loop.call_soon(self._hand_over)
        self._open += 1
        try:
            return await future
        finally:
            self._open -= 1

    def _hand_over(self) -> None:
        asked, self._turn = self._turn, []
        if not asked:  # a lone caller's question went ahead of its turn
            return
        self._last = len(asked)
        with self._handing:
            if not self._stopped:
                self._queue.put(asked)
                return
        deliver([(item, unavailable("the service stops")) for item in asked])

    def stop(self) -> None:
        """Once all that wait are answered; the experiment is closed then."""
        with self._handing:
            self._stopped = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                self._answer(batch)
        finally:
            self.experiment.close()

    def _next(self) -> list[Waiting] | None:
        batch = self._queue.get()
        while batch is not None and len(batch) < MOST and not self._queue.empty():
            more = self._queue.get()
            if more is None:
                self._queue.put(None)  # for the next look, after these
                break
            batch += more
        return batch

    def _answer(self, batch: list[Waiting]) -> None:
        start, before = time.perf_counter(), self.experiment.events
        failure: Exception | None = None
        try:
            answers: list[Any] = self.experiment.together([item.question for item in batch])
        except Exception as error:  # of the storage: nothing of this batch is kept
            failure, answers = error, [error] * len(batch)
        kept = self.experiment.events - before if failure is None else 0
        found = Batch(len(batch), kept, time.perf_counter() - start, failure)
        first, self._failed = self._failed or failure is not None, failure is not None
        if first:
            self.observe(found)  # whoever is answered then finds the service not ready, or ready again
        loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Any]]] = {}
        for item, answer in zip(batch, answers, strict=True):
            loops.setdefault(item.future.get_loop(), []).append((item, answer))
        for loop, pairs in loops.items():
            loop.call_soon_threadsafe(deliver, pairs)
        if not first:
            self.observe(found)


def deliver(pairs: list[tuple[Waiting, Any]]) -> None:
    """In the event loop; who has gone meanwhile gets nothing."""
    for item, answer in pairs:
        if item.future.done():
            continue
        if isinstance(answer, Exception):
            item.future.set_exception(answer)
        else:
            item.future.set_result(answer)
