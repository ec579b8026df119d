"""A study that grows gives the numbers of a new one, and computes nothing that is there."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ensample as es
from ensample.lab.cell import source_digest
from ensample.lab.cell_file import as_parquet, intact_file, name_of, read
from ensample.lab.changes import SHOWN, changes_between
from ensample.lab.run import Progress
from lab.conftest import Played
from lab.studies import LINUCB, POLICIES, SPHERE, TOML, cell_files, file_of, parquet_files, small
from lab.test_store import Enough, after_two_cells

GROWN: dict[str, tuple[dict[str, Any], int]] = {  # what changes, and the runs that are then missing
    "runs": ({"runs": 10}, 6 * 4),
    "one more run": ({"runs": 7}, 6),
    "a policy": ({"policy": [*POLICIES, LINUCB]}, 2 * 6),
    "a policy before the others": ({"policy": [LINUCB, *POLICIES]}, 2 * 6),
    "a size": ({"policy": [{**POLICIES[0], "size": [1, 2, 4]}, POLICIES[1]]}, 2 * 6),
    "a dimension": ({"problem": {**SPHERE, "dim": [2, 3, 4]}}, 3 * 6),
    "a problem": ({"problem": [SPHERE, {"family": "ball", "dim": 2}]}, 3 * 6),
    "a horizon": ({"horizon": [60, 90]}, 6 * 6),
    "everything": ({"runs": 8, "policy": [*POLICIES, LINUCB], "horizon": [30, 60]}, 6 * 2 + 10 * 8),
}


@pytest.mark.parametrize("name", GROWN)
def test_grown_study_is_as_new(name: str, tmp_path: Path, played: Played) -> None:
    changes, missing = GROWN[name]
    old, new = tmp_path / "old", tmp_path / "new"
    es.run_study(small(), old)
    played.clear()
    grown = es.run_study(small(**changes), old, grow=True)
    assert played.runs == missing
    fresh = es.run_study(small(**changes), new)
    assert cell_files(old) == cell_files(new)
    assert grown.cells.drop("seconds_per_round").equals(fresh.cells.drop("seconds_per_round"))
    assert es.Results(old).study == small(**changes)


def forge(folder: Path, number: int) -> None:
    """Replace a cell by an intact file with other numbers."""
    study, path = small(), file_of(folder, number)
    file = intact_file(path)
    assert file is not None
    results, marks = read(file)
    forged = replace(results, regret=np.full_like(results.regret, 12345.0))
    definition = study.definition(study.cells[number])
    content = as_parquet(definition, forged, marks)
    path.unlink()
    (path.parent / name_of(definition, forged, content)).write_bytes(content)


def test_first_runs_are_not_computed_again(tmp_path: Path, played: Played) -> None:
    """Numbers that no simulation gives are still there."""
    before = [outcome.regret.copy() for outcome in es.run_study(small(), tmp_path).outcomes]
    forge(tmp_path, 4)
    before[4][:] = 12345.0
    played.clear()
    grown = es.run_study(small(runs=9), tmp_path, grow=True)
    assert [task.replicates for task in played] == [range(6, 9)] * 6
    for regret, outcome in zip(before, grown.outcomes, strict=True):
        assert np.array_equal(outcome.regret[:6], regret) and len(outcome.regret) == 9
        assert outcome.seconds_per_round > 0.0


def test_changed_study_is_refused_with_the_changes(tmp_path: Path, played: Played) -> None:
    es.run_study(small(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    played.clear()
    with pytest.raises(es.StudyError) as caught:
        es.run_study(small(runs=8, policy=[{**POLICIES[0], "scale": 1.0}, LINUCB]), tmp_path)
    cells = [f"ES, sphere, dim={dim}, size={size}" for dim in (2, 3) for size in (1, 4)]
    assert str(caught.value).splitlines()[1:] == [
        "  added    UCB, sphere, dim=2",
        "  added    UCB, sphere, dim=3",
        *(f"  changed  {cell}: recipe.scale 0.3 -> 1.0" for cell in cells),
        "  dropped  TS, sphere, dim=2",
        "  dropped  TS, sphere, dim=3",
        "of 6 cells 0 stay, 0 go on from the runs they have, 6 to compute anew",
    ]
    assert "--grow" in str(caught.value) and "grow=True" in str(caught.value)
    said = r"runs     6 -> 7\nof 6 cells 0 stay, 6 go on from the runs they have, 0 to compute"
    with pytest.raises(es.StudyError, match=said):
        es.run_study(small(runs=7), tmp_path)
    with pytest.raises(es.StudyError, match="name     'small' -> 'other'"):
        es.run_study(small(name="other"), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not played
    assert es.run_study(small(name="other"), tmp_path, grow=True).study.name == "other"


def test_many_changes_are_counted() -> None:
    sizes = {**POLICIES[0], "size": list(range(1, 101))}
    many = changes_between(small(), small(policy=[sizes, POLICIES[1]]))
    assert len(many.added) == 196 and len(list(many.rows())) == SHOWN + 1
    assert "... and 184 more" in str(many)


def test_words_may_change_without_growing(tmp_path: Path, played: Played) -> None:
    es.run_study(small(), tmp_path)
    played.clear()
    policies = [{**POLICIES[1], "label": "Thompson"}, {**POLICIES[0], "label": "Ensemble"}]
    problem = {**SPHERE, "label": "ball's skin"}
    words = {"question": "Why?", "baseline": "Thompson"}
    results = es.run_study(small(policy=policies, problem=problem, **words), tmp_path)
    assert not played and len(results.differences()) == 4
    assert set(results.cells["policy"]) == {"Ensemble", "Thompson"}
    assert es.Results(tmp_path).study.question == "Why?"


def are_same(one: es.Results, other: es.Results) -> bool:
    return all(
        np.array_equal(a.regret, b.regret) and np.array_equal(a.pulls, b.pulls)
        for a, b in zip(one.outcomes, other.outcomes, strict=True)
    )


def test_longer_horizon_is_computed_anew(tmp_path: Path, played: Played) -> None:
    """No state of a run is kept, so none can be continued; what has not changed stays."""
    other = {"family": "sphere", "dim": 4, "label": "b", "horizon": 50}
    problems = [{**SPHERE, "label": "a"}, other]
    es.run_study(small(problem=problems), tmp_path / "old")
    played.clear()
    longer = small(problem=problems, horizon=120)
    said = r"horizon 60 -> 120\n(.*\n)*of 9 cells 3 stay, 0 go on .*, 6 to compute anew"
    with pytest.raises(es.StudyError, match=said):
        es.run_study(longer, tmp_path / "old")
    grown = es.run_study(longer, tmp_path / "old", grow=True)
    assert {task.cell.problem for task in played} == {"a"} and played.runs == 6 * 6
    assert are_same(grown, es.run_study(longer, tmp_path / "new"))


@pytest.mark.parametrize(
    "changes", [{"policy": POLICIES[:1]}, {"runs": 4}, {"problem": {**SPHERE, "dim": 3}}]
)
def test_dropped_cells_are_kept_and_not_shown(
    changes: dict[str, Any], tmp_path: Path, played: Played
) -> None:
    old = tmp_path / "old"
    first = es.run_study(small(), old)
    files = cell_files(old)
    played.clear()
    fewer = es.run_study(small(**changes), old, grow=True)
    assert not played and cell_files(old) == files
    assert are_same(fewer, es.run_study(small(**changes), tmp_path / "new"))
    assert are_same(es.Results(old), fewer)
    played.clear()
    again = es.run_study(small(), old, grow=True)
    assert not played and are_same(first, again), "they come back at no cost"


def test_cells_that_differ_in_words_are_run_once(tmp_path: Path, played: Played) -> None:
    seen: list[Progress] = []
    twins = small(policy=[POLICIES[1], {**POLICIES[1], "label": "the same"}])
    results = es.run_study(twins, tmp_path, progress=seen.append)
    assert played.runs == 2 * 6 and len(results.outcomes) == 4 and len(cell_files(tmp_path)) == 2
    rounds = 4 * 6 * 60
    assert seen[0] == (0, 4, 0, rounds) and seen[-1] == (4, 4, rounds, rounds)
    assert results.differences("TS")["mean"].to_list() == [0.0, 0.0]


def test_progress_counts_runs_that_are_there(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    seen: list[Progress] = []
    es.run_study(small(runs=9), tmp_path, grow=True, progress=seen.append)
    rounds = 6 * 9 * 60
    assert seen[0] == (0, 6, 6 * 6 * 60, rounds) and seen[-1] == (6, 6, rounds, rounds)


def test_half_grown_study_goes_on_without_growing(tmp_path: Path, played: Played) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    es.run_study(small(), old)
    with pytest.raises(Enough):
        es.run_study(small(runs=9), old, grow=True, progress=after_two_cells, threads=1)
    assert len(es.Results(old).outcomes) == 2, "a cell without all its runs is not finished"
    played.clear()
    es.run_study(small(runs=9), old)
    assert played.runs == 4 * 3
    es.run_study(small(runs=9), new)
    assert cell_files(old) == cell_files(new)


def test_shorter_file_beside_the_longer_one_is_removed(tmp_path: Path, played: Played) -> None:
    """As after a kill between the two steps."""
    es.run_study(small(), tmp_path)
    shorter = cell_files(tmp_path)
    es.run_study(small(runs=9), tmp_path, grow=True)
    longer = cell_files(tmp_path)
    for name, data in shorter.items():
        (tmp_path / "cells" / name).write_bytes(data)
    assert all(len(outcome.regret) == 9 for outcome in es.Results(tmp_path).outcomes)
    played.clear()
    es.run_study(small(runs=9), tmp_path)
    assert not played and cell_files(tmp_path) == longer


def test_damaged_file_of_fewer_runs_is_not_used(tmp_path: Path, played: Played) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    es.run_study(small(), old)
    victim = file_of(old, 2)
    victim.write_bytes(victim.read_bytes()[:-9])
    played.clear()
    es.run_study(small(runs=9), old, grow=True)
    assert played.runs == 5 * 3 + 9
    es.run_study(small(runs=9), new)
    assert parquet_files(old) == cell_files(new)


def test_cluster_grows_a_study_too(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    grown = small(runs=9, policy=[*POLICIES, LINUCB])
    es.run_study(small(), old)
    es.run_study(grown, old, grow=True, cluster="local")
    es.run_study(grown, new)
    assert cell_files(old) == cell_files(new)


def test_growth_is_in_the_journal_and_the_new_file_of_the_study_is_kept(tmp_path: Path) -> None:
    es.run_study(es.Study.parse(TOML), tmp_path)
    longer = TOML.replace("runs = 6", "runs = 8", 1)
    es.run_study(es.Study.parse(longer), tmp_path, grow=True)
    assert (tmp_path / "study.toml").read_text() == longer
    events = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    grown = {"event": "grown", "runs": 8, "added": 0, "changed": 0, "dropped": 0}
    assert [event for event in events if event["event"] == "grown"] == [grown]
    es.run_study(small(runs=9), tmp_path, grow=True)
    assert not (tmp_path / "study.toml").exists(), "it would describe the study before"


def test_new_folder_may_be_grown(tmp_path: Path) -> None:
    assert len(es.run_study(small(), tmp_path / "new", grow=True).outcomes) == 6
    with pytest.raises(es.WrongType, match="grow = 'yes'"):
        es.run_study(small(), tmp_path / "other", grow="yes")  # type: ignore[arg-type]
    assert not (tmp_path / "other").exists()


MINE = """
from dataclasses import dataclass
import ensample as es

