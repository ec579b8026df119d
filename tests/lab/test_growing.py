"""A study that grows gives the numbers of a new one, and computes nothing that is there."""

import importlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import ensample as es
from ensample.lab.cell import source_digest
from ensample.lab.cell_file import as_parquet, intact_file, name_of, read
from ensample.lab.changes import SHOWN, changes_between
from ensample.lab.run import Progress
from ensample.lab.tasks import Task
from lab.studies import POLICIES, SPHERE, TOML, small
from lab.test_run import cell_files, file_of

LINUCB = {"label": "UCB", "recipe": "LinUCB"}
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


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Task]]:
    """The tasks that are really run."""
    tasks: list[Task] = []
    run = Task.run

    def watched(task: Task, stop: Any) -> Any:
        tasks.append(task)
        return run(task, stop)

    monkeypatch.setattr(Task, "run", watched)
    yield tasks


def runs_of(tasks: list[Task]) -> int:
    return sum(len(task.replicates) for task in tasks)


@pytest.mark.parametrize("name", GROWN)
def test_grown_is_as_new(name: str, tmp_path: Path, played: list[Task]) -> None:
    changes, missing = GROWN[name]
    es.run_study(small(), tmp_path / "old")
    played.clear()
    grown = es.run_study(small(**changes), tmp_path / "old", grow=True)
    assert runs_of(played) == missing
    new = es.run_study(small(**changes), tmp_path / "new")
    assert cell_files(tmp_path / "old") == cell_files(tmp_path / "new"), "also byte for byte"
    assert grown.cells.drop("seconds_per_round").equals(new.cells.drop("seconds_per_round"))
    assert es.Results(tmp_path / "old").study == small(**changes)


def test_the_first_runs_are_those_that_were_there(tmp_path: Path, played: list[Task]) -> None:
    """Not computed again: numbers that no simulation gives are still there."""
    first = es.run_study(small(), tmp_path)
    marked = [outcome.regret.copy() for outcome in first.outcomes]
    forge(tmp_path, 4)
    played.clear()
    grown = es.run_study(small(runs=9), tmp_path, grow=True)
    assert all(task.replicates == range(6, 9) for task in played) and len(played) == 6
    for number, outcome in enumerate(grown.outcomes):
        before = np.full_like(marked[number], 12345.0) if number == 4 else marked[number]
        assert np.array_equal(outcome.regret[:6], before) and len(outcome.regret) == 9
    assert all(outcome.seconds_per_round > 0.0 for outcome in grown.outcomes)


def forge(folder: Path, number: int) -> None:
    """A whole file of a cell with other numbers."""
    study, path = small(), file_of(folder, number)
    file = intact_file(path)
    assert file is not None
    block, marks = read(file)
    forged = replace(block, regret=np.full_like(block.regret, 12345.0))
    definition = study.definition(study.cells[number])
    content = as_parquet(definition, forged, marks)
    path.unlink()
    (path.parent / name_of(definition, forged, content)).write_bytes(content)


def test_without_asking_nothing_changes(tmp_path: Path, played: list[Task]) -> None:
    es.run_study(small(), tmp_path)
    before = {
        path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()
    } | cell_files(tmp_path)
    played.clear()
    changed = small(runs=8, policy=[{**POLICIES[0], "scale": 1.0}, LINUCB])
    with pytest.raises(es.StudyError) as caught:
        es.run_study(changed, tmp_path)
    assert str(caught.value).splitlines()[1:] == [
        "  added    UCB, sphere, dim=2",
        "  added    UCB, sphere, dim=3",
        *(
            f"  changed  ES, sphere, dim={dim}, size={size}: recipe.scale 0.3 -> 1.0"
            for dim in (2, 3)
            for size in (1, 4)
        ),
        "  dropped  TS, sphere, dim=2",
        "  dropped  TS, sphere, dim=3",
        "of 6 cells 0 stay, 0 go on from the runs they have, 6 to compute anew",
    ]
    assert "--grow" in str(caught.value) and "grow=True" in str(caught.value)
    assert {
        path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()
    } | cell_files(tmp_path) == before
    with pytest.raises(
        es.StudyError,
        match=r"runs     6 -> 7\nof 6 cells 0 stay, 6 go on from the runs they have, 0 to compute",
    ):
        es.run_study(small(runs=7), tmp_path)
    assert not played


