"""Results that survive: whole or not there, resumed without repeating or losing a cell."""

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
from lab.studies import TOML, slow, small


def cell_files(folder: Path) -> dict[str, bytes]:
    """What a folder holds, byte for byte; a checksum is part of a name."""
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").iterdir())}


def file_of(folder: Path, number: int, study: es.Study | None = None) -> Path:
    """The file of a cell of the small study, or of another one."""
    (path,) = (folder / "cells").glob(f"{(study or small()).digests[number]}-*.parquet")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The small study run in one go."""
    folder = tmp_path_factory.mktemp("whole")
    es.run_study(small(), folder)
    return cell_files(folder)


def test_a_cell_holds_what_simulate_gives(tmp_path: Path) -> None:
    results = es.run_study(small(), tmp_path)
    for outcome in results.outcomes:
        cell = outcome.cell
        runs = es.simulate(cell.recipe, cell.family, cell.horizon, 6, cell=cell.key)
        assert (
            np.array_equal(outcome.regret, runs.regret)
            and outcome.checkpoints == runs.checkpoints.tolist()
        )
        assert outcome.pulls is not None and runs.pulls is not None
        problem = cell.family.draw(
            np.random.default_rng(np.random.SeedSequence(0, spawn_key=(cell.key, 2, 3)))
        )
        order = np.argsort(-(problem.arms.features @ problem.theta))  # type: ignore[attr-defined]
        assert np.array_equal(outcome.pulls[2], runs.pulls[2][order])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_byte(
    threads: int, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path, threads=threads)
    assert cell_files(tmp_path) == whole


def test_a_second_run_repeats_nothing(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    seen: list[Progress] = []
    es.run_study(small(), tmp_path, progress=seen.append)
    assert {
        path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()
    } == before and seen == []


def test_an_error_half_way_loses_no_finished_cell(tmp_path: Path, whole: dict[str, bytes]) -> None:
    class Enough(Exception):
        pass

    def after_two(done: Progress) -> None:
        if done.cells == 2:
            raise Enough

    with pytest.raises(Enough):
        es.run_study(small(), tmp_path, progress=after_two)
    kept = cell_files(tmp_path)
    assert len(kept) == 2 and kept.items() <= whole.items()
    assert len(es.Results(tmp_path).outcomes) == 2, "a study under way has results"
    seen: list[Progress] = []
    es.run_study(small(), tmp_path, progress=seen.append)
    assert cell_files(tmp_path) == whole and seen[0].cells == 2


@pytest.mark.parametrize("harm", ["flip", "cut", "empty"])
def test_a_damaged_cell_is_noticed_and_run_again(
    harm: str, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path)
    victim = file_of(tmp_path, 3)
    content = victim.read_bytes()
    changed = {
        "flip": content[:99] + bytes([content[99] ^ 1]) + content[100:],
        "cut": content[:-7],
        "empty": b"",
    }
    victim.write_bytes(changed[harm])
    assert [outcome.cell.number for outcome in es.Results(tmp_path).outcomes] == [0, 1, 2, 4, 5]
    es.run_study(small(), tmp_path)
    assert {
        name: data for name, data in cell_files(tmp_path).items() if name.endswith("parquet")
    } == whole


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe"])
def test_what_is_no_file_in_the_place_of_a_cell_is_set_aside(
    kind: str, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path)
    victim = file_of(tmp_path, 3)
    for again in ("", "-2"):
        put(kind, victim, tmp_path)
        assert [outcome.cell.number for outcome in es.Results(tmp_path).outcomes] == [0, 1, 2, 4, 5]
        es.run_study(small(), tmp_path)
        assert len(es.Results(tmp_path).outcomes) == 6
        ending = {"link": "link", "dangling link": "link", "folder": "folder", "pipe": "damaged"}[
            kind
        ]
        aside = victim.with_suffix(f".{ending}{again}")
        assert os.path.lexists(aside) and (aside.is_symlink() or not aside.is_file())
    files = {path.name: path.read_bytes() for path in (tmp_path / "cells").glob("*.parquet")}
    assert files == whole and all(
        path.is_file() and not path.is_symlink() for path in (tmp_path / "cells").glob("*.parquet")
    )


def put(kind: str, place: Path, elsewhere: Path) -> None:
    """Something else in a file's place; a link leads to what was there."""
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


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe"])
def test_the_lock_is_a_file_of_the_folder(kind: str, tmp_path: Path) -> None:
    """A link in its place is not followed, so what it leads to is neither emptied nor made."""
    es.run_study(small(), tmp_path / "results")
    (tmp_path / "results" / ".lock").write_bytes(b"precious")
    es.run_study(small(), tmp_path / "results")
    assert (tmp_path / "results" / ".lock").read_bytes() == b"precious"
    put(kind, tmp_path / "results" / ".lock", tmp_path)
    with pytest.raises(es.InvalidArgument, match=r"out = .*(\.lock is|Is a directory)"):
        es.run_study(small(), tmp_path / "results")
    assert [path.read_bytes() for path in tmp_path.glob("target-*")] == (
        [b"precious"] if kind == "link" else []
    )


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "pipe"])
def test_what_is_no_file_in_the_place_of_the_journal_is_set_aside(
    kind: str, tmp_path: Path
) -> None:
    es.run_study(small(), tmp_path / "results")
    put(kind, tmp_path / "results" / "journal.jsonl", tmp_path)
    targets = {path: path.read_bytes() for path in tmp_path.glob("target-*")}
    results = es.Results(tmp_path / "results")
    assert (
        results.sessions == []
        and results.cells["seconds_per_round"].is_nan().all()
        and len(results.outcomes) == 6
    )
    assert len(es.run_study(small(), tmp_path / "results").sessions) == 1
    assert {path: path.read_bytes() for path in tmp_path.glob("target-*")} == targets


