"""The time of an event is the database's where there is one, and never runs backwards within a log."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

import ensample as es
from ensample.experiments import inputs
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from experiments.places import SMALL, News, Ticking

RULES = es.Reward(wait="30 min", default=0)
AHEAD = 31 * 60  # seconds


@contextmanager
def ahead(seconds: float) -> Iterator[None]:
    """Set the clock of this machine ahead."""
    with pytest.MonkeyPatch.context() as patch:
        real = inputs.time.time
        patch.setattr(inputs, "time", SimpleNamespace(time=lambda: real() + seconds))
        yield


def event_times(experiment: es.Experiment) -> list[int]:
    return [event.time for event in experiment.engine.events()]


def test_server_whose_clock_is_ahead_makes_no_reward_late(pool: PostgresPool) -> None:
    """By the servers' own clocks, the wait of each decision of the right one was over when the wrong one decided."""
    name = f"clocks-{secrets.token_hex(4)}"
    given = {"actions": ["a", "b"], "recipe": SMALL, "reward": RULES}
    right, wrong = (
        experiment_in(PostgresStorage(pool, name), {"name": "clocks"}, given) for _ in range(2)
    )
    right.decide(id="1")
    with ahead(AHEAD):
        wrong.decide(id="2")
        assert wrong.reward("1", 1) == "applied"
    right.decide(id="3")
    assert right.reward("2", 1) == right.reward("3", 1) == "applied"
    found = event_times(right)
    assert found == sorted(found) and found[-1] - found[0] < 60_000_000
    assert abs(right.now() / 1e6 - inputs.system_clock()) < 60, "the database is on this machine"
    assert right.hash == wrong.hash
    right.verify()
    for experiment in (right, wrong):
        experiment.close()


def test_clock_that_is_set_back_stands_still_until_it_has_caught_up(news: News) -> None:
    clock = Ticking(1_000.0)
    experiment = news(clock, reward=RULES)
    experiment.decide(id="1")
    clock.move(-500.0)
    experiment.decide(id="2")
    experiment.reward("1", 1)
    experiment.add("weather")
    assert experiment.now() == 1_000_000_000
    clock.move(501.0)
    experiment.decide(id="3")
    assert event_times(experiment) == [1_000_000_000] * 5 + [1_001_000_000]


def test_clock_that_is_set_back_stands_still_after_reopening_too(tmp_path: Path) -> None:
    """Also right after a snapshot, which does not hold the time."""
    path, clock = tmp_path / "news.db", Ticking(1_000.0)
    with es.open_experiment(path, actions=["a", "b"], recipe=SMALL, clock=clock) as experiment:
        experiment.engine.snapshots.every = 3
        for number in range(2):
            experiment.decide(id=str(number))
        assert [item.seq for item in experiment.engine.storage.snapshots()] == [3]
        before = experiment.hash
    clock.move(-500.0)
    with es.open_experiment(path, clock=clock, verify=True) as experiment:
        assert experiment.hash == before and experiment.now() == 1_000_000_000
        experiment.decide(id="2")
        assert event_times(experiment) == [1_000_000_000] * 4


def test_time_that_a_call_says_is_kept_as_it_is(news: News) -> None:
    experiment = news(Ticking(1_000.0), reward=RULES)
    experiment.decide(id="1")
    experiment.decide(id="0", time=400.0)
    experiment.reward("0", 1, time=500.0)
    assert event_times(experiment) == [1_000_000_000, 1_000_000_000, 400_000_000, 500_000_000]
    assert experiment.now() == 1_000_000_000
