"""Group commit: the questions to one experiment, answered one at a time, and many of them with one
commit.

The first thread that asks leads: it answers all questions that wait, commits, and only then hands
out the answers. So an answer is given after its event is durable, and a slow disk syncs once for
many. Questions that arrive while a batch is being written are the next batch, led by one of their
threads.

An event loop, which must not wait, hands its questions over by `submit`. The queue's own thread
leads their batches. Both ways can be used at once.

Leadership is a flag under a plain lock: unlike a `threading.Condition`, it survives Ctrl-C.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple, TypeVar

from ensample.errors import ForkError, StorageError
from ensample.experiments.storage.base import Storage
from ensample.fork_safety import RefusedLock, register

T = TypeVar("T")

PATIENCE = 0.0002  # seconds that a leader waits for others, where there were others the last time
PATIENT = 4  # times
LARGEST = 256  # questions of one batch


class Batch(NamedTuple):
    """Report of one commit."""

    questions: int
    events: int  # that were kept
    seconds: float
    error: Exception | None  # of the storage: nothing was kept


class Question:
    """A function to be called, and its answer.

    `deliver` gets it; without one, a thread waits for it.
    """

    __slots__ = ("answer", "deliver", "done", "error", "function", "leads", "wake")

    def __init__(
        self,
        function: Callable[[], Any],
        deliver: "Callable[[list[Question], Batch], None] | None" = None,
    ) -> None:
        self.function, self.deliver = function, deliver
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = self.leads = False
        self.wake = threading.Lock()  # of the thread that waits
        self.wake.acquire()

    def run(self) -> None:
        """Note the answer or the error. One of the storage is raised: it is the whole batch's."""
        self.answer, self.error = None, None
        try:
            self.answer = self.function()
        except StorageError:
            raise
        except Exception as error:
            self.error = error


class CommitQueue:
    """The questions to one experiment. `prepare` is called before each of them."""

    def __init__(self, storage: Storage, prepare: Callable[[], None]) -> None:
        self.storage, self.prepare = storage, prepare
        self.lock: threading.RLock | RefusedLock = threading.RLock()  # a fork waits for it
        self._mutex = threading.Lock()  # of what follows
        self._waiting: deque[Question] = deque()
        self._is_led = False
        self._is_stopped = False
        self._last = 1  # the size of the last batch
        self._asking: int | None = None  # the thread whose question is being answered
        self._thread: threading.Thread | None = None
        self._work = threading.Lock()  # released when that thread is to lead
        register(self)

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Forget the parent's threads.

        What is in a database is refused by its storage from now on.
        """
        self._mutex, self._thread = threading.Lock(), None
        self._waiting.clear()
        self._is_led = self._asking == threading.get_ident()
        if not at_rest:
            expected = (
                "at rest: fork while no thread uses it, or make it in the process that uses it"
            )
            error = ForkError("an experiment that another thread was changing", expected)
            self.lock = RefusedLock(error)

    def ask(self, function: Callable[[], T]) -> T:
        """Return the answer once it is durable. A question within another joins its batch."""
        if self._asking == threading.get_ident():
            self.prepare()
            return function()
        if not self.storage.slow:  # each question is a batch of its own, as a commit costs nothing
            with self.lock:
                self.prepare()
                with self.storage.batch():
                    return function()
        own = Question(function)
        try:
            with self._mutex:
                self._waiting.append(own)
                own.leads, self._is_led = not self._is_led, True
            if not own.leads:
                own.wake.acquire()
            if own.leads:
                self._lead(own)
        except BaseException:  # Ctrl-C: nobody waits for this answer any more
            self._leave(own)
            raise
        if own.error is not None:
            raise own.error
        return own.answer  # type: ignore[no-any-return]

    def try_now(self, question: Question) -> bool:
        """Answer a question on this thread and deliver it; return False if another thread leads."""
        with self._mutex:
            if self._is_led or self._is_stopped:
                return False
            self._waiting.append(question)
            self._is_led = True
        self._lead(None)
        return True

    def submit(self, questions: Sequence[Question]) -> bool:
        """Hand questions over to the queue's thread; return False if it has been stopped."""
        with self._mutex:
            if self._is_stopped:
                return False
            self._waiting.extend(questions)
            if not self._is_led:
                self._hand_over()
        return True

    def start(self, name: str) -> None:
        """Start the thread that answers submitted questions."""
        self._work.acquire()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, and end the thread."""
        with self._mutex:
            self._is_stopped, thread = True, self._thread
            if not self._is_led:
                self._hand_over()
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        while True:
            self._work.acquire()
            with self._mutex:
                if self._is_stopped and not self._waiting:
                    self._thread, self._is_led = None, False
                    return
            self._lead(None)

    def _lead(self, own: Question | None) -> None:
        """Answer all that wait as one batch.

        `own` is the question of a thread that waits itself.
        """
        start = time.perf_counter()
        asked: list[Question] = []
        before, after = 0, -1  # events
        failure: Exception | None = None
        try:
            # A database refuses a child, and has a lock of its own that a fork must not wait for
            # twice.
            with nullcontext() if self.storage.slow else self.lock, self.storage.batch():
                before = self.storage.count
                self._answer_all(asked, PATIENT if own is not None and self._last > 1 else 0)
                after = self.storage.count
        except Exception as error:
            failure = error  # also of those who came meanwhile, who need not wait for their own
            with self._mutex:
                asked += self._waiting
                self._waiting.clear()
            for question in asked:
                question.error = error
        except BaseException:  # Ctrl-C of this thread is not the others' business
            committed = False
            with suppress(StorageError):
                committed = self.storage.count == after
            if not committed:
                with self._mutex:
                    others = [question for question in asked if question is not own]
                    self._waiting.extendleft(reversed(others))
                asked = [] if own is None else [own]
            raise
        finally:
            self._last = len(asked)
            for question in asked:
                question.done = True
                question.wake.release()
            with self._mutex:
                if own is not None:
                    own.leads = False
                self._hand_over()
            if own is None or len(asked) > 1:
                events = 0 if failure is not None else after - before
                deliver(asked, Batch(len(asked), events, time.perf_counter() - start, failure))

    def _answer_all(self, asked: list[Question], patience: int) -> None:
        """Answer those that wait and, with patience, about as many as the last time."""
        while True:
            while self._waiting and len(asked) < LARGEST:
                question = self._waiting.popleft()
                asked.append(question)
                self.prepare()
                self._asking = threading.get_ident()
                try:
                    question.run()
                finally:
                    self._asking = None
            if not patience or len(asked) >= self._last:
                return
            patience -= 1
            time.sleep(PATIENCE)

    def _hand_over(self) -> None:
        """Under the mutex: let the queue's thread lead the next batch, or a thread that waits."""
        if self._thread is not None:
            self._is_led = bool(self._waiting) or self._is_stopped
            if self._is_led:
                self._work.release()
        else:
            self._is_led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake.release()

    def _leave(self, own: Question) -> None:
        """Give up a question; where its thread was to lead, somebody else does."""
        with self._mutex:
            if own in self._waiting:
                self._waiting.remove(own)
            if own.leads:
                own.leads = False
                self._hand_over()


def deliver(questions: list[Question], batch: Batch) -> None:
    """Hand out the answers of submitted questions, those of the same receiver together."""
    receivers: dict[Callable[[list[Question], Batch], None], list[Question]] = {}
    for question in questions:
        if question.deliver is not None:
            receivers.setdefault(question.deliver, []).append(question)
    for receiver, answered in receivers.items():
        receiver(answered, batch)