def test_a_folder_among_the_leftovers_of_a_killed_process_stays(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    for name in (".mine.part", LEFT):
        (tmp_path / "cells" / name).mkdir()
    es.run_study(small(), tmp_path)
    assert (tmp_path / "cells" / ".mine.part").is_dir() and (tmp_path / "cells" / LEFT).is_dir()


LEFT = ".ensample-0123456789abcdef.part"  # of a process that was killed while it wrote


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path, whole: dict[str, bytes]) -> None:
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


def test_a_changed_study_is_refused_with_the_difference(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    es.run_study(small(), tmp_path)
    with pytest.raises(es.StudyError) as caught:
        es.run_study(small(horizon=61), tmp_path)
    assert "changed  TS, sphere, dim=3: horizon 60 -> 61" in str(caught.value) and "--grow" in str(
        caught.value
    )
    assert "of 6 cells 0 stay, 0 go on from the runs they have, 6 to compute anew" in str(
        caught.value
    )
    assert cell_files(tmp_path) == whole
    es.run_study(small(question="Other words?"), tmp_path)
    assert es.Results(tmp_path).study.question == "Other words?"


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    es.run_study(small(), tmp_path)
    monkeypatch.setattr(store_module, "__version__", "99.0")
    with pytest.raises(es.StudyError, match=r"99\.0"):
        es.run_study(small(), tmp_path)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        StudyStore(tmp_path).opened(small()),
        pytest.raises(es.InvalidArgument, match="no other process"),
    ):
        es.run_study(small(), tmp_path)
    es.run_study(small(), tmp_path)


