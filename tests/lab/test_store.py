"""A folder of results: cells are whole or not there, and damage is noticed and repaired."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars
import pytest

import ensample as es
from ensample.lab import store as store_module
from ensample.lab.run import Progress
from ensample.lab.store import StudyStore
from ensample.lab.tasks import Engine, Threads, tasks_of
from lab.studies import TOML, cell_files, file_of, parquet_files, slow, small

LEFT = ".ensample-0123456789abcdef.part"  # of a process that was killed while it wrote
KINDS = ["link", "dangling link", "folder", "pipe"]


class Enough(Exception):
    """Raised by a progress function, to stop a study."""


def after_two_cells(done: Progress) -> None:
    if done.cells == 2:
        raise Enough


def numbers(results: es.Results) -> list[int]:
    return [outcome.cell.number for outcome in results.outcomes]


# What is stored


def test_cell_holds_what_simulate_gives(tmp_path: Path) -> None:
    for outcome in es.run_study(small(), tmp_path).outcomes:
        cell = outcome.cell
        runs = es.simulate(cell.recipe, cell.family, cell.horizon, 6, cell=cell.key)
        assert np.array_equal(outcome.regret, runs.regret)
        assert outcome.checkpoints == runs.checkpoints.tolist()
        assert outcome.pulls is not None and runs.pulls is not None
        seed = np.random.SeedSequence(0, spawn_key=(cell.key, 2, 3))
        problem = cell.family.draw(np.random.default_rng(seed))  # type: ignore[union-attr]
        order = np.argsort(-(problem.arms.features @ problem.theta))
        assert np.array_equal(outcome.pulls[2], runs.pulls[2][order])


def test_cell_is_a_parquet_file_that_others_can_read(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    path = file_of(tmp_path, 1)
    frame = polars.read_parquet(path)
    assert frame.columns == ["run", "regret", "pulls"] and len(frame) == 6
    about = json.loads(polars.read_parquet_metadata(path)["ensample"])
    definition = about["definition"]
    assert definition["recipe"] == {"kind": "EnsembleSampling", "size": 4, "scale": 0.3}
    assert definition["problem"] == {"kind": "RandomSphere", "dim": 2, "arms": 5}
    assert about["checkpoints"][-1] == 60


def test_circumstances_are_in_the_journal(tmp_path: Path) -> None:
    es.run_study(es.Study.parse(TOML), tmp_path)
    results = es.Results(tmp_path)
    assert (tmp_path / "study.toml").read_text() == TOML and results.version == es.__version__
    (session,) = results.sessions
    assert session["seed"] == 0 and session["packages"]["ensample"] == es.__version__
    assert {"machine", "python", "processor", "engine", "command", "at"} <= session.keys()
    journal = tmp_path / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"event": "sess')  # cut short by a crash
    assert len(es.Results(tmp_path).sessions) == 1
    es.run_study(es.Study.parse(TOML), tmp_path)
    assert len(es.Results(tmp_path).sessions) == 2, "the next line is not joined to it"
    odd = (b"3", b"\xff", b'{"event": "cell"}', b"[" * 5000, b"9" * 5000)
    journal.write_bytes(b"\n".join((journal.read_bytes(), *odd, b"")))
    assert len(es.run_study(es.Study.parse(TOML), tmp_path).sessions) == 3


# Engines and resumption


class Backwards(Engine):
    """An engine that runs the last task first."""

    def run(self, tasks):  # type: ignore[no-untyped-def]
        for task in reversed(list(tasks)):
            yield task, task.run()

    def __str__(self) -> str:
        return "backwards"


@pytest.mark.parametrize("engine", [Threads(1), Threads(2), Threads(5), Backwards()], ids=str)
def test_engine_does_not_change_a_byte(
    engine: Engine, tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ensample.lab.run.engine_for", lambda *_: engine)
    es.run_study(small(), tmp_path)
    assert cell_files(tmp_path) == whole


def test_error_in_the_tasks_stops_the_engine() -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield from tasks_of(small(), small().cells[:2], {})
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(Threads(2).run(broken()))


def test_tasks_are_consecutive_replicates() -> None:
    study = small(horizon=150_000, runs=5)
    first, *_ = tasks = list(tasks_of(study, study.cells[:1], {}))
    assert [task.replicates for task in tasks] == [range(2), range(2, 4), range(4, 5)]
    assert first.run().regret.shape == (2, 200)


def test_second_call_repeats_nothing(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    seen: list[Progress] = []
    es.run_study(small(), tmp_path, progress=seen.append)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert after == before and seen == []


def test_error_half_way_loses_no_finished_cell(tmp_path: Path, whole: dict[str, bytes]) -> None:
    with pytest.raises(Enough):
        es.run_study(small(), tmp_path, progress=after_two_cells)
    kept = cell_files(tmp_path)
    assert len(kept) == 2 and kept.items() <= whole.items()
    assert len(es.Results(tmp_path).outcomes) == 2, "a study under way has results"
    seen: list[Progress] = []
    es.run_study(small(), tmp_path, progress=seen.append)
    assert cell_files(tmp_path) == whole and seen[0].cells == 2


def test_errors_of_a_progress_function_are_its_own(tmp_path: Path) -> None:
    def broken(done: Progress) -> None:
        raise BrokenPipeError("the reader has gone")

    with pytest.raises(BrokenPipeError):
        es.run_study(small(), tmp_path, progress=broken)


def test_cell_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    clicks = {"recipe": "EnsembleSampling", "label": "clicks", "size": [2, 3], "model": "Logistic"}
    shop = {"family": "sphere", "label": "shop", "dim": [2, 3]}
    study = small(problem=shop, policy=clicks, evaluation="live")
    named = r"^clicks on shop, dim=\d, size=\d: reward = .* from 0 to 1 for Logistic\(\)$"
    with pytest.raises(es.InvalidArgument, match=named):
        es.run_study(study, tmp_path, threads=1)


# Kills


def start(call: str) -> "subprocess.Popen[str]":
    """Run a study in a process of its own, which Ctrl-C reaches even in the background."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.path.insert(0, 'tests'); import ensample as es; from lab.studies import slow; "
        f"es.run_study({call})"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def wait_for(folder: Path, cells: int, process: "subprocess.Popen[str]", runs: int = 6) -> None:
    """Wait until so many cells are finished."""
    while len(list(folder.glob(f"cells/*-{runs}-*.parquet"))) < cells and process.poll() is None:
        time.sleep(0.002)