@dataclass(frozen=True)
class Mine(es.Greedy):
    def describe_me(self):
        return "%s"
"""


def import_mine(folder: Path, word: str) -> None:
    """Import a recipe as another process would."""
    (folder / "my_recipes.py").write_text(MINE % word)
    sys.modules.pop("my_recipes", None)
    importlib.invalidate_caches()
    source_digest.cache_clear()


@pytest.mark.filterwarnings("ignore::ensample.LiveSimulationWarning")
def test_edited_code_is_another_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: Played
) -> None:
    """Otherwise one cell would have runs of the old code and of the new."""
    monkeypatch.syspath_prepend(tmp_path)
    mine = [POLICIES[1], {"label": "mine", "recipe": "my_recipes:Mine"}]
    out = tmp_path / "out"
    for _ in range(2):
        played.clear()
        import_mine(tmp_path, "before")
        es.run_study(small(policy=mine), out)
    assert played == [], "the same source is the same definition"

    import_mine(tmp_path, "after")
    with pytest.raises(es.StudyError, match=r"changed  mine, .*: my_recipes was edited\n"):
        es.run_study(small(policy=mine), out)
    assert len(es.Results(out).outcomes) == 4, "results of the old code can still be read"
    grown = es.run_study(small(policy=mine), out, grow=True)
    assert {task.cell.policy for task in played} == {"mine"} and played.runs == 2 * 6
    assert len(grown.outcomes) == 4
