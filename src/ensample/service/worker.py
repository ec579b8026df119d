"""The questions of an event loop to one experiment: admission, batches, and a quick path.

The experiment's commit queue answers them in a thread of its own. All questions of one turn of the
loop are handed over together: the thread is not woken for each, to take the interpreter from a loop
that has more to read.

To wake a thread and to be woken by it takes nearly as long as a decision and its commit. So a brief
question beside which nobody asks another is answered by the loop itself, where such questions have
been quick.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from ensample.experiments import Experiment
from ensample.experiments.commit_queue import Batch, Question
from ensample.service.errors import unavailable

T = TypeVar("T")
QUICK = 0.002  # seconds: where brief questions take less, the loop may answer one by itself
SLOW = 1.0  # seconds that they are taken to last before any was answered, and after a failure
MEMORY = 16  # of the last brief questions, as many count


class Crowd:
    """The number of questions to all experiments of a service that have no answer yet."""

    open = 0


class Waiting(Question):
    """A question whose answer goes to a future. `brief`: its kind, if it is usually quick."""

    __slots__ = ("brief", "future")

    def __init__(
        self,
        function: Callable[[], Any],
        deliver: "Callable[[list[Any], Batch], None]",
        future: "asyncio.Future[Any]",
        brief: str,
    ) -> None:
        super().__init__(function, deliver)
        self.future, self.brief = future, brief


class Worker:
    """The questions to one experiment. `observe` gets the report of each batch.

    `most` questions may wait. `here`: whether the loop may answer by itself.
    """

    def __init__(
        self,
        experiment: Experiment,
        most: int,
        observe: Callable[[Batch], None],
        crowd: Crowd,
        here: bool = True,
    ) -> None:
        self.experiment, self.queue = experiment, experiment.engine.queue
        self.most, self.observe, self.crowd, self.here = most, observe, crowd, here
        self._turn: list[Waiting] = []  # asked in this turn of the event loop
        self._open = 0  # questions without an answer
        self._last = 1  # handed over together the last time
        self._usual: dict[str, float] = {}  # mean seconds of the last lone brief questions, by kind
        self._is_failing = False  # whether the last batch could not be kept
        self.queue.start(f"experiment {experiment.name}")

    async def ask(self, function: Callable[[], T], brief: str = "") -> T:
        """Return the answer, once it is durable. `brief`: its kind, if it is usually quick."""
        if self._open >= self.most:
            raise unavailable("too many calls wait for this experiment")
        self._open += 1
        self.crowd.open += 1
        try:
            if brief and self._is_quiet(brief):
                await asyncio.sleep(0)  # for whoever asks in this turn of the loop too
                if self._is_quiet(brief):
                    reports: list[Batch] = []
                    own = Question(function, lambda _, batch: reports.append(batch))
                    if self.queue.try_now(own):
                        return self._answered_here(own, reports[0], brief)  # type: ignore[no-any-return]
            return await self._queued(function, brief)
        finally:
            self._open -= 1
            self.crowd.open -= 1

    def stop(self) -> None:
        """Answer all that wait, and close the experiment."""
        self.queue.stop()
        self.experiment.close()

    def _is_quiet(self, brief: str) -> bool:
        """Return True if the loop may answer the only question that waits, and is quick."""
        alone = self.here and self.crowd.open == 1 and self._last == 1
        quick = self._usual.get(brief, SLOW) < QUICK
        return alone and quick and not self.experiment.engine.snapshots.is_coming

    def _answered_here(self, own: Question, batch: Batch, brief: str) -> Any:
        if self._note(batch, brief):
            self.observe(batch)
        else:
            asyncio.get_running_loop().call_soon(self.observe, batch)  # after the answer
        if own.error is not None:
            raise own.error
        return own.answer

    def _queued(self, function: Callable[[], T], brief: str) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._turn.append(Waiting(function, self._deliver, future, brief))
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
        if not self.queue.submit(asked):
            for question in asked:
                question.error = unavailable("the service stops")
            set_results(asked)

    def _deliver(self, questions: list[Any], batch: Batch) -> None:
        """Hand the answers of a batch to the loop. Called by the thread that led it."""
        lone = batch.questions == 1
        observe: Callable[[], None] | None = partial(self.observe, batch)
        if self._note(batch, questions[0].brief if lone else ""):
            self.observe(batch)
            observe = None
        loop = questions[0].future.get_loop()
        loop.call_soon_threadsafe(set_results, questions, observe)

    def _note(self, batch: Batch, brief: str) -> bool:
        """Learn how long a lone brief question takes; return True if the storage fails or recovers.

        That is observed before the answer: whoever gets it then finds the service not ready.
        """
        if batch.error is not None:
            self._usual.clear()  # whoever asks next takes in all events again
        elif brief:
            usual = self._usual.get(brief, SLOW)
            self._usual[brief] = usual + (batch.seconds - usual) / MEMORY
        failed, self._is_failing = self._is_failing, batch.error is not None
        return failed or self._is_failing


def set_results(questions: list[Waiting], then: Callable[[], None] | None = None) -> None:
    """Set the futures of those who still wait, and call `then` once they have gone on."""
    for question in questions:
        if question.future.done():
            continue
        if question.error is not None:
            question.future.set_exception(question.error)
        else:
            question.future.set_result(question.answer)
    if then is not None:
        asyncio.get_running_loop().call_soon(then)
