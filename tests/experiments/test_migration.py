"""Experiments that version 0.2.0 recorded: opened if their numbers are the same, else migrated."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

import ensample as es
from ensample import codec
from ensample.experiments import migration
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service.migration import migrate
from ensample.version import LIVE_NUMBERS

RELEASED = Path(__file__).parent / "released"
FACTS: dict[str, Any] = json.loads((RELEASED / "facts.json").read_text())
FAMILIES = {
    "default": "calibrated",
    "given": "linear",
    "linucb": "calibrated",
    "logistic": "logistic",
    "networks": "networks",
}


START = 1_700_000_000.0  # by this clock no wait is over
COLUMNS = ["id", "action", "propensities", "member", "drawn", "reward", "outcome"]


def rows_of(experiment: es.Experiment) -> list[Any]:
    return [list(row) for row in experiment.log().select(COLUMNS).rows()]


def change_event(file: Path, change: str, *values: object) -> None:
    """Change the first event of a file."""
    connection = apsw.Connection(str(file))
    query = f"UPDATE events SET event = json_set(event, {change}) WHERE seq = 0"
    connection.execute(query, values)
    connection.close()


def unpacked(name: str, folder: Path) -> Path:
    """Write the file of a released experiment."""
    file = folder / f"{name}.db"
    file.write_bytes(gzip.decompress((RELEASED / f"{name}.db.gz").read_bytes()))
    return file


def at_released_numbers(monkeypatch: pytest.MonkeyPatch, *but: str) -> None:
    """Give each family the number of version 0.2.0, but for those that are raised."""
    for family in LIVE_NUMBERS:
        monkeypatch.setitem(LIVE_NUMBERS, family, 5 if family in but else 4)


def test_released_experiment_of_an_equal_family_goes_on(tmp_path: Path) -> None:
    """If this fails as states have changed, raise the family's number and change the test."""
    file = unpacked("given", tmp_path)
    with es.open_experiment(file, clock=lambda: START, verify=True) as experiment:
        assert experiment.hash == FACTS["given"]["hash"]
        assert rows_of(experiment) == FACTS["given"]["rows"]
        assert experiment.decide({"age": 40}).propensity


@pytest.mark.parametrize("name", ["default", "linucb", "logistic"])
def test_a_released_experiment_whose_family_has_changed_is_migrated(
    name: str, tmp_path: Path
) -> None:
    family = FAMILIES[name]
    numbers = rf"family {family}: 4, here {LIVE_NUMBERS[family]}"
    with pytest.raises(es.SnapshotError, match=numbers + r".*`ensample migrate OLD NEW`"):
        es.open_experiment(unpacked(name, tmp_path))
    es.migrate_experiment(tmp_path / f"{name}.db", tmp_path / "new.db")
    with es.open_experiment(tmp_path / "new.db", verify=True) as experiment:
        assert name == "linucb" or experiment.settings.recipe.draws_fresh
        assert experiment.decide({"age": 40}).member == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_raising_one_family_refuses_its_experiments_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = FAMILIES[name]
    at_released_numbers(monkeypatch, family)
    with pytest.raises(
        es.SnapshotError, match=rf"family {family}: 4, here 5.*`ensample migrate OLD NEW`"
    ):
        es.open_experiment(unpacked(name, tmp_path))
    at_released_numbers(monkeypatch, *(set(LIVE_NUMBERS) - {family}))
    if name in ("given", "networks"):  # others' rules changed after all
        es.open_experiment(unpacked(name, tmp_path)).close()


@pytest.mark.parametrize(
    ("recipe", "family"),
    [
        (es.EnsembleSampling(), "calibrated"),
        (es.EnsembleSampling(member=es.RoundRobin()), "calibrated"),
        (es.EnsembleSampling(member=es.OptimisticMember()), "linear"),
        (es.EnsembleSampling(scale=1), "linear"),
        (es.EnsembleSampling(fresh=False), "calibrated"),
        (es.EnsembleSampling(model=es.Logistic()), "logistic"),
        (es.EnsembleSampling(scale=1, model=es.Logistic()), "logistic"),
        (es.EnsembleSampling(scale=1, fresh=True), "linear"),
        (es.Greedy(model=es.Logistic()), "logistic"),
        (es.EVILL(), "logistic"),
        (es.EnsembleSampling(model=es.Neural()), "networks"),
        (es.ThompsonSampling(), "linear"),
        (es.LinUCB(), "calibrated"),
        (es.LinUCB(1.0), "linear"),
        (es.LinUCB(form="closed"), "linear"),
        (es.LinUCB(model=es.Logistic()), "logistic"),
    ],
)
def test_a_recipe_has_a_family(recipe: es.Recipe, family: str) -> None:
    assert recipe.model_family == family