def test_many_changes_are_counted() -> None:
    sizes = list(range(1, 101))
    many = changes_between(small(), small(policy=[{**POLICIES[0], "size": sizes}, POLICIES[1]]))
    assert (
        len(many.added) == 196
        and len(list(many.rows())) == SHOWN + 1
        and "... and 184 more" in str(many)
    )


def test_words_may_change_unasked(tmp_path: Path, played: list[Task]) -> None:
    """Labels, their order, the question and the baseline are about numbers; they are not numbers."""
    es.run_study(small(), tmp_path)
    played.clear()
    words = small(
        policy=[{**POLICIES[1], "label": "Thompson"}, {**POLICIES[0], "label": "Ensemble"}],
        problem={**SPHERE, "label": "ball's skin"},
        question="Why?",
        baseline="Thompson",
    )
    results = es.run_study(words, tmp_path)
    assert not played and results.cells["policy"].unique().sort().to_list() == [
        "Ensemble",
        "Thompson",
    ]
    assert len(results.differences()) == 4


def test_a_longer_horizon_is_computed_anew_and_what_has_not_changed_stays(
    tmp_path: Path, played: list[Task]
) -> None:
    """No state of a run is kept, so none can be continued."""
    problems = [
        {**SPHERE, "label": "a"},
        {"family": "sphere", "dim": 4, "label": "b", "horizon": 50},
    ]
    es.run_study(small(problem=problems), tmp_path / "old")
    played.clear()
    longer = small(problem=problems, horizon=120)
    with pytest.raises(
        es.StudyError,
        match=r"horizon 60 -> 120\n(.*\n)*of 9 cells 3 stay, 0 go on .*, 6 to compute anew",
    ):
        es.run_study(longer, tmp_path / "old")
    grown = es.run_study(longer, tmp_path / "old", grow=True)
    assert {task.cell.problem for task in played} == {"a"} and runs_of(played) == 6 * 6
    new = es.run_study(longer, tmp_path / "new")
    assert same_numbers(grown, new)


def same_numbers(one: es.Results, other: es.Results) -> bool:
    return all(
        np.array_equal(a.regret, b.regret) and np.array_equal(a.pulls, b.pulls)
        for a, b in zip(one.outcomes, other.outcomes, strict=True)
    )


@pytest.mark.parametrize(
    "changes", [{"policy": POLICIES[:1]}, {"runs": 4}, {"problem": {**SPHERE, "dim": 3}}]
)
def test_what_is_dropped_is_kept_and_not_shown(
    changes: dict[str, Any], tmp_path: Path, played: list[Task]
) -> None:
    first = es.run_study(small(), tmp_path / "old")
    files = cell_files(tmp_path / "old")
    played.clear()
    fewer = es.run_study(small(**changes), tmp_path / "old", grow=True)
    assert not played and cell_files(tmp_path / "old") == files
    assert same_numbers(fewer, es.run_study(small(**changes), tmp_path / "new"))
    assert same_numbers(es.Results(tmp_path / "old"), fewer)
    played.clear()
    again = es.run_study(small(), tmp_path / "old", grow=True)
    assert not played and same_numbers(first, again), "it comes back at no cost"


def test_cells_that_differ_in_words_are_run_once(tmp_path: Path, played: list[Task]) -> None:
    seen: list[Progress] = []
    twins = small(policy=[POLICIES[1], {**POLICIES[1], "label": "the same"}])
    results = es.run_study(twins, tmp_path, progress=seen.append)
    assert (
        runs_of(played) == 2 * 6 and len(results.outcomes) == 4 and len(cell_files(tmp_path)) == 2
    )
    assert seen[0] == (0, 4, 0, 4 * 6 * 60) and seen[-1] == (4, 4, 4 * 6 * 60, 4 * 6 * 60)
    assert results.differences("TS")["mean"].to_list() == [0.0, 0.0]


