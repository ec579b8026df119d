"""Snapshots: when they are taken, what they hold, and opening from one."""

import warnings
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import apsw
import pytest

import ensample as es
from ensample.experiments import snapshots
from ensample.experiments.snapshots import captured, folded, snapshot_of, state_hash
from ensample.experiments.state import State
from ensample.experiments.storage.base import Snapshot
from experiments.places import Place, played

SCHEDULER = "ensample.experiments.snapshot_scheduler"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an experiment with a few snapshots."""
    monkeypatch.setattr(f"{SCHEDULER}.SNAPSHOT_EVERY", 20)
    played(Place("disk", tmp_path).news).close()
    return tmp_path / "0.db"


@pytest.fixture
def news(tmp_path: Path) -> es.Experiment:
    return Place("disk", tmp_path).news()


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of the events that states take in."""
    found: list[int] = []
    apply = State.apply

    def noting(self: State, *rest: object, **more: object) -> None:
        found.append(self.seq)
        apply(self, *rest, **more)

    monkeypatch.setattr(State, "apply", noting)
    return found


def kept(experiment: es.Experiment) -> list[Snapshot]:
    return list(experiment.engine.storage.snapshots())


def test_opening_takes_in_only_the_events_after_the_snapshot(
    file: Path, applied: list[int]
) -> None:
    with es.open_experiment(file) as experiment:
        count, seqs = experiment.events, [item.seq for item in kept(experiment)]
        assert len(seqs) >= 3 and applied == list(range(seqs[0], count)) and count - seqs[0] < 20
        whole = State(experiment.settings)
        for event in experiment.engine.storage.read():
            whole.apply(event)
        again = folded(experiment.settings, experiment.engine.storage)
        assert state_hash(whole) == experiment.hash == state_hash(again)


def test_decision_is_explained_from_the_snapshot_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, applied: list[int]
) -> None:
    """Whole snapshots are the last two and each tenth; all events together say the same."""
    monkeypatch.setattr(f"{SCHEDULER}.SNAPSHOT_EVERY", 10)
    experiment = played(Place("disk", tmp_path).news, 200)
    copy = experiment.replay()  # in memory, without snapshots
    ids = experiment.log()["id"].to_list()
    assert sum(item.content is not None for item in kept(experiment)) >= 4
    for id in (ids[0], ids[60], ids[120], ids[-1]):
        applied.clear()
        found = experiment.explain(id)
        assert len(applied) <= 110 and found == copy.explain(id)
    experiment.close()


def test_of_old_snapshots_the_hash_is_kept(file: Path) -> None:
    with es.open_experiment(file, verify=True) as experiment:
        contents = [item.content is not None for item in kept(experiment)]
        assert contents[:2] == [True, True] and not any(contents[2:]) and len(contents) > 2


def test_snapshots_are_counted_from_the_last_one_after_opening(file: Path) -> None:
    for _ in range(6):
        with es.open_experiment(file) as experiment:
            before = len(kept(experiment))
            for _ in range(8):
                experiment.decide({"age": 1})
    with es.open_experiment(file) as experiment:
        assert len(kept(experiment)) > before
        assert experiment.events - experiment.engine.snapshots.last < 20


class Later:
    """A pool that makes snapshots when the test wants it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], Snapshot], Future[Snapshot]]] = []

    def __call__(self, make: Callable[[], Snapshot]) -> Future[Snapshot]:
        self.asked.append((make, Future()))
        return self.asked[-1][1]

    def make(self) -> None:
        make, future = self.asked.pop()
        future.set_result(make())


def at_once(make: Callable[[], Snapshot]) -> Future[Snapshot]:
    """Do as a pool that is done by the next event."""
    done: Future[Snapshot] = Future()
    try:
        done.set_result(make())
    except Exception as error:
        done.set_exception(error)
    return done


def test_snapshot_made_elsewhere_is_of_the_moment_it_was_due(tmp_path: Path) -> None:
    experiment = Place("disk", tmp_path).news(reward=es.Reward(rule="sum", wait="30 min"))
    scheduler = experiment.engine.snapshots
    scheduler.every, scheduler.submit = 20, (later := Later())
    ids = [experiment.decide({"age": n}, active=n % 2 == 0).id for n in range(19)]
    assert len(later.asked) == 1
    for number, id in enumerate(ids):  # all that waits becomes something else
        experiment.activate(id)
        experiment.reward(id, 1, key=f"{number}")
    experiment.add("weather")
    experiment.decide({"device": "phone"})
    assert not kept(experiment) and len(later.asked) == 1
    later.make()
    experiment.decide({"age": 3})
    assert [item.seq for item in kept(experiment)] == [20] and len(later.asked) == 1
    experiment.verify()
    experiment.close()
    with es.open_experiment(tmp_path / "0.db", verify=True) as again:
        assert again.decisions == 21


def test_thread_that_makes_a_snapshot_rests_between_pieces(
    news: es.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "PIECE", 4)
    rests: list[float] = []
    monkeypatch.setattr(snapshots.time, "sleep", rests.append)
    news.engine.snapshots.every, news.engine.snapshots.submit = 20, (later := Later())
    for number in range(19):
        news.decide({"age": number})
    moment = captured(news.engine.state)
    made, expected = later.asked[0][0](), snapshot_of(moment)
    assert (made.seq, made.hash) == (expected.seq, expected.hash)
    assert rests == [snapshots.REST] * 8  # words, then arrays
    monkeypatch.setattr(snapshots, "RESTS", 0.001)
    snapshot_of(moment, gently=True)
    assert 0 < sum(rests[8:]) < 2 * 0.001, "however many wait"
    news.close()


def fail(*_: object, **__: object) -> Snapshot:
    raise es.StorageError(28, "no space left", "0.db")


def test_snapshot_of_a_batch_that_was_undone_is_not_kept(
    news: es.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    news.engine.snapshots.every, news.engine.snapshots.submit = 20, (later := Later())
    for number in range(18):
        news.decide({"age": number})
    with monkeypatch.context() as broken, pytest.raises(es.StorageError):
        broken.setattr(news.engine.storage, "_commit", fail)
        news.decide({"device": "phone"})
    later.make()
    assert news.decisions == 19
    news.decide({"age": 7.5})  # another one of this number
    assert news.decisions == 19 and not kept(news) and len(later.asked) == 1
    news.verify()
    news.close()


def test_storage_that_refuses_a_snapshot_refuses_the_batch(
    news: es.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it has the events: nothing is acknowledged, and it is tried again."""
    news.engine.snapshots.every, news.engine.snapshots.submit = 10, at_once
    for number in range(9):
        news.decide({"age": number})
    with monkeypatch.context() as patch, pytest.raises(es.StorageError):
        patch.setattr(news.engine.storage, "keep", fail)
        news.decide({"device": "phone"})
    assert len(news.log()) == 9
    for number in range(3):
        news.decide({"age": number})
    assert news.decisions == 12 and len(kept(news)) == 1
    news.verify()
    news.close()


