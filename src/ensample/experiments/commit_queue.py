"""Serialisation of the questions to an experiment: one at a time, or many with one commit.

In memory each question waits for the one before it. Where a commit takes time, questions that arrive while a batch is being
written share the next batch.

The first thread that arrives leads: it answers all waiting questions, commits, and only then hands out the answers. If others
have arrived meanwhile it makes one of them the leader. So an answer is given after its event is kept, and a slow disk writes
once for many of them.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ensample.errors import ForkError, StorageError
from ensample.experiments.storage.base import Storage
from ensample.fork_safety import RefusedLock, register

PATIENCE = 0.0002  # seconds that a leader gives others, where there were others the last time
PATIENT = 4  # times


class OneAtATime:
    """The questions to an experiment in memory. `steady` is called before each."""

    def __init__(self, storage: Storage, steady: Callable[[], None]) -> None:
        self.storage, self.steady = storage, steady
        self.lock: threading.RLock | RefusedLock = threading.RLock()
        register(self)

    def do(self, question: Callable[[], Any]) -> Any:
        """Return the answer to a question, which may be asked within another one."""
        with self.lock:
            self.steady()
            with self.storage.batch():
                return question()

    def after_fork_in_child(self, at_rest: bool) -> None:
        if not at_rest:
            expected = (
                "at rest: fork while no thread uses it, or make it in the process that uses it"
            )
            self.lock = RefusedLock(
                ForkError("an experiment that another thread was changing", expected)
            )


class Ticket:
    """A question of one thread, and its answer."""

    __slots__ = ("answer", "done", "error", "leads", "question", "wake")

    def __init__(self, question: Callable[[], Any]) -> None:
        self.question = question
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = False
        self.leads = False
        self.wake = threading.Lock()
        self.wake.acquire()

    def ask(self) -> None:
        """An error of the storage is the whole batch's; any other is this question's answer."""
        self.answer, self.error = None, None
        try:
            self.answer = self.question()
        except StorageError:
            raise
        except Exception as error:
            self.error = error


class Group:
    """The questions to one experiment. `steady` is called before each."""

    def __init__(self, storage: Storage, steady: Callable[[], None]) -> None:
        self.storage, self.steady = storage, steady
        self.lock = threading.Lock()
        self._queue: deque[Ticket] = deque()
        self._led = False
        self._last = 1  # the size of the last batch
        self._asking: int | None = None  # the thread whose questions are being answered
        register(self)

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Forget the threads of the parent. The storage refuses what is asked from now on."""
        self.lock = threading.Lock()
        self._queue.clear()
        self._led, self._asking = False, None

    def do(self, question: Callable[[], Any]) -> Any:
        """The answer, once it is kept; within another question, at once: it is kept with that one's."""
        if self._asking == threading.get_ident():
            self.steady()
            return question()
        ticket = Ticket(question)
        with self.lock:
            self._queue.append(ticket)
            ticket.leads = not self._led
            self._led = True
        if not ticket.leads:
            try:
                ticket.wake.acquire()
            except BaseException:  # Ctrl-C: nobody waits for this answer any more
                self._leave(ticket)
                raise
        if not ticket.done:
            self._lead(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def _lead(self, own: Ticket) -> None:
        """Answer all that wait, and make one of those that came meanwhile the leader."""
        asked: list[Ticket] = []
        expected = -1  # events, once all have been asked
        try:
            with self.storage.batch():
                self._ask_all(asked)
                expected = self.storage.count
        except Exception as error:
            if own not in asked:  # nothing could be asked: it is closed, say
                with self.lock:
                    self._queue.remove(own)
                asked.append(own)
            for ticket in asked:
                ticket.error = error  # nothing of this batch is kept
        except BaseException:  # Ctrl-C of the leader is not the others' business
            if self.storage.count != expected:
                with self.lock:
                    self._queue.extendleft(
                        ticket for ticket in reversed(asked) if ticket is not own
                    )
                asked = [own]
            raise
        finally:
            self._last = len(asked)
            for ticket in asked:
                ticket.done = True
                ticket.wake.release()
            with self.lock:
                self._hand_over()

    def _ask_all(self, asked: list[Ticket]) -> None:
        patience = PATIENT if self._last > 1 else 0
        while True:
            while self._queue:
                ticket = self._queue.popleft()
                asked.append(ticket)
                self.steady()
                self._asking = threading.get_ident()
                try:
                    ticket.ask()
                finally:
                    self._asking = None
            if not patience or len(asked) >= self._last:
                return
            patience -= 1
            time.sleep(PATIENCE)

    def _hand_over(self) -> None:
        self._led = bool(self._queue)
        if self._queue:
            self._queue[0].leads = True
            self._queue[0].wake.release()

    def _leave(self, ticket: Ticket) -> None:
        """Without an answer; someone else leads where this one was to."""
        with self.lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
                if ticket.leads:
                    self._hand_over()
