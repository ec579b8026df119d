"""`ensample evaluate` as a person uses it."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import ensample as es
from ensample.cli.console import output
from ensample.cli.main import app
from evaluation.logs import World


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "news.parquet"
    world = World(1)
    frame = world.log(2000, 3)
    devices = (
        pl.when(pl.int_range(2000) % 3 == 0).then(pl.lit("phone")).otherwise(pl.lit("[red]desk"))
    )
    frame.with_columns(device=devices).write_parquet(path)
    return path


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Whatever the terminal that tests are run in."""
    monkeypatch.setattr(output, "width", 160)


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=True)


def test_policies_are_compared_in_one_table(log):
    shown = run(
        log,
        "--policy",
        "uniform",
        "--policy",
        "action:a3",
        "--low",
        0,
        "--high",
        1,
        "--segments",
        "device",
    )
    assert shown.exit_code == 0
    for word in (
        "uniform",
        "action:a3",
        "snips",
        "lift",
        "effective rows",
        "phone",
        "[red]desk",
        "2,000 rows",
    ):
        assert word in shown.stdout
    assert "warning" not in shown.stderr


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("lift.lower >= -1", 0), ("lift.lower >= 0", 1), ("effective_rows < 10", 1)],
)
def test_what_is_required_decides_the_exit_code(log, wanted, code):
    shown = run(log, "--policy", "uniform", "--low", 0, "--high", 1, "--require", wanted)
    assert shown.exit_code == code
    assert ("does not hold" in shown.stderr) == bool(code)


def test_numbers_and_page_are_written(log, tmp_path):
    shown = run(
        log,
        "--policy",
        "uniform",
        "--json",
        tmp_path / "found.json",
        "--html",
        tmp_path / "page.html",
    )
    assert shown.exit_code == 0
    assert "rewards are taken to lie in [0, 1]" in shown.stderr
    (found,) = json.loads((tmp_path / "found.json").read_text())
    assert found["target"] == "uniform"
    assert found["dm"]["low"] is None
    assert "uniform would have earned" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--require", "lift > better"], "require = 'lift > better'"),
        (["--require", "best.lower > 0"], "with one of ips, snips"),
        (["--columns", "action"], "OURS=THEIRS"),
        (["--policy", "action:nobody"], "an action of the log"),
        (["--html", "/nowhere/page.html"], "html"),
    ],
)
def test_mistakes_are_named(log, arguments, said):
    shown = run(log, *arguments)
    assert shown.exit_code != 0
    assert said in str(shown.exception)


def test_a_file_of_ones_own_needs_no_option_but_its_names(tmp_path: Path):
    """The mean reward of what was logged is there without all propensities; contexts are named one by one."""
    path = tmp_path / "old.csv"
    rows = {
        "variant": ["a", "b"],
        "p": [0.5, 0.5],
        "click": [1, 0],
        "age": [20, 60],
        "land": ["x", "y"],
    }
    pl.DataFrame({name: 200 * values for name, values in rows.items()}).write_csv(path)
    names = "action=variant,propensity=p,reward=click,context=age,context=land"
    shown = run(path, "--columns", names, "--segments", "context.land")
    assert shown.exit_code == 0 and "logged" in shown.stdout and "by context.land" in shown.stdout
    assert "--columns action=NAME" in str(run(path).exception)


def test_decisions_that_wait_may_count_as_zero(tmp_path: Path):
    experiment = es.Experiment("news", actions=["a", "b"], reward=es.Reward(0, 1), seed=0)
    for place in range(200):
        decision = experiment.decide()
        if place % 2 == 0:
            experiment.reward(decision, 1)
    path = tmp_path / "log.parquet"
    experiment.to_parquet(path)
    shown = run(path)
    assert (
        shown.exit_code == 0
        and "left out: the last 199 of 200 rows" in shown.stderr
        and "--missing zero" in shown.stderr
    )
    shown = run(path, "--missing", "zero")
    assert (
        "200 rows, 2 actions, reward 0.5 a row" in " ".join(shown.stdout.split())
        and "left out" not in shown.stderr
    )


def test_errors_name_the_file_as_a_plain_path(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text("action,propensity,reward\na,0.5,\n")
    said = str(run(path).exception)
    assert "PosixPath" not in said and "at least one row with a reward" in said


def test_a_log_that_is_not_there(tmp_path: Path):
    assert "a file that exists" in str(run(tmp_path / "nothing.parquet").exception)
