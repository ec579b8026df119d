"""Answers outlive a power loss at every moment; a full disk acknowledges nothing."""

import shutil
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import apsw
import pytest

import ensample as es
from attempts import attempts
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.sqlite import SQLiteStorage
from experiments.disks import Forgetful, Outage, Small, disk, laid_out
from experiments.places import SMALL, Ticking, counted

MOMENTS = attempts(sample=60, full=1_000_000)

Answers = list[tuple[str, Any]]
GIVEN = {"actions": ["a", "b"], "recipe": SMALL, "reward": es.Reward(wait=50, default=0)}


class AnswersFirst(SQLiteStorage):
    """The mistake to be found: answers are given, and committed some batches later."""

    batches = 0
    every = 5

    def batch(self) -> Any:
        self.batches += 1
        if not self.closed and self.batches % self.every == 0:
            self._commit()
        return nullcontext()


def played(folder: Path, vfs: Forgetful, kind: type[SQLiteStorage], synchronous: str) -> Answers:
    """Decide, reward, expire and add; return the answers in order, and tell the disk of each."""
    clock = Ticking()
    storage = kind(folder / "e.db", vfs=vfs.name, synchronous=synchronous)
    storage._connection.wal_autocheckpoint(12)  # pages: also the way back into the database is met
    experiment = experiment_in(storage, {"name": "e"}, GIVEN, clock, counted())
    answers: Answers = []

    def answered(kind: str, value: Any) -> None:
        answers.append((kind, value))
        vfs.answers = len(answers)
        vfs.watch()

    for number in range(30):
        clock.move(10)
        decision = experiment.decide({"x": number, "city": f"c{number % 7}"})
        answered("decided", decision)
        if number % 3:
            answered("rewarded", (decision.id, experiment.reward(decision, 1)))
        if number % 10 == 5:
            experiment.add(f"n{number}")
            answered("added", f"n{number}")
    storage.close()
    return answers


def missing(outage: Outage, answers: Answers, folder: Path) -> list[Any]:
    """Answers that had been given and of which nothing is found.

    What is found is what its events come to.
    """
    place = laid_out(outage.image, folder) / "e.db"
    try:
        if not place.exists() or place.stat().st_size == 0:
            return answers[: outage.answers]
        with es.open_experiment(place, "e", **GIVEN, verify=True) as experiment:
            log = {row["id"]: row for row in experiment.log().iter_rows(named=True)}
            given = answers[: outage.answers]
            return [answer for answer in given if not is_kept(answer, log, experiment)]
    finally:
        shutil.rmtree(folder)


def is_kept(answer: tuple[str, Any], log: dict[str, Any], experiment: es.Experiment) -> bool:
    match answer:
        case ("decided", decision):
            row = log.get(decision.id, {"action": None, "propensity": None})
            return (row["action"], row["propensity"]) == (decision.action, decision.propensity)
        case ("rewarded", (id, "applied")):
            return id in log and log[id]["outcome"] == "applied" and log[id]["reward"] == 1.0
        case ("added", name):
            return name in experiment.actions
    raise AssertionError(answer)


KINDS = {
    "ours": (SQLiteStorage, "FULL", True),
    "synchronous-normal": (SQLiteStorage, "NORMAL", False),
    "answer-before-commit": (AnswersFirst, "FULL", False),
}


@pytest.mark.parametrize(("kind", "synchronous", "lasts"), KINDS.values(), ids=KINDS)
def test_power_loss_at_every_sync(
    kind: type[SQLiteStorage], synchronous: str, lasts: bool, tmp_path: Path
) -> None:
    """The last two are the negative controls: they lose answers, and this notices."""
    with disk(Forgetful) as vfs:
        answers = played(tmp_path, vfs, kind, synchronous)
        # Before the first answer nothing is promised.
        outages = [outage for outage in vfs.outages if outage.answers]
        chosen = outages[:: max(1, len(outages) // MOMENTS)]
        lost = [missing(outage, answers, tmp_path / "after") for outage in chosen]
    failed = sum(map(bool, lost))
    print(f"\n{len(chosen)} of {len(outages)} moments, {len(answers)} answers: {failed} lose some")
    assert len(chosen) >= 40 and (failed == 0 if lasts else failed > len(chosen) / 4)


def test_the_checkpoint_is_met(tmp_path: Path) -> None:
    """The database itself is written and synced between answers, not only its log."""
    with disk(Forgetful) as vfs:
        played(tmp_path, vfs, SQLiteStorage, "FULL")
        images = {outage.image.get("e.db") for outage in vfs.outages if outage.answers > 5}
    assert len(images) > 4


def test_a_full_disk_acknowledges_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with disk(Small) as small:
        storage = SQLiteStorage(tmp_path / "e.db", vfs=small.name)
        experiment = experiment_in(storage, {"name": "e"}, GIVEN, Ticking(), counted())
        decisions = [experiment.decide({"x": number}) for number in range(20)]
        hash, count = experiment.hash, len(experiment.log())
        small.room = 0
        for call in (
            lambda: experiment.decide({"x": 1, "new": "thing"}),
            lambda: experiment.reward(decisions[0], 1),
            lambda: experiment.add("c"),
        ):
            with pytest.raises(es.StorageError, match=r"a place to write to \(.*no room|full"):
                call()
        assert len(experiment.log()) == count and experiment.hash == hash
        assert experiment.actions == ["a", "b"]
        small.room = float("inf")
        assert experiment.reward(decisions[0], 1) == "applied"
        assert experiment.decide({"x": 2}).action in ("a", "b")
        experiment.verify()
        experiment.close()
    with es.open_experiment(tmp_path / "e.db", verify=True) as again:
        assert len(again.log()) == count + 1 and again.version == 1


def test_room_that_ends_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    """Whatever write it is that does not fit, an answer is there or was never given."""
    with disk(Small) as small:
        storage = SQLiteStorage(tmp_path / "e.db", vfs=small.name)
        experiment = experiment_in(storage, {"name": "e"}, GIVEN, Ticking(), counted())
        given, failures = [], 0
        for room in range(0, 60_000, 1_500):
            small.room = room
            try:
                for number in range(6):
                    given.append(experiment.decide({"x": number, "big": "y" * 700}).id)
            except es.StorageError:
                failures += 1
        assert failures > 10 and experiment.log()["id"].to_list() == given
        experiment.verify()
        small.room = float("inf")
        experiment.close()


def test_damage_is_said(tmp_path: Path) -> None:
    file = tmp_path / "e.db"
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(es.SnapshotError, match="a database of an experiment that is whole"):
        es.open_experiment(file, actions=["a"])
    file.unlink()
    with closing(apsw.Connection(str(file))) as other:
        other.execute("CREATE TABLE other (x)")
    with pytest.raises(es.InvalidArgument, match="a database of an experiment"):
        es.open_experiment(file, actions=["a"])
    with pytest.raises(es.InvalidArgument, match="a file in a folder that exists"):
        es.open_experiment(tmp_path / "no" / "e.db", actions=["a"])
