"""The contestants of the benchmark solve the same problem, and the rows say what they must."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

import ensample as es
from ensample.bench import Ratio
from ensample.bench.contestants import ARMS, DIM, NOISE, SCALE, looped, sphere
from ensample.bench.floor import build_floor, run_floor
from ensample.bench.textbook import Textbook
from ensample.bench.timing import ratio, take_turns
from ensample.cli import bench as command

SIGMAS = 5.0  # a false alarm in two million


def test_the_floor_has_our_regret(tmp_path: Path) -> None:
    program = build_floor(tmp_path)
    if program is None:  # a machine without a C compiler has no floor, and its rows say so
        assert shutil.which("gcc") is shutil.which("cc") is None
        return
    floor = run_floor(program, DIM, ARMS, 50, 1_000, NOISE, SCALE, repeats=400, seed=1)
    ours = es.simulate(
        es.EnsembleSampling(size=50, scale=SCALE), sphere(), 1_000, runs=400
    ).summary()
    spread = (floor["standard_error"] ** 2 + ours["standard_error"] ** 2) ** 0.5
    assert abs(floor["regret"] - ours["mean"]) < SIGMAS * spread < 0.2 * ours["mean"]
    assert floor["seconds_per_round"] > 0.0


def test_contestants_take_turns() -> None:
    order: list[str] = []
    times = take_turns(
        {name: lambda name=name: order.append(name) or float(len(order)) for name in "ab"},
        2,
        lambda: None,
    )
    assert order == list("ababab") and times == {"a": [3.0, 5.0], "b": [4.0, 6.0]}
    assert ratio(times, "b", "a") == pytest.approx((4 / 3 + 6 / 5) / 2)


def test_a_row_knows_whether_it_is_reached() -> None:
    assert Ratio("", 2.0, 1.5, True, "").reached and Ratio("", 2.0, 1.5, False, "").reached is False
    assert (
        Ratio("", None, 1.5, True, "").reached is None
        and Ratio("", 2.0, None, True, "").reached is None
    )


def test_the_loop_runs_the_textbook() -> None:
    assert looped(lambda features: Textbook(features, 10, SCALE, seed=0), 50)() > 0.0


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked for, without the work."""
    asked: list[str] = []

    def quickly(groups, turns, advance):
        asked.extend(groups)
        yield Ratio("a / b", 2.0, 1.0, True, "1 us")

    monkeypatch.setattr(command, "measure", quickly)
    return asked


def test_rows_as_json(tmp_path: Path, measured: list[str]) -> None:
    command.bench(["live"], 1, tmp_path / "bench.json", 1, None)
    (row,) = json.loads((tmp_path / "bench.json").read_text())
    assert measured == ["live"] and row["name"] == "a / b" and row["reached"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


@pytest.mark.parametrize("path", ["missing/bench.json", ".", "pipe", "file/bench.json"])
def test_a_file_that_cannot_be_is_named_before_the_work(
    path: str, tmp_path: Path, measured: list[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(es.InvalidArgument, match=r"^json = "):
        command.bench(["live"], 1, tmp_path / path, 1, None)
    assert not measured and (tmp_path / "file").read_text() == "mine"


def test_rows_that_cannot_be_written_leave_the_old_ones(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "bench.json").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(es.StorageError, match="No space left"):
        command.bench(["live"], 1, tmp_path / "bench.json", 1, None)
    assert (tmp_path / "bench.json").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