def test_fields_that_a_recipe_has_lost_or_gained_do_not_shut_its_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an earlier version of EnsembleSampling that had one field more and one less."""
    file = unpacked("given", tmp_path)
    recipe = es.EnsembleSampling(size=10, scale=0.5, regularization=1.0)
    monkeypatch.setattr(codec.stored, "REMOVED", {"EnsembleSampling": ("gone", "also_gone")})
    monkeypatch.setattr(codec.stored, "ADDED", {"EnsembleSampling": ("half_life", "never_there")})
    new = codec.describe(recipe)
    old = {name: value for name, value in new.items() if name != "half_life"} | {"gone": "auto"}
    assert codec.upgrade(old) == codec.upgrade(new) == new
    assert codec.upgrade([old, 3]) == [new, 3]
    change_event(file, "'$.settings.recipe', json(?)", json.dumps(old))
    with es.open_experiment(file, recipe=recipe, verify=True) as experiment:
        assert experiment.hash == FACTS["given"]["hash"]
    with pytest.raises(es.InvalidArgument, match="recipe"):
        es.open_experiment(file, recipe=replace(recipe, half_life=3))


def test_an_event_that_only_a_newer_version_knows_is_refused(tmp_path: Path) -> None:
    file = unpacked("linucb", tmp_path)
    change_event(file, "'$.invented_later', 1")
    with pytest.raises(es.SnapshotError, match=r"invented_later.*update ensample"):
        es.open_experiment(file)


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the numbers of all families."""
    for family in LIVE_NUMBERS:
        monkeypatch.setitem(LIVE_NUMBERS, family, 6)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_migrated_log_is_the_released_one_and_goes_on(
    name: str, raised: None, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    old, new = unpacked(name, tmp_path / "old"), tmp_path / "new.db"
    before = old.read_bytes()
    with pytest.raises(es.SnapshotError, match="ensample migrate"):
        es.open_experiment(old)
    assert es.migrate_experiment(old, new) == len(FACTS[name]["rows"]) == 60
    assert old.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "old"]

    with es.open_experiment(new, clock=lambda: START, verify=True) as experiment:
        assert rows_of(experiment) == FACTS[name]["rows"]
        assert (experiment.seed, experiment.settings.stream) == (3, name)
        waiting = experiment.waiting
        for number in range(20):
            decision = experiment.decide({"age": number, "device": "phone"}, time=START + 60_000)
            assert decision.propensity is not None
            assert experiment.reward(decision, number % 2, time=START + 60_000) == "applied"
            assert experiment.explain(decision).votes
        assert experiment.waiting <= waiting and experiment.decisions == 82
        with pytest.raises(es.DecisionError, match="an earlier version"):
            experiment.explain("d3")
        hash, log = experiment.hash, experiment.log()
    with es.open_experiment(new, verify=True) as again:
        assert (again.hash, again.log().equals(log)) == (hash, True)
        assert again.replay().hash == hash


def test_a_migrated_state_is_what_its_log_comes_to(raised: None, tmp_path: Path) -> None:
    """The numbers of this family have not really changed, so the state is the release's."""
    old, new = unpacked("linucb", tmp_path), tmp_path / "new.db"
    es.migrate_experiment(old, new)
    with es.open_experiment(new) as experiment:
        assert experiment.hash == FACTS["linucb"]["hash"]
    es.migrate_experiment(new, tmp_path / "newer.db")
    with es.open_experiment(tmp_path / "newer.db", verify=True) as experiment:
        assert experiment.hash == FACTS["linucb"]["hash"]


