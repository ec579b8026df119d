"""Experiments that version 0.2.0 recorded: opened where their numbers are the same, refused where they are not."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

import ensample as es
from ensample import codec
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


def unpacked(name: str, folder: Path) -> Path:
    """Write the file of a released experiment."""
    file = folder / f"{name}.db"
    file.write_bytes(gzip.decompress((RELEASED / f"{name}.db.gz").read_bytes()))
    return file


def at_released_numbers(monkeypatch: pytest.MonkeyPatch, *but: str) -> None:
    """Give each family the number of version 0.2.0, but for those that are raised."""
    for family in LIVE_NUMBERS:
        monkeypatch.setitem(LIVE_NUMBERS, family, 5 if family in but else 4)


@pytest.mark.parametrize("name", ["given"])
def test_a_released_experiment_whose_family_is_the_same_goes_on(name: str, tmp_path: Path) -> None:
    """When this fails because states have changed, raise the family's number and change the test."""
    start = 1_700_000_000.0  # by this clock no wait is over
    with es.open_experiment(
        unpacked(name, tmp_path), clock=lambda: start, verify=True
    ) as experiment:
        assert experiment.hash == FACTS[name]["hash"]
        columns = ["id", "action", "propensities", "member", "drawn", "reward", "outcome"]
        assert [list(row) for row in experiment.log().select(columns).rows()] == FACTS[name]["rows"]
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
    file, recipe = (
        unpacked("given", tmp_path),
        es.EnsembleSampling(size=10, scale=0.5, regularization=1.0),
    )
    monkeypatch.setattr(codec.stored, "REMOVED", {"EnsembleSampling": ("gone", "also_gone")})
    monkeypatch.setattr(codec.stored, "ADDED", {"EnsembleSampling": ("half_life", "never_there")})
    new = codec.describe(recipe)
    old = {name: value for name, value in new.items() if name != "half_life"} | {"gone": "auto"}
    assert codec.upgrade(old) == codec.upgrade(new) == new
    assert codec.upgrade([old, 3]) == [new, 3]
    connection = apsw.Connection(str(file))
    change = "UPDATE events SET event = json_set(event, '$.settings.recipe', json(?)) WHERE seq = 0"
    connection.execute(change, (json.dumps(old),))
    connection.close()
    with es.open_experiment(file, recipe=recipe, verify=True) as experiment:
        assert experiment.hash == FACTS["given"]["hash"]
    with pytest.raises(es.InvalidArgument, match="recipe"):
        es.open_experiment(file, recipe=replace(recipe, half_life=3))


def test_an_event_that_only_a_newer_version_knows_is_refused(tmp_path: Path) -> None:
    file = unpacked("linucb", tmp_path)
    connection = apsw.Connection(str(file))
    connection.execute(
        "UPDATE events SET event = json_set(event, '$.invented_later', 1) WHERE seq = 0"
    )
    connection.close()
    with pytest.raises(es.SnapshotError, match=r"invented_later.*update ensample"):
        es.open_experiment(file)
