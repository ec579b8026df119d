"""An experiment on the disk opens from its last snapshot and the events after it."""

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
from experiments.places import NAMES, SMALL, Place, played


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of an experiment with a few snapshots."""
    monkeypatch.setattr("ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", 20)
    played(Place("disk", tmp_path).news).close()
    return tmp_path / "0.db"


def test_only_what_came_after_the_snapshot_is_taken_in(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    apply = State.apply
    monkeypatch.setattr(
        State, "apply", lambda self, *rest: (taken.append(self.seq), apply(self, *rest))[1]
    )
    with es.open_experiment(file) as experiment:
        count, kept = (
            experiment.engine.storage.count,
            [item.seq for item in experiment.engine.storage.snapshots()],
        )
        assert len(kept) >= 3 and taken == list(range(kept[0], count)) and count - kept[0] < 20
        whole = State(experiment.settings)
        for event in experiment.engine.storage.read():
            apply(whole, event)
        assert (
            state_hash(whole)
            == experiment.hash
            == state_hash(folded(experiment.settings, experiment.engine.storage))
        )


def test_a_decision_is_explained_from_the_snapshot_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole snapshots are the last two and each tenth: what is said is what folding all events says."""
    monkeypatch.setattr("ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", 10)
    experiment = played(Place("disk", tmp_path).news, 200)
    copy = experiment.replay()  # in memory, without snapshots
    ids = experiment.log()["id"].to_list()
    whole = [item.seq for item in experiment.engine.storage.snapshots() if item.content is not None]
    assert len(whole) >= 4
    apply, taken = State.apply, []
    monkeypatch.setattr(
        State, "apply", lambda self, *rest: (taken.append(self.seq), apply(self, *rest))[1]
    )
    for id in (ids[0], ids[60], ids[120], ids[-1]):
        taken.clear()
        found = experiment.explain(id)
        assert len(taken) <= 110
        assert found == copy.explain(id)
    experiment.close()


def test_of_old_snapshots_the_hash_is_kept(file: Path) -> None:
    with es.open_experiment(file, verify=True) as experiment:
        contents = [item.content is not None for item in experiment.engine.storage.snapshots()]
        assert contents[:2] == [True, True] and not any(contents[2:]) and len(contents) > 2


def test_snapshots_go_on_after_opening(file: Path) -> None:
    """Counted from the last one, not from the moment of opening."""
    for _ in range(6):
        with es.open_experiment(file) as experiment:
            before = len(list(experiment.engine.storage.snapshots()))
            for _ in range(8):
                experiment.decide({"age": 1})
    with es.open_experiment(file) as experiment:
        assert len(list(experiment.engine.storage.snapshots())) >= before + 1
        assert experiment.engine.storage.count - experiment.engine.snapshots.last < 20


class Later:
    """Makes snapshots when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], Snapshot], Future[Snapshot]]] = []

    def __call__(self, made: Callable[[], Snapshot]) -> Future[Snapshot]:
        self.asked.append((made, Future()))
        return self.asked[-1][1]

    def make(self) -> None:
        made, future = self.asked.pop()
        future.set_result(made())


def test_a_snapshot_that_is_made_meanwhile_is_of_the_moment_it_was_asked_for(
    tmp_path: Path,
) -> None:
    experiment = Place("disk", tmp_path).news(reward=es.Reward(rule="sum", wait="30 min"))
    experiment.engine.snapshots.every, experiment.engine.snapshots.submit = 20, (later := Later())
    ids = [experiment.decide({"age": n}, active=n % 2 == 0).id for n in range(19)]
    assert len(later.asked) == 1
    for number, id in enumerate(ids):  # all that waits becomes something else
        experiment.activate(id)
        experiment.reward(id, 1, key=f"{number}")
    experiment.add("weather")
    experiment.decide({"device": "phone"})
    assert not list(experiment.engine.storage.snapshots()) and len(later.asked) == 1
    later.make()
    experiment.decide({"age": 3})
    assert [item.seq for item in experiment.engine.storage.snapshots()] == [20] and len(
        later.asked
    ) == 1
    experiment.verify()
    experiment.close()
    with es.open_experiment(tmp_path / "0.db", verify=True) as again:
        assert again.decisions == 21


def test_who_makes_a_snapshot_meanwhile_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between pieces, for others to go on; what comes of it is the same."""
    monkeypatch.setattr(snapshots, "PIECE", 4)
    rests: list[float] = []
    monkeypatch.setattr(snapshots.time, "sleep", rests.append)
    experiment = Place("disk", tmp_path).news()
    experiment.engine.snapshots.every, experiment.engine.snapshots.submit = 20, (later := Later())
    for number in range(19):
        experiment.decide({"age": number})
    moment = captured(experiment.engine.state)
    made, expected = later.asked[0][0](), snapshot_of(moment)
    assert (made.seq, made.hash) == (expected.seq, expected.hash)
    assert rests == [snapshots.REST] * 8  # words, then arrays
    monkeypatch.setattr(snapshots, "RESTS", 0.001)
    snapshot_of(moment, gently=True)
    assert 0 < sum(rests[8:]) < 2 * 0.001, "however many wait"
    experiment.close()


