"""Group commit: an answer is durable, a failed batch is everybody's, Ctrl-C harms nobody else."""

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import ensample as es
from ensample.experiments.commit_queue import LARGEST, Batch, CommitQueue, Question
from ensample.experiments.events import Expired
from ensample.experiments.storage.memory import MemoryStorage


class SlowStorage(MemoryStorage):
    """A storage whose commits wait for the test, and fail if it says so."""

    slow = True

    def __init__(self) -> None:
        super().__init__()
        self.error: BaseException | None = None
        self.batches: list[int] = []  # events of each
        self.free = threading.Event()
        self.free.set()

    @contextmanager
    def batch(self) -> Iterator[None]:
        before = self.count
        with super().batch():
            yield
            assert self.free.wait(60)
            if self.error is not None:
                raise self.error
        self.batches.append(self.count - before)


@pytest.fixture
def storage() -> SlowStorage:
    return SlowStorage()


@pytest.fixture
def queue(storage: SlowStorage) -> CommitQueue:
    return CommitQueue(storage, lambda: None)


def adding(storage: SlowStorage, number: int) -> Callable[[], int]:
    def add() -> int:
        storage.append(Expired(number, None))
        return number

    return add


def in_threads(queue: CommitQueue, storage: SlowStorage, calls: list[Callable[[], object]]) -> list:
    """Ask in a thread each, while the first one's commit waits; return answers and errors."""
    found: list[object] = [None] * len(calls)

    def ask(place: int) -> None:
        try:
            found[place] = queue.ask(calls[place])
        except BaseException as error:
            found[place] = error

    storage.free.clear()
    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(calls))]
    threads[0].start()
    while queue._waiting or not queue._is_led:  # until it commits
        pass
    for place, thread in enumerate(threads[1:], 1):
        thread.start()
        while len(queue._waiting) < place:
            pass
    storage.free.set()
    for thread in threads:
        thread.join(60)
    return found


def test_questions_that_arrive_during_a_commit_share_the_next(
    queue: CommitQueue, storage: SlowStorage
) -> None:
    answers = in_threads(queue, storage, [adding(storage, n) for n in range(6)])
    assert answers == list(range(6)) and storage.batches == [1, 5]


def test_error_of_the_storage_is_everybodys(queue: CommitQueue, storage: SlowStorage) -> None:
    """Also of those who arrived meanwhile, and nothing is kept."""
    storage.error = es.StorageError(errno.ENOSPC, "full", "x.db")
    answers = in_threads(queue, storage, [adding(storage, n) for n in range(4)])
    assert answers == [storage.error] * 4 and storage.count == 0
    storage.error = None
    assert queue.ask(adding(storage, 7)) == 7 and storage.count == 1


def test_other_errors_are_those_of_their_question(queue: CommitQueue, storage: SlowStorage) -> None:
    calls = [adding(storage, 0), adding(storage, 1), lambda: 1 // 0, adding(storage, 2)]
    first, second, error, last = in_threads(queue, storage, calls)
    assert (first, second, last) == (0, 1, 2) and isinstance(error, ZeroDivisionError)
    assert storage.batches == [1, 2]


def test_interrupt_of_the_leader_is_not_the_others_business(
    queue: CommitQueue, storage: SlowStorage
) -> None:
    """Its batch is undone; the others' questions are asked again, by another leader."""
    asked: list[int] = []

    def interrupted() -> None:
        asked.append(len(asked))
        if len(asked) == 1:
            raise KeyboardInterrupt

    found = in_threads(queue, storage, [adding(storage, 0), interrupted, adding(storage, 1)])
    assert isinstance(found[1], KeyboardInterrupt) and (found[0], found[2]) == (0, 1)
    assert storage.count == 2 and queue.ask(lambda: "goes on") == "goes on"


def test_question_within_a_question_joins_its_batch(
    queue: CommitQueue, storage: SlowStorage
) -> None:
    assert queue.ask(lambda: queue.ask(adding(storage, 1)) + queue.ask(adding(storage, 2))) == 3
    assert storage.batches == [2]


def test_submitted_questions_are_delivered_after_their_commit(
    queue: CommitQueue, storage: SlowStorage
) -> None:
    """By the queue's thread, beside threads that ask themselves; a large batch is cut."""
    queue.start("test")
    done, reports = threading.Event(), []
    count = LARGEST + 10

    def deliver(questions: list[Question], batch: Batch) -> None:
        assert storage.count >= sum(each.questions for each in reports) + batch.events
        reports.append(batch)
        if sum(each.questions for each in reports) >= count:
            done.set()

    questions = [Question(adding(storage, number), deliver) for number in range(count)]
    assert queue.submit(questions)
    assert queue.ask(adding(storage, -1)) == -1 and done.wait(60)
    assert [question.answer for question in questions] == list(range(count))
    assert reports[0].questions == LARGEST and all(report.error is None for report in reports)
    alone = Question(adding(storage, 5), deliver)
    assert queue.try_now(alone) and alone.answer == 5
    queue.stop()
    assert not queue.submit(questions) and not queue.try_now(alone)
    assert queue.ask(lambda: "still") == "still"
