"""Who answers a question: the thread of its experiment, or the event loop itself."""

import asyncio
import errno
import math
import threading
from collections.abc import Iterator

import pytest

import ensample as es
from ensample.errors import StorageError
from ensample.service.worker import MEMORY, QUICK, SLOW, Batch, Crowd, Worker

who = threading.get_ident


@pytest.fixture
def seen() -> "list[Batch]":
    return []


@pytest.fixture
def worker(seen: "list[Batch]", monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """Whose questions have been quick."""
    monkeypatch.setattr("ensample.service.worker.QUICK", math.inf)  # on any machine
    made = Worker(es.Experiment("shop", actions=["a", "b"]), 10, seen.append, Crowd())
    yield made
    made.stop()


def full() -> None:
    raise StorageError(errno.ENOSPC, "full", "shop.db")


def test_a_lone_question_is_answered_by_the_loop(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> list[int]:
        return [await worker.ask(who, brief="decide") for _ in range(3)]

    assert asyncio.run(ask()) == [who()] * 3
    assert [batch.questions for batch in seen] == [1, 1, 1]


def test_questions_of_one_turn_share_a_commit(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> list[int]:
        return await asyncio.gather(*(worker.ask(who, brief="decide") for _ in range(3)))

    assert who() not in asyncio.run(ask())
    assert [batch.questions for batch in seen] == [3]


def test_a_question_to_another_experiment_counts_too(worker: Worker) -> None:
    """Both commits can be under way at once."""
    other = Worker(es.Experiment("news", actions=["a", "b"]), 10, lambda batch: None, worker.crowd)

    async def ask() -> list[int]:
        return await asyncio.gather(worker.ask(who, brief="decide"), other.ask(who, brief="decide"))

    assert len({who(), *asyncio.run(ask())}) == 3
    other.stop()


def test_what_may_take_long_is_for_the_thread(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered_here(brief: str = "decide") -> bool:
        return asyncio.run(worker.ask(who, brief=brief)) == who()

    assert answered_here() and not answered_here(brief="")
    monkeypatch.setattr(worker, "here", False)
    assert not answered_here()
    monkeypatch.setattr(worker, "here", True)
    monkeypatch.setattr(type(worker.experiment.engine.snapshots), "is_coming", True)
    assert not answered_here()
    monkeypatch.undo()  # quick is what took under 2 ms
    worker._usual.clear()
    assert not answered_here()
    assert worker._usual["decide"] < SLOW, (
        "it is learned from the thread's answers whether they are quick"
    )
    worker._usual = {"decide": 0.0}
    assert not answered_here("reward"), "each kind for itself"


def test_a_crowd_says_nothing_of_lone_questions(worker: Worker) -> None:
    """Each has a share of its commit only."""

    async def ask() -> None:
        await asyncio.gather(*(worker.ask(who, brief="decide") for _ in range(5)))

    asyncio.run(ask())
    assert worker._usual == {}


def test_events_that_cannot_be_counted_are_a_failure_like_others(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread lives on, for when they can."""
    monkeypatch.setattr(type(worker.queue.storage), "count", property(lambda self: full()))
    with pytest.raises(StorageError):
        asyncio.run(worker.ask(who))
    monkeypatch.undo()
    assert asyncio.run(worker.ask(who)) == worker.queue._thread.ident


def test_after_a_failure_the_loop_answers_no_more(
    worker: Worker, seen: "list[Batch]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes next takes in all events again. The failure is known before its answer is."""

    async def ask() -> None:
        with pytest.raises(StorageError):
            await worker.ask(full, brief="decide")
        assert seen[0].error is not None
        assert await worker.ask(who, brief="decide") != who()

    monkeypatch.undo()
    worker._usual = {"decide": 0.0}
    asyncio.run(ask())
    assert SLOW - SLOW / MEMORY > QUICK, "nor after one answer that took no time"


def test_questions_that_come_during_a_failure_share_it(worker: Worker) -> None:
    """None of them waits for a failure of its own, which may take seconds."""
    began, goes_on = threading.Event(), threading.Event()
    asked = []

    def failing() -> None:
        began.set()
        assert goes_on.wait(60)
        full()

    async def ask() -> list[object]:
        first = asyncio.ensure_future(worker.ask(failing))
        await asyncio.to_thread(began.wait, 60)
        more = [asyncio.ensure_future(worker.ask(lambda: asked.append(1))) for _ in range(3)]
        await asyncio.sleep(0.01)
        goes_on.set()
        found: list[object] = await asyncio.gather(first, *more, return_exceptions=True)
        return [*found, await worker.ask(who)]

    *failed, answer = asyncio.run(ask())
    assert [type(error) for error in failed] == [StorageError] * 4 and asked == []
    assert answer == worker.queue._thread.ident and worker._open == 0


def test_an_error_of_a_question_is_its_answer(worker: Worker, seen: "list[Batch]") -> None:
    async def ask() -> None:
        with pytest.raises(es.InvalidArgument):
            await worker.ask(lambda: worker.experiment.reward("a", 7), brief="decide")

    asyncio.run(ask())
    assert worker._open == worker.crowd.open == 0 and [batch.error for batch in seen] == [None]


def test_questions_to_a_worker_that_has_stopped_are_refused(worker: Worker) -> None:
    worker.stop()
    with pytest.raises(Exception, match="the service stops"):
        asyncio.run(worker.ask(who, brief="decide"))
