"""One thread for each experiment: it answers all questions that wait with one commit, and only then hands out the answers.

While the disk is busy the event loop goes on, and what it takes in meanwhile is the next batch.
All questions of one turn of the loop are handed over together: the thread is not woken for each,
to take the interpreter from a loop that has more to read.

To wake a thread and to be woken by it takes nearly as long as a decision and its commit. So a
brief question beside which nobody asks another is answered by the loop itself, where such
questions have been quick.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ensample.experiments import Experiment
from ensample.service.errors import unavailable

T = TypeVar("T")
MOST = 256  # questions of one commit
QUICK = (
    0.002  # seconds: as long as brief questions take less, the loop may be kept from others by one
)
SLOW = 1.0  # seconds that they are taken to last before any was answered, and after a failure
MEMORY = 16  # of the last brief questions, as many count


class Batch(NamedTuple):
    """What became of one."""

    questions: int
    events: int  # that were kept
    seconds: float
    error: Exception | None  # of the storage


class Waiting(NamedTuple):
    question: Callable[[], Any]
    future: "asyncio.Future[Any]"
    brief: str


class Crowd:
    """The questions to all experiments of a service that have no answer yet."""

    open = 0


class Worker:
    """The questions to one experiment; `observe` is told of each batch.

    `here`: whether the loop may answer by itself.
    """

    def __init__(
        self,
        experiment: Experiment,
        most: int,
        observe: Callable[[Batch], None],
        crowd: Crowd,
        here: bool = True,
    ) -> None:
        self.experiment, self.most, self.observe, self.crowd, self.here = (
            experiment,
            most,
            observe,
            crowd,
            here,
        )
        self._queue: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._turn: list[Waiting] = []  # asked in this turn of the event loop
        self._open = 0  # questions without an answer
        self._last = 1  # handed over together the last time
        self._usual: dict[
            str, float
        ] = {}  # seconds of a lone brief question, by kind: the mean of the last ones
        self._failed = False  # whether the last batch could not be kept
        self._stopped, self._handing = False, threading.Lock()
        self._thread = threading.Thread(
            target=self._run, name=f"experiment {experiment.name}", daemon=True
        )
        self._thread.start()

    async def ask(self, question: Callable[[], T], brief: str = "") -> T:
        """The answer, once it is kept.

        `brief`: of which kind it is, where it is about one decision and usually quick.
        """
        if self._open >= self.most:
            raise unavailable("too many calls wait for this experiment")
        self._open += 1
        self.crowd.open += 1
        try:
            if brief and self._is_quiet(brief):
                await asyncio.sleep(0)  # for whoever asks in this turn of the loop too
                if self._is_quiet(brief):
                    return self._answer_here(question, brief)
            return await self._queued(question, brief)
        finally:
            self._open -= 1
            self.crowd.open -= 1

    def _is_quiet(self, brief: str) -> bool:
        """Whether the loop may answer the only question that waits, and keeps nobody from anything for long."""
        alone = self.crowd.open == 1 and self._last == 1 and not self._stopped
        return (
            alone
            and self.here
            and self._usual.get(brief, SLOW) < QUICK
            and not self.experiment.snapshot_comes
        )

    def _answer_here(self, question: Callable[[], T], brief: str) -> T:
        (answer,), found = self._answered([question], brief)
        if self._is_news(found):
            self.observe(found)
        else:
            asyncio.get_running_loop().call_soon(
                self.observe, found
            )  # once the answer is on its way
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _queued(self, question: Callable[[], T], brief: str) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._turn.append(Waiting(question, future, brief))
        if self._open == 1 and self._last == 1:
            self._hand_over()  # nobody else is about
        elif len(self._turn) == 1:
            loop.call_soon(self._hand_over)
        return future

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

    def _arrived(self) -> list[Waiting]:
        """Return the questions that wait now."""
        found: list[Waiting] = []
        while not self._queue.empty():
            batch = self._queue.get()
            if batch is None:
                self._queue.put(None)
                break
            found += batch
        return found

    def _answer(self, batch: list[Waiting]) -> None:
        """Answer a batch.

        What arrived during one that failed gets its error, so that no caller waits for another
        failure.
        """
        answers, found = self._answered(
            [item.question for item in batch], batch[0].brief if len(batch) == 1 else ""
        )
        if found.error is not None:
            arrived = self._arrived()
            batch, answers = batch + arrived, answers + [found.error] * len(arrived)
        tell: Callable[[], None] | None = partial(self.observe, found)
        if self._is_news(found):
            self.observe(found)
            tell = None
        for loop, pairs in by_loop(batch, answers).items():
            loop.call_soon_threadsafe(
                deliver, pairs, tell
            )  # here it would keep the interpreter from the loop
            tell = None

    def _answered(self, questions: list[Callable[[], Any]], brief: str) -> tuple[list[Any], Batch]:
        """With one commit; an error of the storage is everybody's answer, and nothing is kept.

        `brief`: of a lone one.
        """
        start, kept = time.perf_counter(), 0
        failure: Exception | None = None
        try:
            before = self.experiment.events
            answers: list[Any] = self.experiment.together(questions)
            kept = self.experiment.events - before
        except Exception as error:
            failure, answers = error, [error] * len(questions)
        seconds = time.perf_counter() - start
        if failure is not None:
            self._usual.clear()  # whoever is asked next takes in all events again
        elif brief:
            usual = self._usual.get(brief, SLOW)
            self._usual[brief] = usual + (seconds - usual) / MEMORY
        return answers, Batch(len(questions), kept, seconds, failure)

    def _is_news(self, found: Batch) -> bool:
        """Whether the storage fails, or works again: whoever is answered then finds the service not ready, or ready again."""
        failed, self._failed = self._failed, found.error is not None
        return failed or self._failed


def by_loop(
    batch: list[Waiting], answers: list[Any]
) -> "dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Any]]]":
    """Pair questions with answers, grouped by the event loop of the question."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Any]]] = {}
    for item, answer in zip(batch, answers, strict=True):
        loops.setdefault(item.future.get_loop(), []).append((item, answer))
    return loops


def deliver(pairs: list[tuple[Waiting, Any]], tell: Callable[[], None] | None = None) -> None:
    """In the event loop; who has gone meanwhile gets nothing.

    `tell` is called once they have gone on with it.
    """
    for item, answer in pairs:
        if item.future.done():
            continue
        if isinstance(answer, Exception):
            item.future.set_exception(answer)
        else:
            item.future.set_result(answer)
    if tell is not None:
        asyncio.get_running_loop().call_soon(tell)