def test_a_full_disk_leaves_nothing_half_written(
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
    with pytest.raises(
        es.InvalidArgument, match=r"out = .*No space left on device.*finished cells are safe"
    ):
        es.run_study(small(), tmp_path)
    kept = cell_files(tmp_path)
    assert 0 < len(kept) < 6 and kept.items() <= whole.items()
    monkeypatch.undo()
    es.run_study(small(), tmp_path)
    assert cell_files(tmp_path) == whole


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """The system itself cuts the file short."""
    code = (
        "import resource, signal, sys; sys.path.insert(0, 'tests'); import ensample as es; from lab.studies import small;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000));"
        f"es.run_study(small(runs=200), {str(tmp_path)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "InvalidArgument: out = " in done.stderr and "File too large" in done.stderr
    assert list((tmp_path / "cells").iterdir()) == []


@pytest.mark.parametrize("out", ["/proc/none/here", "/dev/null/x"])
def test_an_unwritable_folder_is_named(out: str) -> None:
    with pytest.raises(es.InvalidArgument, match=f"out = '{out}'"):
        es.run_study(small(), out)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(es.InvalidArgument, match="taken"):
        es.run_study(small(), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_the_circumstances_are_on_record(tmp_path: Path) -> None:
    es.run_study(es.Study.parse(TOML), tmp_path)
    results = es.Results(tmp_path)
    assert (tmp_path / "study.toml").read_text() == TOML and results.version == es.__version__
    (session,) = results.sessions
    assert session["seed"] == 0 and session["packages"]["ensample"] == es.__version__
    assert {"machine", "python", "processor", "engine", "command", "at"} <= session.keys()
    journal = tmp_path / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"event": "sess')
    assert len(es.Results(tmp_path).sessions) == 1, "a line cut short by a crash"
    es.run_study(es.Study.parse(TOML), tmp_path)
    assert len(es.Results(tmp_path).sessions) == 2, "the next line is not joined to it"
    journal.write_bytes(
        journal.read_bytes()
        + b'3\n\xff\n{"event": "cell"}\n'
        + b"[" * 5000
        + b"\n"
        + b"9" * 5000
        + b"\n"
    )
    assert len(es.run_study(es.Study.parse(TOML), tmp_path).sessions) == 3


@pytest.mark.parametrize(
    "text", ["[]", "{}", "{", '{"name": "x", "colour": 3}', "[" * 5000, "9" * 5000, '{"name": 1}']
)
def test_a_damaged_description_is_named(text: str, tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(es.InvalidArgument, match="folder"):
        es.Results(tmp_path)
    with pytest.raises(es.InvalidArgument):
        es.run_study(small(), tmp_path)


def test_an_error_of_somebody_else_is_not_the_folders(tmp_path: Path) -> None:
    def broken(done: Progress) -> None:
        raise BrokenPipeError("the reader has gone")

    with pytest.raises(BrokenPipeError):
        es.run_study(small(), tmp_path, progress=broken)


@pytest.mark.parametrize("other", ["cell", "runs"])
def test_a_cell_under_the_name_of_another_is_noticed(other: str, tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    first, second = file_of(tmp_path, 0), file_of(tmp_path, 1)
    digest, runs, checksum = first.stem.split("-")
    if other == "cell":
        digest = second.stem.split("-")[0]
        second.unlink()
    else:
        runs = "7"
    first.rename(first.with_stem(f"{digest}-{runs}-{checksum}"))
    with pytest.raises(
        es.InvalidArgument, match=r"what its name says, and the file holds 6 runs of .*'size': 1"
    ):
        _ = es.Results(tmp_path).outcomes


def test_a_cell_is_a_parquet_file_for_others_too(tmp_path: Path) -> None:
    es.run_study(small(), tmp_path)
    path = file_of(tmp_path, 1)
    frame = polars.read_parquet(path)
    assert frame.columns == ["run", "regret", "pulls"] and len(frame) == 6
    about = json.loads(polars.read_parquet_metadata(path)["ensample"])
    assert about["definition"]["recipe"] == {"kind": "EnsembleSampling", "size": 4, "scale": 0.3}
    assert (
        about["definition"]["problem"] == {"kind": "RandomSphere", "dim": 2, "arms": 5}
        and about["checkpoints"][-1] == 60
    )


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"threads": 2, "cluster": "local"}, {"progress": 3}, {"out": 3}]
)
def test_bad_arguments_change_nothing(options: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument):
        es.run_study(small(), **({"out": tmp_path / "new"} | options))  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def start(folder: Path) -> "subprocess.Popen[str]":
    """The slow study in a process of its own, which Ctrl-C reaches even where the tests run in the background."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.path.insert(0, 'tests');"
        f"import ensample as es; from lab.studies import slow; es.run_study(slow(), {str(folder)!r})"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def wait_for(folder: Path, cells: int, process: "subprocess.Popen[str]") -> None:
    """Until so many cells are finished."""
    while len(list(folder.glob("cells/*.parquet"))) < cells and process.poll() is None:
        time.sleep(0.002)


@pytest.mark.long
def test_killed_at_any_moment_it_goes_on_where_it_was(
    tmp_path: Path, slow_whole: dict[str, bytes]
) -> None:
    """Five times kill -9 soon after some cells were finished, then to the end: the same bytes, nothing done twice."""
    rng = np.random.default_rng(0)
    finished: set[str] = set()
    for _ in range(5):
        process = start(tmp_path)
        wait_for(tmp_path, len(finished) + 1, process)
        time.sleep(0.05 * rng.random())
        process.kill()
        process.communicate()
        kept = {
            name: data for name, data in cell_files(tmp_path).items() if not name.startswith(".")
        }
        assert kept.items() <= slow_whole.items() and finished < kept.keys()
        finished = set(kept)
    assert len(finished) < len(slow_whole), "a kill came too late to interrupt anything"
    es.run_study(slow(), tmp_path)
    assert cell_files(tmp_path) == slow_whole
    events = map(json.loads, (tmp_path / "journal.jsonl").read_text().splitlines())
    noted = [event["cell"] for event in events if event["event"] == "cell"]
    assert len(noted) <= len(slow_whole) + 5, (
        "at most the cell being written when it was killed was noted twice"
    )


def test_ctrl_c_stops_within_a_second_or_so(tmp_path: Path, slow_whole: dict[str, bytes]) -> None:
    process = start(tmp_path)
    wait_for(tmp_path, 1, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    kept = cell_files(tmp_path)
    assert 0 < len(kept) < len(slow_whole) and kept.items() <= slow_whole.items()


def test_a_cell_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    clicks = {"recipe": "EnsembleSampling", "label": "clicks", "size": [2, 3], "model": "Logistic"}
    study = small(
        problem={"family": "sphere", "label": "shop", "dim": [2, 3]},
        policy=clicks,
        evaluation="live",
    )
    with pytest.raises(
        es.InvalidArgument,
        match=r"^clicks on shop, dim=\d, size=\d: reward = .* from 0 to 1 for Logistic\(\)$",
    ):
        es.run_study(study, tmp_path, threads=1)