def test_progress_counts_what_is_there(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    seen: list[Progress] = []
    es.run_study(small(runs=9), tmp_path, grow=True, progress=seen.append)
    assert seen[0] == (0, 6, 6 * 6 * 60, 6 * 9 * 60) and seen[-1] == (6, 6, 6 * 9 * 60, 6 * 9 * 60)


def test_half_grown_it_goes_on_without_asking_again(tmp_path: Path, played: list[Task]) -> None:
    class Enough(Exception):
        pass

    def after_two(done: Progress) -> None:
        if done.cells == 2:
            raise Enough

    es.run_study(small(), tmp_path / "old")
    with pytest.raises(Enough):
        es.run_study(small(runs=9), tmp_path / "old", grow=True, progress=after_two, threads=1)
    assert len(es.Results(tmp_path / "old").outcomes) == 2, (
        "a cell without all its runs is not finished"
    )
    played.clear()
    es.run_study(small(runs=9), tmp_path / "old")
    assert runs_of(played) == 4 * 3
    es.run_study(small(runs=9), tmp_path / "new")
    assert cell_files(tmp_path / "old") == cell_files(tmp_path / "new")


def test_killed_between_the_longer_file_and_the_removal_of_the_shorter(
    tmp_path: Path, played: list[Task]
) -> None:
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


def test_a_damaged_file_of_fewer_runs_is_no_beginning(tmp_path: Path, played: list[Task]) -> None:
    es.run_study(small(), tmp_path / "old")
    victim = file_of(tmp_path / "old", 2)
    victim.write_bytes(victim.read_bytes()[:-9])
    played.clear()
    es.run_study(small(runs=9), tmp_path / "old", grow=True)
    assert runs_of(played) == 5 * 3 + 9
    es.run_study(small(runs=9), tmp_path / "new")
    kept = {
        name: data
        for name, data in cell_files(tmp_path / "old").items()
        if name.endswith("parquet")
    }
    assert kept == cell_files(tmp_path / "new")


def slow_and_long(runs: int) -> es.Study:
    """Twenty cells of a tenth of a second or so each."""
    policies = [{**POLICIES[0], "size": [1, 2, 4]}, POLICIES[1]]
    problem = {"family": "sphere", "dim": [2, 3, 4, 5, 6], "arms": 5}
    return small(name="slow", horizon=40_000, runs=runs, problem=problem, policy=policies)


@pytest.mark.long
def test_killed_at_any_moment_it_goes_on_growing(tmp_path: Path) -> None:
    """kill -9 three times while it grows, then to the end: the bytes of a new study."""
    es.run_study(slow_and_long(2), tmp_path / "old")
    code = (
        "import sys; sys.path.insert(0, 'tests'); import ensample as es; from lab.test_growing import slow_and_long;"
        f"es.run_study(slow_and_long(5), {str(tmp_path / 'old')!r}, grow=True, threads=1)"
    )
    for kill in range(1, 4):
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        while (
            len(list((tmp_path / "old").glob("cells/*-5-*.parquet"))) < 3 * kill
            and process.poll() is None
        ):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it came to its end before it could be killed"
    es.run_study(slow_and_long(5), tmp_path / "old", grow=True)
    es.run_study(slow_and_long(5), tmp_path / "new")
    assert cell_files(tmp_path / "old") == cell_files(tmp_path / "new")


def test_a_cluster_grows_it_too(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path / "old")
    es.run_study(
        small(runs=9, policy=[*POLICIES, LINUCB]), tmp_path / "old", grow=True, cluster="local"
    )
    es.run_study(small(runs=9, policy=[*POLICIES, LINUCB]), tmp_path / "new")
    assert cell_files(tmp_path / "old") == cell_files(tmp_path / "new")


def test_growing_is_on_record_and_the_file_of_the_study_is_the_new_one(tmp_path: Path) -> None:
    es.run_study(es.Study.parse(TOML), tmp_path)
    longer = TOML.replace("runs = 6", "runs = 8", 1)
    es.run_study(es.Study.parse(longer), tmp_path, grow=True)
    assert (tmp_path / "study.toml").read_text() == longer
    events = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [event for event in events if event["event"] == "grown"] == [
        {"event": "grown", "runs": 8, "added": 0, "changed": 0, "dropped": 0}
    ]
    es.run_study(small(runs=9), tmp_path, grow=True)
    assert not (tmp_path / "study.toml").exists(), "it would say what no longer is"


def test_the_name_of_a_study_is_asked_for_too(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    with pytest.raises(es.StudyError, match="name     'small' -> 'other'"):
        es.run_study(small(name="other"), tmp_path)
    assert es.run_study(small(name="other"), tmp_path, grow=True).study.name == "other"


def test_growing_does_not_mix_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    es.run_study(small(), tmp_path)
    for name, value in (("__version__", "99.0"), ("NUMBERS", 99)):
        with monkeypatch.context() as patch:
            patch.setattr(f"ensample.lab.store.{name}", value)
            with pytest.raises(es.StudyError, match=r"another --out: .*99"):
                es.run_study(small(runs=9), tmp_path, grow=True)
    description = json.loads((tmp_path / "study.json").read_text())
    del description["format"]
    (tmp_path / "study.json").write_text(json.dumps(description))
    for call in (lambda: es.Results(tmp_path), lambda: es.run_study(small(), tmp_path, grow=True)):
        with pytest.raises(es.InvalidArgument, match="format 2"):
            call()


def test_a_new_folder_may_be_grown(tmp_path: Path) -> None:
    assert len(es.run_study(small(), tmp_path / "new", grow=True).outcomes) == 6
    with pytest.raises(es.WrongType, match="grow = 'yes'"):
        es.run_study(small(), tmp_path / "other", grow="yes")  # type: ignore[arg-type]
    assert not (tmp_path / "other").exists()


def test_links_in_the_folder_are_not_written_through(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path / "results")
    precious = tmp_path / "precious"
    precious.write_bytes((tmp_path / "results" / "study.json").read_bytes())
    before = precious.read_bytes()
    (tmp_path / "results" / "study.json").unlink()
    (tmp_path / "results" / "study.json").symlink_to(precious)
    es.run_study(small(runs=7), tmp_path / "results", grow=True)
    assert (
        precious.read_bytes() == before and not (tmp_path / "results" / "study.json").is_symlink()
    )
    assert polars.read_parquet(file_of(tmp_path / "results", 0)).height == 7
    assert es.Results(tmp_path / "results").study.runs == 7


MINE = """
from dataclasses import dataclass
import ensample as es

@dataclass(frozen=True)
class Mine(es.Greedy):
    def describe_me(self):
        return "%s"
"""


def import_mine(folder: Path, word: str) -> None:
    (folder / "my_recipes.py").write_text(MINE % word)
    sys.modules.pop("my_recipes", None)
    importlib.invalidate_caches()
    source_digest.cache_clear()  # as another process would begin


@pytest.mark.filterwarnings("ignore::ensample.LiveSimulationWarning")
def test_edited_code_is_another_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: list[Task]
) -> None:
    """Otherwise one cell would have runs of the old code and of the new."""
    monkeypatch.syspath_prepend(tmp_path)
    mine = [POLICIES[1], {"label": "mine", "recipe": "my_recipes:Mine"}]
    import_mine(tmp_path, "before")
    es.run_study(small(policy=mine), tmp_path / "out")
    import_mine(tmp_path, "before")
    played.clear()
    es.run_study(small(policy=mine), tmp_path / "out")
    assert played == [], "the same source is the same definition"

    import_mine(tmp_path, "after")
    with pytest.raises(es.StudyError, match=r"changed  mine, .*: my_recipes was edited\n"):
        es.run_study(small(policy=mine), tmp_path / "out")
    assert len(es.Results(tmp_path / "out").outcomes) == 4, (
        "results of the old code can still be read"
    )
    es.run_study(small(policy=mine), tmp_path / "out", grow=True)
    assert {task.cell.policy for task in played} == {"mine"} and runs_of(played) == 2 * 6
    assert len(es.Results(tmp_path / "out").outcomes) == 4
