"""`ensample evaluate` as a person uses it."""

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import ensample as es
from ensample.cli.console import output
from ensample.cli.main import app
from evaluation.logs import World


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "news.parquet"
    is_phone = pl.int_range(2000) % 3 == 0
    devices = pl.when(is_phone).then(pl.lit("phone")).otherwise(pl.lit("[red]desk"))
    World(1).log(2000, 3).with_columns(device=devices).write_parquet(path)
    return path


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print as on a wide terminal, whatever that of the tests is."""
    monkeypatch.setattr(output, "width", 160)


def evaluate(log: Path, options: str = "") -> Any:
    return CliRunner().invoke(app, ["evaluate", str(log), *shlex.split(options)])


def test_policies_are_compared_in_one_table(log: Path) -> None:
    options = "--policy uniform --policy action:a3 --low 0 --high 1 --segments device"
    shown = evaluate(log, options)
    assert shown.exit_code == 0 and "warning" not in shown.stderr
    words = ["uniform", "action:a3", "snips", "lift", "effective rows", "phone", "[red]desk"]
    assert all(word in shown.stdout for word in [*words, "2,000 rows"])


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("lift.lower >= -1", 0), ("lift.lower >= 0", 1), ("effective_rows < 10", 1)],
)
def test_requirement_decides_the_exit_code(log: Path, wanted: str, code: int) -> None:
    shown = evaluate(log, f"--policy uniform --low 0 --high 1 --require '{wanted}'")
    assert shown.exit_code == code and ("does not hold" in shown.stderr) == bool(code)


def test_numbers_and_page_are_written(log: Path, tmp_path: Path) -> None:
    json_file, page = tmp_path / "found.json", tmp_path / "page.html"
    shown = evaluate(log, f"--policy uniform --json {json_file} --html {page}")
    assert shown.exit_code == 0 and "rewards are taken to lie in [0, 1]" in shown.stderr
    (found,) = json.loads(json_file.read_text())
    assert found["target"] == "uniform" and found["dm"]["low"] is None
    assert "uniform would have earned" in page.read_text()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--require 'lift > better'", "require = 'lift > better'"),
        ("--require 'best.lower > 0'", "with one of ips, snips"),
        ("--columns action", "OURS=THEIRS"),
        ("--policy action:nobody", "an action of the log"),
        ("--html /nowhere/page.html", "html"),
    ],
)
def test_mistakes_are_named(log: Path, options: str, error: str) -> None:
    shown = evaluate(log, options)
    assert shown.exit_code != 0 and error in str(shown.exception)


def test_columns_of_ones_own_are_named(tmp_path: Path) -> None:
    """The mean reward of what was logged needs no propensities of all actions."""
    path = tmp_path / "old.csv"
    rows = {"variant": ["a", "b"], "p": [0.5, 0.5], "click": [1, 0]}
    rows |= {"age": [20, 60], "land": ["x", "y"]}
    pl.DataFrame({name: 200 * values for name, values in rows.items()}).write_csv(path)
    names = "action=variant,propensity=p,reward=click,context=age,context=land"
    shown = evaluate(path, f"--columns {names} --segments context.land")
    assert shown.exit_code == 0 and "logged" in shown.stdout and "by context.land" in shown.stdout
    assert "--columns action=NAME" in str(evaluate(path).exception)


def test_decisions_that_wait_may_count_as_zero(tmp_path: Path) -> None:
    experiment = es.Experiment("news", actions=["a", "b"], reward=es.Reward(0, 1), seed=0)
    for place in range(200):
        decision = experiment.decide()
        if place % 2 == 0:
            experiment.reward(decision, 1)
    path = tmp_path / "log.parquet"
    experiment.to_parquet(path)
    shown = evaluate(path)
    assert shown.exit_code == 0 and "--missing zero" in shown.stderr
    assert "left out: the last 199 of 200 rows" in shown.stderr
    shown = evaluate(path, "--missing zero")
    assert "200 rows, 2 actions, reward 0.5 a row" in " ".join(shown.stdout.split())
    assert "left out" not in shown.stderr


def test_error_names_the_file_as_a_plain_path(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("action,propensity,reward\na,0.5,\n")
    error = str(evaluate(path).exception)
    assert "PosixPath" not in error and "at least one row with a reward" in error
    assert "a file that exists" in str(evaluate(tmp_path / "nothing.parquet").exception)
