"""Who answers a question: the thread of its experiment, or the event loop itself where nobody else asks."""

import asyncio
import errno
import threading
from collections.abc import Iterator

import pytest

import ensample as es
from ensample.errors import StorageError
from ensample.serve.worker import MEMORY, QUICK, SLOW, Batch, Crowd, Worker

who = threading.get_ident


@pytest.fixture
def seen() -> "list[Batch]":
    return []


@pytest.fixture
def worker(seen: "list[Batch]") -> Iterator[Worker]:
    """Whose questions have been quick."""
    made = Worker(es.Experiment("shop", actions=["a", "b"]), 10, seen.append, Crowd())
    made._usual = 0.0
    yield made
    made.stop()


def full() -> None:
    raise StorageError(errno.ENOSPC, "full", "shop.db")


def test_a_lone_question_is_answered_by_the_loop(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> list[int]:
        return [await worker.ask(who, brief=True) for _ in range(3)]

    assert asyncio.run(ask()) == [who()] * 3
    assert [batch.questions for batch in seen] == [1, 1, 1]


def test_questions_of_one_turn_share_a_commit(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> list[int]:
        return await asyncio.gather(*(worker.ask(who, brief=True) for _ in range(3)))

    assert who() not in asyncio.run(ask())
    assert [batch.questions for batch in seen] == [3]


def test_a_question_to_another_experiment_counts_too(worker: Worker) -> None:
    """Both commits can be under way at once."""
    other = Worker(es.Experiment("news", actions=["a", "b"]), 10, lambda batch: None, worker.crowd)
    other._usual = 0.0

    async def ask() -> list[int]:
        return await asyncio.gather(worker.ask(who, brief=True), other.ask(who, brief=True))

    assert len({who(), *asyncio.run(ask())}) == 3
    other.stop()


def test_what_may_take_long_is_for_the_thread(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def answered_here(brief: bool = True) -> bool:
        return asyncio.run(worker.ask(who, brief=brief)) == who()

    assert answered_here() and not answered_here(brief=False)
    monkeypatch.setattr(worker, "here", False)
    assert not answered_here()
    monkeypatch.setattr(worker, "here", True)
    monkeypatch.setattr(type(worker.experiment), "snapshot_comes", True)
    assert not answered_here()
    monkeypatch.undo()
    worker._usual = SLOW
    assert not answered_here()
    assert worker._usual < SLOW, "it is learned from the thread's answers whether they are quick"


def test_after_a_failure_the_loop_answers_no_more(worker: Worker, seen: "list[Batch]") -> None:
    """Who comes next takes in all events again. The failure is known before its answer is."""

    async def ask() -> None:
        with pytest.raises(StorageError):
            await worker.ask(full, brief=True)
        assert seen[0].error is not None
        assert await worker.ask(who, brief=True) != who()

    asyncio.run(ask())
    assert worker._usual > QUICK and SLOW / MEMORY > QUICK


def test_an_error_of_a_question_is_its_answer(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> None:
        with pytest.raises(es.InvalidArgument):
            await worker.ask(lambda: worker.experiment.reward("a", 7), brief=True)

    asyncio.run(ask())
    assert worker._open == worker.crowd.open == 0 and [batch.error for batch in seen] == [None]


def test_questions_to_a_worker_that_has_stopped_are_refused(worker: Worker) -> None:
    worker.stop()
    with pytest.raises(Exception, match="the service stops"):
        asyncio.run(worker.ask(who, brief=True))
