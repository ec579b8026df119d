"""Rewards: their outcomes, waits, defaults and sums; late ones stay in the log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ensample as es
from experiments.places import NAMES, SMALL, News, Ticking


def test_outcomes_are_values(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    first, second, third = (experiment.decide({"age": age}) for age in (1, 2, 3))
    other = next(name for name in NAMES if name != second.action)
    assert [experiment.reward(first, y) for y in (True, 0)] == ["applied", "duplicate"]
    assert experiment.reward("nobody", 1) == "unknown"
    assert experiment.reward(second, 1, action=other) == "not_shown"
    assert experiment.reward(second, 1, action=second.action) == "applied"
    clock.move(1801)
    assert experiment.reward(third, 1) == "late" and experiment.version == 2
    assert experiment.expire() == 1 and experiment.version == 3, "the default was learned"
    assert experiment.reward(third, 1) == "late" and experiment.waiting == 0
    known = {"applied": 2, "duplicate": 1, "unknown": 1, "not_shown": 1, "late": 2, "default": 1}
    assert experiment.counts == known


def test_wait_ends_with_its_last_microsecond(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    early, late = experiment.decide(), experiment.decide()
    clock.move(1800)
    assert experiment.reward(early, 1) == "applied" and experiment.expire() == 0
    clock.move(2e-6)
    assert experiment.reward(late, 1) == "late" and experiment.expire() == 1


def test_each_decision_expires_a_few(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    for _ in range(100):
        experiment.decide()
    clock.move(3600)
    experiment.decide()
    assert experiment.waiting == 37
    experiment.decide()
    assert experiment.waiting == 2 and experiment.counts == {"default": 100}


def test_refused_decision_expires_nothing(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    experiment.decide()
    clock.move(3600)
    hash = experiment.hash
    with pytest.raises(es.InvalidArgument, match="a number of at most"):
        experiment.decide({"x": 1e80, "y": 1}, {"sport": {"price": 1e80}, "culture": None})
    assert experiment.hash == hash and experiment.waiting == 1


def test_without_a_default_nothing_is_learned(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(wait=60))
    decision = experiment.decide()
    assert experiment.expire(clock.now + 61) == 1 and experiment.version == 0
    assert experiment.log()["outcome"].to_list() == ["expired"]
    assert experiment.reward(decision, 1) == "late"


def test_rewards_may_be_added_up(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 10, wait="1 h", rule="sum", default=0))
    first, second = experiment.decide(), experiment.decide()
    outcomes = [experiment.reward(first, 2, key=key) for key in ("a", "b", "a")]
    assert outcomes == ["applied", "applied", "duplicate"]
    assert experiment.reward(first, 1) == "applied" and experiment.version == 0
    clock.move(3601)
    assert experiment.reward(first, 1) == "late"
    experiment.expire()
    assert experiment.version == 2 and experiment.reward(first, 2, key="a") == "duplicate"
    assert experiment.reward(second, 2) == "late"
    log = experiment.log()
    assert log["reward"].to_list() == [5.0, 0.0]
    assert log["outcome"].to_list() == ["applied", "default"]
    assert experiment.engine.state.learner.model.count == 2


def test_decision_may_wait_to_be_shown(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    shown, hidden = experiment.decide(active=False), experiment.decide(active=False)
    assert experiment.reward(shown, 1) == "not_shown"
    outcomes = [experiment.activate(item) for item in (shown, shown, "nobody")]
    assert outcomes == ["applied", "duplicate", "unknown"]
    assert experiment.reward(shown, 1) == "applied" and experiment.activate(shown) == "duplicate"
    clock.move(3600)
    assert experiment.activate(hidden) == "late"
    experiment.expire()
    assert experiment.version == 1 and experiment.activate(hidden) == "late"
    log = experiment.log()
    assert log["active"].to_list() == [True, False]
    assert log["outcome"].to_list() == ["applied", "expired"]


def test_times_are_seconds_or_datetimes(news: News) -> None:
    experiment = news(reward=es.Reward(wait=timedelta(minutes=1)))
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    decision = experiment.decide(time=moment)
    assert experiment.log()["time"].to_list() == [moment]
    assert experiment.reward(decision, 1, time=moment - timedelta(seconds=1)) == "not_shown"
    assert experiment.reward(decision, 1, time=moment + timedelta(seconds=61)) == "late"
    assert experiment.reward(decision, 1, time=datetime(2026, 3, 1, 12, 0, 59)) == "applied"


def test_clock_that_is_set_back_loses_no_reward() -> None:
    clock = Ticking(1000.0)
    experiment = es.Experiment("news", actions=["a", "b"], recipe=SMALL, clock=clock)
    decision = experiment.decide()
    clock.move(-10.0)
    assert experiment.reward(decision, 1) == "applied" and experiment.version == 1


WAITS = ["30 min", "30 minutes", "1800 s", 1800, timedelta(minutes=30), "0.5 h", "1800000ms"]


@pytest.mark.parametrize("wait", WAITS)
def test_waits_in_words(wait: Any) -> None:
    assert es.Reward(wait=wait).wait == 1800.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": "soon"}, "wait = 'soon': expected a time such as '30 min'"),
        ({"wait": 0}, "longer than nothing"),
        ({"wait": 5e-324}, "at least a microsecond"),
        ({"low": 1, "high": 0}, r"high = 0\.0: expected a number above low = 1"),
        ({"wait": 1, "default": 2}, "default = 2: expected a reward, a number from 0 to 1"),
        ({"default": 0}, "wait = None: expected a time such as '30 min', with a default"),
        ({"rule": "sum"}, 'with rule = "sum"'),
        ({"rule": "last"}, "rule = 'last'"),
    ],
)
def test_rules_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        es.Reward(**given)


def late_log(news: News) -> es.Experiment:
    """Return two decisions with a default each: one has two late rewards, the other none."""
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 10, wait=60, default=1))
    decision = experiment.decide(id="late")
    experiment.decide(id="never")
    clock.move(61)
    assert experiment.reward(decision, 7) == "late"
    clock.move(5)
    assert experiment.reward(decision, 3) == "late"
    return experiment


def test_late_rewards_keep_their_values_and_times(news: News, tmp_path: Path) -> None:
    experiment = late_log(news)
    log = experiment.log()
    moments = [datetime.fromtimestamp(1_000_000 + seconds, UTC) for seconds in (61, 66)]
    late = [{"value": 7.0, "time": moments[0]}, {"value": 3.0, "time": moments[1]}]
    assert log["late_rewards"].to_list() == experiment.to_pandas()["late_rewards"].to_list()
    assert log["late_rewards"].to_list() == [late, []]
    assert log["late"].to_list() == [2, 0] and log["reward"].to_list() == [1.0, 1.0]
    for kind in ("parquet", "jsonl", "dsjson"):
        file = tmp_path / f"log.{kind}"
        getattr(experiment, f"to_{kind}")(file)
        found = es.read_dsjson(file) if kind == "dsjson" else es.read_log(file)
        assert found["late_rewards"].to_list() == [late, []]
        assert es.evaluate(file).rows == 2


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
    assert found["late_rewards"].to_list() == [None, []], "those of the first row are not known"


def test_late_reward_sent_twice_with_its_key_is_kept_once(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(wait=60, default=0))
    experiment.decide(id="q")
    clock.move(61)
    outcomes = [experiment.reward("q", 1, key=key) for key in ("a", "a", "b")]
    experiment.expire()
    outcomes += [experiment.reward("q", 1, key=key) for key in ("a", "c")]
    assert outcomes == ["late"] * 5 and len(experiment.log()["late_rewards"][0]) == 3


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
    assert experiment.log().equals(log), "the event that teaches the policy changes no row"
    assert experiment.events == events + 1
