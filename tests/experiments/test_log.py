"""The log: its schema, and its way to files and back."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ensample as es
from ensample.experiments.log.builder import log_rows
from ensample.experiments.log.table import frame_of, log_schema
from experiments.places import NAMES, SMALL, News, Ticking, played
from naive.log_book import log_rows as naive_rows

DOCS = Path(__file__).parents[2] / "docs" / "log.md"


def test_the_schema_is_the_documented_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", DOCS.read_text(encoding="utf-8"), re.M)
    assert [(name, kind.strip()) for name, kind in rows] == [
        (name, str(kind)) for name, kind in log_as_text().items()
    ]


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
    assert es.read_log(file).equals(log) and dict(log.schema) == dict(
        pl.DataFrame(schema=log_schema()).schema
    )


def test_a_row_says_all_of_a_decision(news: News) -> None:
    clock = Ticking()
    experiment = news(
        clock,
        floor=0.1,
        baseline=("culture", 0.2),
        actions={"sport": {"live": True}, "politics": None, "culture": None},
    )
    decision = experiment.decide({"age": 31, "tags": ["tennis"]})
    clock.move(5)
    experiment.reward(decision, 1)
    experiment.reward(decision, 1)
    row = experiment.log().row(0, named=True)
    assert row["offer"] == NAMES and row["propensities"] == list(decision.propensities.values())
    assert (
        row["propensity"] == decision.propensity == row["propensities"][NAMES.index(row["action"])]
    )
    assert (row["context"], row["features"]) == (
        '{"age":31,"tags":["tennis"]}',
        '{"sport":{"live":true},"politics":null,"culture":null}',
    )
    assert (row["floor"], row["baseline"], row["share"], row["experiment"]) == (
        0.1,
        "culture",
        0.2,
        "news",
    )
    assert (row["reward"], row["outcome"], row["duplicate"], row["policy_version"]) == (
        1.0,
        "applied",
        1,
        0,
    )
    assert (row["reward_time"] - row["time"]).total_seconds() == 5 and row["log_version"] == 2


def test_the_log_agrees_with_the_state(news: News) -> None:
    """What the log says was learned is what the model has learned."""
    experiment = played(news, 200)
    experiment.expire()
    log = experiment.log()
    learned = log.filter(pl.col("outcome").is_in(["applied", "default"]))
    assert len(learned) == experiment.version and learned["reward"].null_count() == 0
    assert log.filter(pl.col("outcome") == "waiting").height == experiment.waiting
    assert log.filter(pl.col("outcome") == "default").height == experiment.counts["default"] > 0


@pytest.mark.parametrize("rule", ["first", "sum"])
def test_pieces_of_the_log_are_the_log(
    news: News, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in pieces, with what became of decisions in few bytes, against rows that are filled in as rewards come."""
    monkeypatch.setattr("ensample.experiments.log.builder.PIECE", 7)
    monkeypatch.setattr("ensample.experiments.engine.READ_AT_ONCE", 5)
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 9, wait=60, default=1, rule=rule))
    rng = np.random.default_rng(0)
    decisions: list[es.NamedDecision] = []
    for _ in range(120):
        clock.move(rng.integers(40))
        decisions.append(experiment.decide({"x": 1}, active=rng.random() < 0.7))
        if rng.random() < 0.2:
            experiment.activate(decisions[rng.integers(len(decisions))])
        for _ in range(rng.integers(3)):
            one = decisions[rng.integers(max(0, len(decisions) - 9), len(decisions))]
            action, key = (
                rng.choice([None, *NAMES], p=[0.7, 0.1, 0.1, 0.1]),
                rng.choice([None, "u", "v"]),
            )
            experiment.reward(one, rng.integers(9), action=action, key=key)
        if rng.random() < 0.1:
            experiment.expire()
        if rng.random() < 0.05:
            experiment.add(f"n{len(decisions)}", {"price": 3})
    log = experiment.log()
    assert log.equals(
        frame_of(
            naive_rows(experiment.settings, experiment.engine.storage.read(), experiment.now())
        )
    )
    assert set(log["outcome"]) == {"waiting", "applied", "default", "expired"}
    assert 3 < log["late_rewards"].list.len().sum() < log["late"].sum(), "some were sent again"
    assert all(log[column].sum() > 3 for column in ("late", "not_shown")) and (
        rule == "sum" or log["duplicate"].sum() > 3
    )
    for kind in ("parquet", "jsonl"):
        getattr(experiment, f"to_{kind}")(tmp_path / f"log.{kind}")
        assert es.read_log(tmp_path / f"log.{kind}").equals(log)
    assert (
        experiment.to_dsjson(tmp_path / "log.dsjson")
        == log["active"].sum()
        == es.read_dsjson(tmp_path / "log.dsjson").height
    )


def test_a_log_is_written_while_others_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends where it was asked for."""
    monkeypatch.setattr("ensample.experiments.engine.READ_AT_ONCE", 3)
    experiment = es.Experiment("news", actions=NAMES, recipe=SMALL)
    for _ in range(10):
        experiment.decide()
    rows = []
    for row in log_rows(experiment.settings, lambda: experiment.engine.events(11)):
        rows.append(row["id"])
        experiment.decide()
    assert len(rows) == 10 and experiment.log().height == 20


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.csv"])
@pytest.mark.parametrize(
    "content", [b"", b"PAR1 and then not", b"\xff\xfe\x00bytes", b"[1, 2]\n", b"id,time\n1,2\n"]
)
def test_foreign_files_are_told_as_ours(name: str, content: bytes, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    if (name, content) == ("log.jsonl", b""):
        assert es.read_log(file).is_empty()  # what an empty log is written as
        return
    with pytest.raises(es.InvalidArgument, match="log"):
        es.read_log(file)
    if content:
        with pytest.raises(es.InvalidArgument, match="dsjson"):
            es.read_dsjson(file)


def test_columns_of_another_type_are_told(news: News, tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    played(news, 3).log().with_columns(pl.col("reward").cast(pl.String)).write_parquet(file)
    with pytest.raises(es.InvalidArgument, match="whose column reward is Float64, not String"):
        es.read_log(file)


def test_files_that_are_no_log(news: News, tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    with pytest.raises(es.InvalidArgument, match=r"a log that was written .*, and is there"):
        es.read_log(file)
    pl.DataFrame({"id": ["a"]}).write_parquet(file)
    with pytest.raises(es.InvalidArgument, match="the columns log_version, time"):
        es.read_log(file)
    played(news, 3).log().with_columns(pl.lit(3, pl.Int32).alias("log_version")).write_parquet(file)
    with pytest.raises(es.InvalidArgument, match="a log of version 1 to 2, not 3"):
        es.read_log(file)
    lines = tmp_path / "log.jsonl"
    lines.write_text('{"id": 1}\n')
    with pytest.raises(es.InvalidArgument, match="lines of a log"):
        es.read_log(lines)
