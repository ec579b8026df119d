"""Rewards after the wait: their values stay in the log, and the default is in it as soon as the wait is over."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import ensample as es
from experiments.places import News
from experiments.ticking import Ticking


def late_log(news: News) -> es.Experiment:
    """Two decisions with a default each: one has two late rewards, the other none."""
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 10, wait=60, default=1))
    decision = experiment.decide(id="late")
    experiment.decide(id="never")
    clock.move(61)
    assert experiment.reward(decision, 7) == "late"
    clock.move(5)
    assert experiment.reward(decision, 3) == "late"
    return experiment


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(1_000_000 + seconds, UTC)


def test_late_rewards_keep_their_values_and_times(news: News) -> None:
    log = late_log(news).log()
    assert log["late_rewards"].to_list() == [
        [{"value": 7.0, "time": moment(61)}, {"value": 3.0, "time": moment(66)}],
        [],
    ]
    assert log["late"].to_list() == [2, 0] and log["reward"].to_list() == [1.0, 1.0]
    values = pl.col("late_rewards").list.eval(pl.element().struct.field("value")).list.sum()
    assert log.select(values).to_series().to_list() == [10.0, 0.0]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_late_rewards_come_back_from_files(kind: str, news: News, tmp_path: Path) -> None:
    experiment, file = late_log(news), tmp_path / f"log.{kind}"
    getattr(experiment, f"to_{kind}")(file)
    assert es.read_log(file).equals(experiment.log()) and es.evaluate(file).rows == 2


def test_late_rewards_reach_pandas_and_dsjson(news: News, tmp_path: Path) -> None:
    experiment = late_log(news)
    expected = experiment.log()["late_rewards"].to_list()
    assert experiment.to_pandas()["late_rewards"].to_list() == expected
    experiment.to_dsjson(tmp_path / "log.dsjson")
    back = es.read_dsjson(tmp_path / "log.dsjson")
    assert back["late_rewards"].to_list() == expected and back["late"].to_list() == [2, 0]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_log_of_version_1_is_read(kind: str, news: News, tmp_path: Path) -> None:
    file, experiment = tmp_path / f"log.{kind}", late_log(news)
    experiment.to_jsonl(tmp_path / "new.jsonl")
    old = experiment.log().drop("late_rewards").with_columns(log_version=pl.lit(1, pl.Int32))
    if kind == "parquet":
        old.write_parquet(file)
    else:
        lines = (tmp_path / "new.jsonl").read_text().splitlines()
        kept = [line.partition(',"late_rewards"')[0] + "}" for line in lines]
        file.write_text("\n".join(kept).replace('"log_version":2', '"log_version":1'))
    found = es.read_log(file)
    assert found.drop("late_rewards").equals(old)
    assert found["late_rewards"].to_list() == [None, []], (
        "the values of the first row are not known"
    )


def test_late_reward_sent_twice_with_its_key_is_kept_once(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(wait=60, default=0))
    experiment.decide(id="q")
    clock.move(61)
    outcomes = [experiment.reward("q", 1, key=key) for key in ("a", "a", "b")]
    experiment.expire()
    outcomes += [experiment.reward("q", 1, key=key) for key in ("a", "c")]
    assert outcomes == ["late"] * 5
    assert len(experiment.log()["late_rewards"][0]) == 3


def test_reward_that_counted_is_not_late_when_sent_again(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 9, wait=60, rule="sum"))
    experiment.decide(id="q")
    assert experiment.reward("q", 2, key="a") == "applied"
    clock.move(61)
    assert experiment.reward("q", 2, key="a") == "late", "its wait is over"
    experiment.expire()
    assert experiment.reward("q", 2, key="a") == "duplicate"
    assert experiment.log()["late_rewards"].to_list() == [[]]


@pytest.mark.parametrize("default", [0.0, None])
@pytest.mark.parametrize("rule", ["first", "sum"])
def test_log_has_the_outcome_as_soon_as_the_wait_is_over(
    default: float | None, rule: str, news: News
) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(wait=60, default=default, rule=rule))
    shown, rewarded = experiment.decide(), experiment.decide()
    hidden = experiment.decide(active=False)
    experiment.reward(rewarded, 1)
    clock.move(60)
    assert experiment.log()["outcome"].to_list().count("waiting") == (2 if rule == "first" else 3)
    clock.move(1)
    events, hash, log = experiment.events, experiment.hash, experiment.log()
    own = "expired" if default is None else "default"
    assert log["id"].to_list() == [shown.id, rewarded.id, hidden.id]
    assert log["outcome"].to_list() == [own, "applied", "expired"]
    assert log["reward"].to_list() == [default, 1.0, None]
    if default is not None:
        assert log["reward_time"][0] == log["time"][0] + timedelta(seconds=60)
    assert (experiment.events, experiment.hash) == (events, hash), "reading is not writing"
    clock.move(100)
    experiment.expire()
    assert experiment.log().equals(log), (
        "the event that teaches the policy changes nothing in the log"
    )
    assert experiment.events == events + 1