def test_long_logs_are_migrated_in_pieces(
    raised: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "PIECE", 7)
    old, steps = unpacked("given", tmp_path), []
    new = tmp_path / "new.db"
    assert migration.carry_over_file(old, new, show=lambda *step: steps.append(step)) == 60
    with closing(SQLiteReader(new)) as reader:
        assert steps == [(100, 2 * reader.count)]
        assert len(list(reader.snapshots())) == -(-reader.count // 7)
    es.open_experiment(new, verify=True).close()


CHANGED: dict[str, Any] = {
    "propensities": [0.5, 0.5],
    "action": "sport",
    "context": {},
    "member": 99,
    "reward": 0.5,
}


@pytest.mark.parametrize("field", CHANGED)
def test_a_row_that_differs_is_an_error_and_nothing_is_written(
    field: str, raised: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage that changes one field of one event: the comparison is what finds it."""
    said = "propensity" if field == "propensities" else field
    append = migration.SQLiteStorage.append
    kind, id = ("Rewarded", "d4") if field == "reward" else ("Decided", "d7")

    def spoiled(self: Any, event: Any) -> None:
        if type(event).__name__ == kind and event.id == id:
            event = event._replace(**{"value" if field == "reward" else field: CHANGED[field]})
        append(self, event)

    monkeypatch.setattr(migration.SQLiteStorage, "append", spoiled)
    expected = rf"row \d+ of the log is not what it was: .*{said} of {id} was"
    with pytest.raises(es.SnapshotError, match=expected):
        es.migrate_experiment(unpacked("linucb", tmp_path), tmp_path / "new.db")
    assert not [path.name for path in tmp_path.iterdir() if not path.name.startswith("linucb.db")]


def test_events_that_are_not_carried_over_are_found(
    raised: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = SQLiteReader.read

    def cut(self: SQLiteReader, start: int = 0) -> Iterator[Any]:
        events = list(read(self, start))
        return iter(events[:-3] if start else events)

    monkeypatch.setattr(SQLiteReader, "read", cut)
    with pytest.raises(es.SnapshotError, match=r"row \d+ of the log is not what it was"):
        es.migrate_experiment(unpacked("linucb", tmp_path), tmp_path / "new.db")


def test_migration_leaves_no_files_beside_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    es.open_experiment(folder / "news.db", "evening news", actions=["a", "b"]).close()
    assert migrate(str(folder / "news.db"), str(tmp_path / "new.db"), lambda *_: None) == {
        "evening news": 0
    }
    assert [path.name for path in folder.iterdir()] == ["news.db"]


def test_migration_reads_what_a_killed_writer_left_in_its_log(tmp_path: Path) -> None:
    with es.open_experiment(tmp_path / "news.db", actions=["a", "b"]) as experiment:
        experiment.decide()
        for path in list(tmp_path.glob("news.db*")):
            (tmp_path / path.name.replace("news", "killed")).write_bytes(path.read_bytes())
    assert (tmp_path / "killed.db-wal").stat().st_size > 0
    assert es.migrate_experiment(tmp_path / "killed.db", tmp_path / "new.db") == 1


def test_arguments_that_cannot_be_migrated(raised: None, tmp_path: Path) -> None:
    old, new = unpacked("given", tmp_path), tmp_path / "new.db"
    with pytest.raises(es.InvalidArgument, match=r"old = .*nobody\.db.*there is none"):
        es.migrate_experiment(tmp_path / "nobody.db", new)
    with pytest.raises(es.InvalidArgument, match=r"new = .*given\.db.*nothing yet"):
        es.migrate_experiment(old, old)
    with pytest.raises(es.InvalidArgument, match=r"new = .*a folder that exists"):
        es.migrate_experiment(old, tmp_path / "nowhere" / "new.db")
    (tmp_path / "text.db").write_text("age,price\n" * 1000)
    with pytest.raises(es.SnapshotError, match="a database of an experiment"):
        es.migrate_experiment(tmp_path / "text.db", new)
    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE keys (id TEXT)")
    connection.close()
    with pytest.raises(es.SnapshotError, match=r"other\.db: expected a database of an experiment"):
        es.migrate_experiment(tmp_path / "other.db", new)
    with es.open_experiment(
        unpacked("default", tmp_path).with_name("used.db"), actions=["a"]
    ) as used:
        with pytest.raises(es.InvalidArgument, match=r"old = .*used\.db.*not in use"):
            es.migrate_experiment(tmp_path / "used.db", new)
        assert used.decide().action == "a"
    change_event(old, "'$.numbers', 99")
    with pytest.raises(es.SnapshotError, match=r"newer version .*update ensample"):
        es.migrate_experiment(old, new)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "new"))]


class OwnEncoder(es.Columns):
    """An encoder of the user's own, which no file can hold."""


def test_objects_of_your_own_are_given_again(tmp_path: Path) -> None:
    recipe = es.EnsembleSampling(size=5, member=lambda t, m, rng: t % m)
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with es.open_experiment(old, actions=["a", "b"], recipe=recipe) as experiment:
        experiment.reward(experiment.decide(), 1)
    with pytest.raises(es.SnapshotError, match="cannot be stored"):
        es.migrate_experiment(old, new)
    assert es.migrate_experiment(old, new, recipe=recipe) == 1
    with es.open_experiment(new, recipe=recipe, verify=True) as experiment:
        assert experiment.version == 1


KILLED = """
import os, signal, sys
from pathlib import Path
import ensample as es
from ensample.experiments import migration
old, new, moment, number = sys.argv[1:]
module, _, name = moment.partition(".")
owner = getattr(migration, module) if name else migration
name = name or module
known = getattr(owner, name)
def cut_short(*arguments, **more):
    os.kill(os.getpid(), getattr(signal, number))
    return known(*arguments, **more)
setattr(owner, name, cut_short)
es.migrate_experiment(old, new)
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("moment", ["append_events", "captured", "compare_logs", "os.rename"])
def test_a_migration_cut_short_leaves_no_new_file_and_the_old_one_whole(
    moment: str, number: str, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    old, new = unpacked("linucb", tmp_path / "old"), tmp_path / "new.db"
    before = old.read_bytes()
    command = [sys.executable, "-c", KILLED, str(old), str(new), moment, number]
    ended = subprocess.run(command, capture_output=True, timeout=120, env=os.environ, check=False)
    assert ended.returncode in (-getattr(signal, number), 1), ended.stderr
    assert b"KeyboardInterrupt" in ended.stderr or number == "SIGKILL"
    assert old.read_bytes() == before and not new.exists()
    if number == "SIGINT":
        assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert es.migrate_experiment(old, new) == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "old"]
    assert [
        path.name for path in old.parent.iterdir() if not path.name.endswith(("-wal", "-shm"))
    ] == [old.name]
    es.open_experiment(new, verify=True).close()
