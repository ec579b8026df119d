"""Opening an experiment: what is there, what is created, and what a failure leaves behind."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import ensample as es
from ensample.experiments.events import Created
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.writer_lock import WriterLock
from experiments.places import NAMES, SMALL


def test_a_path_that_was_mistyped_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match=r"typo\.db.*to create one, give its actions"):
        es.open_experiment(tmp_path / "typo.db")
    assert not list(tmp_path.iterdir())
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(es.InvalidArgument, match="to create one, give its actions"):
        es.open_experiment(empty)


@pytest.mark.parametrize("given", [{}, {"actions": ["a", "b"]}], ids=str)
def test_a_folder_is_refused_as_one(given: dict, tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match="the file of an experiment, and this is a folder"):
        es.open_experiment(tmp_path, **given)


def test_log_of_a_closed_experiment_says_that_it_is_closed(tmp_path: Path) -> None:
    experiment = es.open_experiment(tmp_path / "news.db", actions=["a", "b"])
    experiment.close()
    with pytest.raises(
        es.StorageError, match=r"expected an experiment that is open \(it was closed\)"
    ):
        experiment.log()


def test_a_name_is_enough_where_actions_come_with_decisions(tmp_path: Path) -> None:
    with es.open_experiment(tmp_path / "menu.db", "menu", recipe=SMALL) as menu:
        assert menu.decide(actions=["soup", "salad"]).action in ("soup", "salad")


@pytest.mark.parametrize(
    "given", [{"actions": []}, {"actions": NAMES, "floor": 2}, {"actions": NAMES, "clock": 3}]
)
def test_a_creation_that_fails_leaves_nothing(given: dict, tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument):
        es.open_experiment(tmp_path / "news.db", **given)
    assert not list(tmp_path.iterdir())


def test_closing_leaves_the_database_alone(tmp_path: Path) -> None:
    es.open_experiment(tmp_path / "news.db", actions=NAMES, recipe=SMALL).close()
    assert [file.name for file in tmp_path.iterdir()] == ["news.db"]
    with (
        es.open_experiment(tmp_path / "news.db"),
        pytest.raises(es.InvalidArgument, match="one writer"),
    ):
        es.open_experiment(tmp_path / "news.db")
    with pytest.raises(es.InvalidArgument, match="created with"):
        es.open_experiment(tmp_path / "news.db", floor=0.5)
    assert [file.name for file in tmp_path.iterdir()] == ["news.db"]


def test_a_lock_on_a_file_that_was_taken_away_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B has opened the lock's file, A lets go of it and takes it away, C begins a new one: B must not write too."""
    import fcntl

    path, held = tmp_path / "e.db", []
    first, lock = WriterLock(path), fcntl.flock

    def slowly(file: object, how: int) -> None:
        if not held:
            held.append(None)
            first.release()
            held.append(WriterLock(path))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", slowly)
    with pytest.raises(es.InvalidArgument, match="one writer"):
        WriterLock(path)
    held[1].release()
    assert not list(tmp_path.iterdir())


LOCKS = """
import sys, time
from pathlib import Path
import ensample as es
from ensample.experiments.storage.writer_lock import WriterLock
mine = Path(sys.argv[1]).with_name("held")
for _ in range(300):
    try:
        lock = WriterLock(Path(sys.argv[1]))
    except es.InvalidArgument:
        continue
    mine.touch(exist_ok=False)  # fails where another one writes
    mine.unlink()
    lock.release()
"""


def test_of_many_processes_one_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOCKS, str(tmp_path / "e.db")]
    ended = [process.wait() for process in [subprocess.Popen(command) for _ in range(3)]]
    assert ended == [0, 0, 0] and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("numbers", "advice"), [(1, "`ensample migrate OLD NEW`"), (99, "update ensample")]
)
def test_an_experiment_of_another_version_is_refused(
    numbers: int, advice: str, tmp_path: Path
) -> None:
    file = tmp_path / "news.db"
    es.open_experiment(file, actions=NAMES, recipe=SMALL).close()
    connection = apsw.Connection(str(file))
    connection.execute(
        "UPDATE events SET event = json_set(event, '$.numbers', ?) WHERE seq = 0", (numbers,)
    )
    connection.close()
    with pytest.raises(es.SnapshotError, match=rf"family calibrated: {numbers}, here .*{advice}"):
        es.open_experiment(file)


def test_a_batch_in_memory_is_whole_or_nothing() -> None:
    storage = MemoryStorage()
    with storage.batch():
        storage.append(Created(0, {}, 1))
    with pytest.raises(ZeroDivisionError), storage.batch():
        storage.append(Created(1, {}, 1))
        storage.append(Created(2, {}, 1))
        1 // 0  # noqa: B018
    assert storage.count == 1 and [event.time for event in storage.read()] == [0]


def test_a_decision_of_an_interrupted_batch_has_no_history() -> None:
    """A question that decides and then fails has decided nothing."""
    experiment = es.Experiment("news", actions=NAMES, recipe=SMALL)

    def fails() -> None:
        experiment.decide(id="lost")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.engine.ask(fails)
    assert experiment.reward("lost", 1) == "unknown" and experiment.log().is_empty()
    kept = experiment.decide(id="lost")
    assert experiment.log()["id"].to_list() == [kept.id] and experiment.reward(kept, 1) == "applied"
    experiment.verify()