def warnings_of(experiment: es.Experiment, decisions: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(decisions):
            experiment.decide({"age": number})
    assert all(item.category is es.SnapshotWarning for item in caught)
    return [str(item.message) for item in caught]


@pytest.mark.parametrize("submit", [None, at_once], ids=["inline", "elsewhere"])
@pytest.mark.parametrize("step", ["captured", "snapshot_of", "too large"])
def test_snapshot_that_fails_is_a_warning_once(
    news: es.Experiment, submit: object, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs no answer, and is tried again; after one that works the next failure is news."""
    news.engine.snapshots.every, news.engine.snapshots.submit = 10, submit
    connection = news.engine.storage._connection

    def broken(*_: object, **__: object) -> Snapshot:
        raise MemoryError("no room for all of it")

    def check_fails(decisions: int) -> None:
        said = r"(SnapshotError: it has " if step == "too large" else "(MemoryError: no room for"
        with monkeypatch.context() as patch:
            usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH)
            if step == "too large":
                connection.limit(apsw.SQLITE_LIMIT_LENGTH, 2_000)
            else:
                patch.setattr(f"{SCHEDULER}.{step}", broken)
            (message,) = warnings_of(news, decisions)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)
        assert message.startswith("news: no snapshot after ") and said in message
        assert "all events are kept" in message

    check_fails(35)
    assert not kept(news)
    assert warnings_of(news, 12) == [] and len(kept(news)) == 1
    check_fails(25)
    assert news.decisions == 72
    news.verify()
    news.close()


def test_snapshot_of_the_largest_size_is_kept(news: es.Experiment) -> None:
    """A larger one is the database's error: that is what `room` is for."""
    storage = news.engine.storage
    storage._connection.limit(apsw.SQLITE_LIMIT_LENGTH, 20_000)
    with storage.batch():
        storage.keep(Snapshot(1, bytes(storage.room), "0" * 64))
    with pytest.raises(es.StorageError), storage.batch():
        storage.keep(Snapshot(2, bytes(storage.room + 1_000), "0" * 64))
    assert [item.seq for item in storage.snapshots()] == [1]
    storage.close()


FIRST_REWARD = "(SELECT min(seq) FROM events WHERE event ->> 'kind' = 'rewarded')"
CHANGES = {
    "UPDATE snapshots SET hash = 'x' WHERE content IS NOT NULL": "damaged: its hash does not fit",
    "UPDATE snapshots SET hash = 'x' WHERE content IS NULL": "is not the one that was kept",
    f"UPDATE events SET event = json_set(event, '$.value', 0.125) WHERE seq = {FIRST_REWARD}": (
        "is not the one that was kept"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_damage_is_found(file: Path, change: str) -> None:
    connection = apsw.Connection(str(file))
    connection.execute(change)
    connection.close()
    with pytest.raises(es.SnapshotError, match=CHANGES[change]):
        es.open_experiment(file, verify="damaged" not in CHANGES[change])


def test_snapshot_without_a_time_is_that_of_an_earlier_release(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = snapshots.tensors_to_bytes

    def without_time(tensors: object, words: dict[str, str]) -> bytes:
        return write(tensors, {"content": words["content"]})

    monkeypatch.setattr(snapshots, "tensors_to_bytes", without_time)
    with es.open_experiment(file) as experiment:
        experiment.engine.snapshots.every = 1
        experiment.decide()
        time, hash = experiment.engine.state.time, experiment.hash
    with es.open_experiment(file, verify=True) as again:
        assert (again.engine.state.time, again.hash) == (time, hash)
