"""The log: its schema, and its way to files and back."""

import re
from pathlib import Path

import polars as pl
import pytest

import ensample as es
from ensample.experiments.log import log_schema
from experiments.places import NAMES, News
from experiments.test_experiment import played
from experiments.ticking import Ticking

DOCS = Path(__file__).parents[2] / "docs" / "log.md"


def test_the_schema_is_the_documented_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", DOCS.read_text(encoding="utf-8"), re.M)
    assert [(name, kind.strip()) for name, kind in rows] == [(name, str(kind)) for name, kind in log_as_text().items()]


def log_as_text() -> dict[str, str]:
    frame = pl.DataFrame(schema=log_schema())
    return {name: str(kind) for name, kind in frame.schema.items()}


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
@pytest.mark.parametrize("rounds", [0, 60])
def test_a_log_comes_back_as_it_was(news: News, kind: str, rounds: int, tmp_path: Path) -> None:
    experiment = played(news, rounds)
    file = tmp_path / f"log.{kind}"
    getattr(experiment, f"to_{kind}")(file)
    log = experiment.log()
    assert es.read_log(file).equals(log) and dict(log.schema) == dict(pl.DataFrame(schema=log_schema()).schema)


def test_a_row_says_all_of_a_decision(news: News) -> None:
    clock = Ticking()
    experiment = news(
        clock, floor=0.1, baseline=("culture", 0.2), actions={"sport": {"live": True}, "politics": None, "culture": None}
    )
    decision = experiment.decide({"age": 31, "tags": ["tennis"]})
    clock.move(5)
    experiment.reward(decision, 1)
    experiment.reward(decision, 1)
    row = experiment.log().row(0, named=True)
    assert row["offer"] == NAMES and row["propensities"] == list(decision.propensities.values())
    assert row["propensity"] == decision.propensity == row["propensities"][NAMES.index(row["action"])]
    assert (row["context"], row["features"]) == (
        '{"age":31,"tags":["tennis"]}',
        '{"sport":{"live":true},"politics":null,"culture":null}',
    )
    assert (row["floor"], row["baseline"], row["share"], row["experiment"]) == (0.1, "culture", 0.2, "news")
    assert (row["reward"], row["outcome"], row["duplicate"], row["policy_version"]) == (1.0, "applied", 1, 0)
    assert (row["reward_time"] - row["time"]).total_seconds() == 5 and row["log_version"] == 1


def test_the_log_agrees_with_the_state(news: News) -> None:
    """What the log says was learned is what the model has learned."""
    experiment = played(news, 200)
    experiment.expire()
    log = experiment.log()
    learned = log.filter(pl.col("outcome").is_in(["applied", "default"]))
    assert len(learned) == experiment.version and learned["reward"].null_count() == 0
    assert log.filter(pl.col("outcome") == "waiting").height == experiment.waiting
    assert log.filter(pl.col("outcome") == "default").height == experiment.counts["default"] > 0


def test_files_that_are_no_log(news: News, tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    with pytest.raises(es.InvalidArgument, match="a log that was written"):
        es.read_log(file)
    pl.DataFrame({"id": ["a"]}).write_parquet(file)
    with pytest.raises(es.InvalidArgument, match="the columns log_version, time"):
        es.read_log(file)
    played(news, 3).log().with_columns(pl.lit(2, pl.Int32).alias("log_version")).write_parquet(file)
    with pytest.raises(es.InvalidArgument, match="a log of version 1, not 2"):
        es.read_log(file)
    lines = tmp_path / "log.jsonl"
    lines.write_text('{"id": 1}\n')
    with pytest.raises(es.InvalidArgument, match="lines of a log"):
        es.read_log(lines)