@pytest.mark.long
def test_killed_study_goes_on_where_it_was(tmp_path: Path, slow_whole: dict[str, bytes]) -> None:
    """Kill -9 five times soon after some cells were finished, then run to the end."""
    rng = np.random.default_rng(0)
    finished: set[str] = set()
    for _ in range(5):
        process = start(f"slow(), {str(tmp_path)!r}")
        wait_for(tmp_path, len(finished) + 1, process)
        time.sleep(0.05 * rng.random())
        process.kill()
        process.communicate()
        files = cell_files(tmp_path)
        kept = {name: data for name, data in files.items() if not name.startswith(".")}
        assert kept.items() <= slow_whole.items() and finished < kept.keys()
        finished = set(kept)
    assert len(finished) < len(slow_whole), "a kill came too late to interrupt anything"
    es.run_study(slow(), tmp_path)
    assert cell_files(tmp_path) == slow_whole
    events = map(json.loads, (tmp_path / "journal.jsonl").read_text().splitlines())
    noted = [event["cell"] for event in events if event["event"] == "cell"]
    assert len(noted) <= len(slow_whole) + 5, "at most the cell being written was noted twice"


@pytest.mark.long
def test_killed_while_growing_it_goes_on(tmp_path: Path) -> None:
    """Kill -9 three times, then run to the end: the bytes of a new study."""
    sizes = (1, 2, 4)
    old = tmp_path / "old"
    es.run_study(slow(2, sizes, 5), old)
    for kill in range(1, 4):
        process = start(f"slow(5, {sizes}, 5), {str(old)!r}, grow=True, threads=1")
        wait_for(old, 3 * kill, process, runs=5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
    es.run_study(slow(5, sizes, 5), old, grow=True)
    es.run_study(slow(5, sizes, 5), tmp_path / "new")
    assert cell_files(old) == cell_files(tmp_path / "new")


def test_ctrl_c_stops_within_a_second_or_so(tmp_path: Path, slow_whole: dict[str, bytes]) -> None:
    process = start(f"slow(), {str(tmp_path)!r}")
    wait_for(tmp_path, 1, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    kept = cell_files(tmp_path)
    assert 0 < len(kept) < len(slow_whole) and kept.items() <= slow_whole.items()


# Damage


@pytest.mark.parametrize("harm", ["flip", "cut", "empty"])
def test_damaged_cell_is_noticed_and_run_again(
    harm: str, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path)
    victim = file_of(tmp_path, 3)
    content = victim.read_bytes()
    flipped = content[:99] + bytes([content[99] ^ 1]) + content[100:]
    victim.write_bytes({"flip": flipped, "cut": content[:-7], "empty": b""}[harm])
    assert numbers(es.Results(tmp_path)) == [0, 1, 2, 4, 5]
    es.run_study(small(), tmp_path)
    assert parquet_files(tmp_path) == whole


def put(kind: str, place: Path, elsewhere: Path) -> None:
    """Put something else in a file's place; a link leads to what was there."""
    content = place.read_bytes() if place.exists() else b""
    place.unlink(missing_ok=True)
    if kind == "folder":
        place.mkdir()
        (place / "inside").write_bytes(content)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        target = elsewhere / f"target-{time.monotonic_ns()}"
        if kind == "link":
            target.write_bytes(content)
        place.symlink_to(target)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_place_of_a_cell_is_set_aside(
    kind: str, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path)
    victim = file_of(tmp_path, 3)
    ending = {"link": "link", "dangling link": "link", "folder": "folder", "pipe": "damaged"}[kind]
    for again in ("", "-2"):
        put(kind, victim, tmp_path)
        assert numbers(es.Results(tmp_path)) == [0, 1, 2, 4, 5]
        assert len(es.run_study(small(), tmp_path).outcomes) == 6
        aside = victim.with_suffix(f".{ending}{again}")
        assert os.path.lexists(aside) and (aside.is_symlink() or not aside.is_file())
    assert parquet_files(tmp_path) == whole
    assert not any(path.is_symlink() for path in (tmp_path / "cells").glob("*.parquet"))


@pytest.mark.parametrize("kind", KINDS)
def test_link_in_place_of_the_lock_is_not_followed(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    es.run_study(small(), folder)
    (folder / ".lock").write_bytes(b"precious")
    es.run_study(small(), folder)
    assert (folder / ".lock").read_bytes() == b"precious"
    put(kind, folder / ".lock", tmp_path)
    with pytest.raises(es.InvalidArgument, match=r"out = .*(\.lock is|Is a directory)"):
        es.run_study(small(), folder)
    targets = [path.read_bytes() for path in tmp_path.glob("target-*")]
    assert targets == ([b"precious"] if kind == "link" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_place_of_the_journal_is_set_aside(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    es.run_study(small(), folder)
    put(kind, folder / "journal.jsonl", tmp_path)
    targets = {path: path.read_bytes() for path in tmp_path.glob("target-*")}
    results = es.Results(folder)
    assert results.sessions == [] and len(results.outcomes) == 6
    assert results.cells["seconds_per_round"].is_nan().all()
    assert len(es.run_study(small(), folder).sessions) == 1
    assert {path: path.read_bytes() for path in tmp_path.glob("target-*")} == targets


def test_link_in_place_of_the_description_is_not_written_through(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path / "results")
    description, precious = tmp_path / "results" / "study.json", tmp_path / "precious"
    before = description.read_bytes()
    precious.write_bytes(before)
    description.unlink()
    description.symlink_to(precious)
    es.run_study(small(runs=7), tmp_path / "results", grow=True)
    assert precious.read_bytes() == before and not description.is_symlink()
    assert es.Results(tmp_path / "results").study.runs == 7


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path, whole: dict[str, bytes]) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / LEFT).write_bytes(b"half")
    with pytest.raises(es.StudyError, match="a folder of this study, or a new one"):
        es.run_study(small(), tmp_path)
    for left in (tmp_path / "cells").iterdir():
        left.unlink()
    es.run_study(small(), tmp_path)
    for folder in (tmp_path, tmp_path / "cells"):
        (folder / LEFT).write_bytes(b"half")
    es.run_study(small(), tmp_path)
    assert cell_files(tmp_path) == whole and not (tmp_path / LEFT).exists()


def test_folder_among_the_leftovers_stays(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    folders = [tmp_path / "cells" / name for name in (".mine.part", LEFT)]
    for folder in folders:
        folder.mkdir()
    es.run_study(small(), tmp_path)
    assert all(folder.is_dir() for folder in folders)


@pytest.mark.parametrize("other", ["cell", "runs"])
def test_cell_under_the_name_of_another_is_noticed(other: str, tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    first, second = file_of(tmp_path, 0), file_of(tmp_path, 1)
    digest, runs, checksum = first.stem.split("-")
    if other == "cell":
        digest = second.stem.split("-")[0]
        second.unlink()
    else:
        runs = "7"
    first.rename(first.with_stem(f"{digest}-{runs}-{checksum}"))
    expected = r"what its name says, and the file holds 6 runs of .*'size': 1"
    with pytest.raises(es.InvalidArgument, match=expected):
        _ = es.Results(tmp_path).outcomes


@pytest.mark.parametrize(
    "text", ["[]", "{}", "{", '{"name": "x", "colour": 3}', "[" * 5000, "9" * 5000, '{"name": 1}']
)
def test_damaged_description_is_named(text: str, tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(es.InvalidArgument, match="folder"):
        es.Results(tmp_path)
    with pytest.raises(es.InvalidArgument):
        es.run_study(small(), tmp_path)


# Folders that cannot be used


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        StudyStore(tmp_path).opened(small()),
        pytest.raises(es.InvalidArgument, match="no other process"),
    ):
        es.run_study(small(), tmp_path)
    es.run_study(small(), tmp_path)


def test_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, bytes]
) -> None:
    sync, calls = os.fsync, 0

    def full(file: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    said = r"out = .*No space left on device.*finished cells are safe"
    with pytest.raises(es.InvalidArgument, match=said):
        es.run_study(small(), tmp_path)
    kept = cell_files(tmp_path)
    assert 0 < len(kept) < 6 and kept.items() <= whole.items()
    monkeypatch.undo()
    es.run_study(small(), tmp_path)
    assert cell_files(tmp_path) == whole


def test_file_that_the_system_cuts_short_is_not_kept(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; sys.path.insert(0, 'tests'); import ensample as es; "
        "from lab.studies import small; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); "
        f"es.run_study(small(runs=200), {str(tmp_path)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "InvalidArgument: out = " in done.stderr and "File too large" in done.stderr
    assert list((tmp_path / "cells").iterdir()) == []


@pytest.mark.parametrize("out", ["/proc/none/here", "/dev/null/x", "taken"])
def test_unwritable_folder_is_named(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(es.InvalidArgument, match=f"out = '{out}'"):
        es.run_study(small(), out)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"threads": 2, "cluster": "local"}, {"progress": 3}, {"out": 3}]
)
def test_bad_arguments_change_nothing(options: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument):
        es.run_study(small(), **({"out": tmp_path / "new"} | options))  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("name", "value"), [("__version__", "99.0"), ("NUMBERS", 99)])
def test_another_version_is_refused(
    name: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    es.run_study(small(), tmp_path)
    monkeypatch.setattr(store_module, name, value)
    for grow in (False, True):
        with pytest.raises(es.StudyError, match=r"another --out: .*99"):
            es.run_study(small(runs=9), tmp_path, grow=grow)


def test_another_format_is_refused(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    description = json.loads((tmp_path / "study.json").read_text())
    del description["format"]
    (tmp_path / "study.json").write_text(json.dumps(description))
    for call in (lambda: es.Results(tmp_path), lambda: es.run_study(small(), tmp_path, grow=True)):
        with pytest.raises(es.InvalidArgument, match="format 2"):
            call()
