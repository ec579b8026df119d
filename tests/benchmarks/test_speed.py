"""The contestants of the benchmark solve the same problem, and its command reports them."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ensample as es
from benchmarks import __main__ as command
from benchmarks.baselines import Textbook, build_floor, run_floor
from benchmarks.loops import ARMS, DIM, NOISE, SCALE, played, sphere
from benchmarks.timing import Ratio, ratio, take_turns

SIGMAS = 5.0  # a false alarm in two million
CLONE = Path(__file__).parents[2]


def test_the_floor_has_our_regret(tmp_path: Path) -> None:
    program = build_floor(tmp_path)
    if program is None:  # without a C compiler there is no floor, and its rows say so
        assert shutil.which("gcc") is shutil.which("cc") is None
        return
    floor = run_floor(program, DIM, ARMS, 50, 1_000, NOISE, SCALE, 400, 1)
    recipe = es.EnsembleSampling(size=50, scale=SCALE)
    ours = es.simulate(recipe, sphere(), 1_000, runs=400).summary()
    spread = (floor["standard_error"] ** 2 + ours["standard_error"] ** 2) ** 0.5
    assert abs(floor["regret"] - ours["mean"]) < SIGMAS * spread < 0.2 * ours["mean"]
    assert floor["seconds_per_round"] > 0.0


def test_contestants_take_turns() -> None:
    order: list[str] = []

    def contestant(name: str) -> Callable[[], float]:
        return lambda: order.append(name) or float(len(order))

    times = take_turns({name: contestant(name) for name in "ab"}, 2, lambda: None)
    assert order == list("ababab") and times == {"a": [3.0, 5.0], "b": [4.0, 6.0]}
    assert ratio(times, "b", "a") == pytest.approx((4 / 3 + 6 / 5) / 2)


def test_a_row_knows_whether_it_is_reached() -> None:
    assert Ratio("", 2.0, 1.5, True, "").reached
    assert Ratio("", 2.0, 1.5, False, "").reached is False
    assert Ratio("", None, 1.5, True, "").reached is None
    assert Ratio("", 2.0, None, True, "").reached is None


def test_the_loop_runs_the_textbook() -> None:
    assert played(lambda features: Textbook(features, 10, SCALE), 50)() > 0.0


def test_this_version_is_compared_with_that_of_another_python() -> None:
    arguments = "--against", sys.executable, "--case", "live, default", "--turns", "1"
    shown = run(*arguments)
    assert shown.returncode == 0 and "live, default" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--only", "everything"), "only = 'everything': expected one of simulated"),
        (("--only", "data", "--only", "live"), "expected data by itself"),
        (("--turns", "0"), "turns = 0: expected"),
        (("--against", "python", "--case", "none"), "case = ['none']: expected a part of"),
        (("--markdown", "README.md"), "expected --only data or --only peers"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], error: str) -> None:
    shown = run(*arguments)
    assert shown.returncode == 1 and shown.stdout == "" and "Traceback" not in shown.stderr
    assert shown.stderr.startswith("error: ") and error in shown.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(es.__file__).parents[1])}
    line = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=CLONE, env=environment)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the groups that are measured, without the work."""
    groups_measured: list[str] = []

    def quickly(groups, turns, step):
        groups_measured.extend(groups)
        yield Ratio("a / b", 2.0, 1.0, True, "1 us")

    monkeypatch.setattr(command, "measure", quickly)
    return groups_measured


def test_rows_as_json(tmp_path: Path, measured: list[str]) -> None:
    command.run(["live"], 1, tmp_path / "speed.json", 1)
    (row,) = json.loads((tmp_path / "speed.json").read_text())
    assert measured == ["live"] and row["name"] == "a / b" and row["reached"] is True


def test_a_bad_file_is_refused_before_the_work(tmp_path: Path, measured: list[str]) -> None:
    with pytest.raises(es.InvalidArgument, match=r"^json = "):
        command.run(["live"], 1, tmp_path / "missing" / "speed.json", 1)
    assert not measured


def test_a_failed_write_leaves_the_old_rows(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "speed.json"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(es.StorageError, match="No space left"):
        command.run(["live"], 1, path, 1)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