def test_a_snapshot_of_a_batch_that_was_undone_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Place("disk", tmp_path).news()
    experiment.engine.snapshots.every, experiment.engine.snapshots.submit = 20, (later := Later())
    for number in range(18):
        experiment.decide({"age": number})
    with monkeypatch.context() as broken, pytest.raises(es.StorageError):
        broken.setattr(experiment.engine.storage, "_commit", failing)
        experiment.decide({"device": "phone"})
    later.make()
    assert experiment.decisions == 19
    experiment.decide({"age": 7.5})  # another one of this number
    assert (
        experiment.decisions == 19
        and not list(experiment.engine.storage.snapshots())
        and len(later.asked) == 1
    )
    experiment.verify()
    experiment.close()


def broken(*_: object, **__: object) -> Snapshot:
    raise MemoryError("no room for all of it")


def said_of(experiment: es.Experiment, decisions: int) -> list[str]:
    """The warnings of some decisions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(decisions):
            experiment.decide({"age": number})
    assert all(item.category is es.SnapshotWarning for item in caught)
    return [str(item.message) for item in caught]


@pytest.mark.parametrize("step", ["captured", "snapshot_of"])
@pytest.mark.parametrize("aside", [True, False], ids=["aside", "here"])
def test_a_snapshot_that_fails_is_said_once(
    aside: bool, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs no answer, and is tried again; once one has been made, the next failure is news."""
    experiment = Place("disk", tmp_path).news()
    experiment.engine.snapshots.every = 10
    if aside:
        experiment.engine.snapshots.submit = at_once

    with monkeypatch.context() as patch:
        patch.setattr(f"ensample.experiments.snapshot_scheduler.{step}", broken)
        (message,) = said_of(experiment, 35)
        assert message.startswith(
            "news: no snapshot after 10 events (MemoryError: no room for all of it); all events are kept"
        )
    assert not list(experiment.engine.storage.snapshots())
    assert said_of(experiment, 12) == [] and len(list(experiment.engine.storage.snapshots())) == 1
    with monkeypatch.context() as patch:
        patch.setattr(f"ensample.experiments.snapshot_scheduler.{step}", broken)
        assert len(said_of(experiment, 25)) == 1
    assert experiment.decisions == 72
    experiment.verify()
    experiment.close()


@pytest.mark.parametrize("aside", [True, False], ids=["aside", "here"])
def test_a_snapshot_too_large_for_the_database_is_gone_without(aside: bool, tmp_path: Path) -> None:
    """Said once; every call is answered, and all events are there."""
    experiment = Place("disk", tmp_path).news()
    experiment.engine.snapshots.every = 10
    if aside:
        experiment.engine.snapshots.submit = at_once
    connection = experiment.engine.storage._connection
    usual = connection.limit(apsw.SQLITE_LIMIT_LENGTH, 2_000)
    (message,) = said_of(experiment, 35)
    assert (
        "no snapshot after 10 events (SnapshotError: it has " in message
        and "and the storage takes 1,000)" in message
    )
    assert experiment.decisions == 35 and not list(experiment.engine.storage.snapshots())
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, usual)
    assert said_of(experiment, 12) == [] and len(list(experiment.engine.storage.snapshots())) == 1
    experiment.verify()
    experiment.close()


def test_a_snapshot_of_the_largest_size_is_kept(tmp_path: Path) -> None:
    """And one that is larger than any row is the database's error: that is what `room` is for."""
    experiment = Place("disk", tmp_path).news()
    storage = experiment.engine.storage
    storage._connection.limit(apsw.SQLITE_LIMIT_LENGTH, 20_000)
    with storage.batch():
        storage.keep(Snapshot(1, bytes(storage.room), "0" * 64))
    with pytest.raises(es.StorageError), storage.batch():
        storage.keep(Snapshot(2, bytes(storage.room + 1_000), "0" * 64))
    assert [item.seq for item in storage.snapshots()] == [1]
    storage.close()


def at_once(made: Callable[[], Snapshot]) -> Future[Snapshot]:
    """As an executor would have done it by the next event."""
    done: Future[Snapshot] = Future()
    try:
        done.set_result(made())
    except Exception as error:
        done.set_exception(error)
    return done


def test_a_storage_that_refuses_a_snapshot_refuses_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it still has the events of the batch nobody knows: nothing is acknowledged, and it is tried again."""
    experiment = Place("disk", tmp_path).news()
    experiment.engine.snapshots.every, experiment.engine.snapshots.submit = 10, at_once
    for number in range(9):
        experiment.decide({"age": number})
    with monkeypatch.context() as patch, pytest.raises(es.StorageError):
        patch.setattr(experiment.engine.storage, "keep", lambda _: failing())
        experiment.decide({"device": "phone"})
    assert len(experiment.log()) == 9
    for number in range(3):
        experiment.decide({"age": number})
    assert experiment.decisions == 12 and len(list(experiment.engine.storage.snapshots())) == 1
    experiment.verify()
    experiment.close()


def failing() -> None:
    raise es.StorageError(28, "no space left", "0.db")


@pytest.mark.parametrize(
    ("change", "verify", "message"),
    [
        (
            "UPDATE snapshots SET hash = 'x' WHERE content IS NOT NULL",
            False,
            "damaged: its hash does not fit",
        ),
        (
            "UPDATE snapshots SET hash = 'x' WHERE content IS NULL",
            True,
            "is not the one that was kept",
        ),
        (
            "UPDATE events SET event = json_set(event, '$.value', 0.125) WHERE seq = "
            "(SELECT min(seq) FROM events WHERE event ->> 'kind' = 'rewarded')",
            True,
            "is not the one that was kept",
        ),
    ],
)
def test_what_does_not_fit_is_found(file: Path, change: str, verify: bool, message: str) -> None:
    connection = apsw.Connection(str(file))
    connection.execute(change)
    connection.close()
    with pytest.raises(es.SnapshotError, match=message):
        es.open_experiment(file, verify=verify)


def test_arguments_must_be_those_of_its_creation(file: Path) -> None:
    with (
        es.open_experiment(file, "news", actions=NAMES, recipe=SMALL, seed=0),
        pytest.raises(es.InvalidArgument, match="it has one writer"),
    ):
        es.open_experiment(file)
    with pytest.raises(
        es.InvalidArgument, match=r"floor = 0\.5: expected what the experiment was created with"
    ):
        es.open_experiment(file, floor=0.5)


def test_the_clock_goes_on_from_the_latest_time_after_reopening(file: Path) -> None:
    """Also where the last event before the snapshot has an earlier one, which a call gave."""
    with es.open_experiment(file, clock=lambda: 5e9) as experiment:
        decision = experiment.decide()
        experiment.engine.snapshots.every = 1
        experiment.reward(decision, 1, time=6e9)
        experiment.reward(experiment.decide(), 1, time=1e9)
        latest = experiment.engine.state.time
        assert next(iter(experiment.engine.storage.snapshots())).seq == experiment.events
    with es.open_experiment(file, clock=lambda: 2e9) as again:
        assert again.engine.state.time == latest == 6_000_000_000_000_000
        assert again.decide().time == latest


def test_a_snapshot_without_a_time_is_that_of_an_earlier_release(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = snapshots.tensors_to_bytes
    monkeypatch.setattr(
        snapshots, "tensors_to_bytes", lambda all, found: write(all, {"content": found["content"]})
    )
    with es.open_experiment(file) as experiment:
        experiment.engine.snapshots.every = 1
        experiment.decide()
        time, hash = experiment.engine.state.time, experiment.hash
    with es.open_experiment(file, verify=True) as again:
        assert (again.engine.state.time, again.hash) == (time, hash)
