"""Seeds, recorded and told apart by names, and clocks: an experiment can be repeated."""

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import ensample as es
from ensample.experiments import inputs
from ensample.experiments.core import asked, proposed
from ensample.experiments.events import Created, Decided
from ensample.experiments.mixture import Uniforms
from ensample.experiments.opening import experiment_in
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from experiments.places import NAMES, RULES, SMALL, News, Ticking
from experiments.test_migration import unpacked

VISITORS, WORLDS = 300, 20
FALSE_PROOFS = 3
"""Tests at 5% of 20 worlds without effect reject more often with probability 1.6%."""


def choices(experiment: es.Experiment, count: int = 200) -> pl.DataFrame:
    """Play, and return who chose what."""
    start = len(experiment.log())
    for visit in range(start, start + count):
        decision = experiment.decide({"age": visit % 5}, id=f"visit {visit}")
        experiment.reward(decision, float(decision.action == "culture"))
    return experiment.log()["drawn", "member", "action"][start:]


def test_seed_that_is_not_given_is_drawn_recorded_and_reproduces(news: News) -> None:
    first, second, third = (news(seed=None, baseline=("sport", 0.5)) for _ in range(3))
    assert len({first.seed, second.seed, third.seed}) == 3
    for experiment in (first, second, third):
        assert 0 <= experiment.seed < 2**53
        assert next(experiment.engine.events()).settings["seed"] == experiment.seed
    again = news(seed=first.seed, baseline=("sport", 0.5))
    chosen = choices(first)
    assert chosen.equals(choices(again)) and first.hash == again.hash
    assert not chosen.equals(choices(second))
    replayed = first.replay()
    assert replayed.hash == first.hash and choices(replayed).equals(choices(again))


def test_durable_experiment_keeps_its_seed(tmp_path: Path) -> None:
    path, given = tmp_path / "news.db", {"recipe": SMALL, "baseline": ("sport", 0.2)}
    with es.open_experiment(path, actions=NAMES, **given) as experiment:
        seed = experiment.seed
        choices(experiment, 20)
    with es.open_experiment(path, actions=NAMES, seed=seed) as experiment:
        assert experiment.seed == seed
    with pytest.raises(es.InvalidArgument, match=f"seed = {seed + 1}.*{seed}"):
        es.open_experiment(path, seed=seed + 1)
    shutil.copy(path, tmp_path / "copy.db")  # of another name goes on as the original
    with (
        es.open_experiment(path) as one,
        es.open_experiment(tmp_path / "copy.db", verify=True) as other,
    ):
        assert choices(one, 20).equals(choices(other, 20)) and one.hash == other.hash


class Contested(MemoryStorage):
    """A storage in which another server creates the experiment a moment before this one does."""

    def __init__(self, other: es.Experiment) -> None:
        super().__init__()
        self.other = other

    @contextmanager
    def batch(self) -> Iterator[None]:
        with super().batch():
            if self.count == 0:
                self.append(next(self.other.engine.events()))
            yield


def test_seed_of_the_server_that_was_first_counts() -> None:
    given = {"actions": NAMES, "recipe": SMALL, "baseline": ("sport", 0.2)}
    first = es.Experiment("news", **given)
    second = experiment_in(Contested(first), {"name": "news"}, given)
    assert second.seed == first.seed
    assert choices(first).equals(choices(second)) and first.hash == second.hash


def test_log_of_an_earlier_release_replays_as_it_was(tmp_path: Path) -> None:
    """A log of version 0.2.0, which names no stream: the same questions have the same answers."""
    events = list(SQLiteReader(unpacked("given", tmp_path)).read())
    assert isinstance(events[0], Created) and "stream" not in events[0].settings
    settings = Settings.rebuilt(events[0].settings)
    assert (settings.seed, settings.stream) == (3, None)
    state, uniforms = State(settings), Uniforms(settings.stream_seed)
    for event in events:
        if isinstance(event, Decided):
            question = asked(state, event.context, event.offer if event.narrowed else None, None)
            again = proposed(state, question, event.id, event.time, event.active, uniforms).event
            assert again.propensities == pytest.approx(event.propensities)
            assert again._replace(propensities=event.propensities) == event
        state.apply(event)
    assert Settings.rebuilt(json.loads(json.dumps(settings.described()))) == settings


def test_equal_seeds_and_different_names_draw_differently(news: News) -> None:
    given = {"seed": 5, "baseline": ("sport", 0.5)}
    recipe = es.EnsembleSampling(size=10, fresh=False)
    one, other = (choices(news(name=name, recipe=recipe, **given)) for name in ("news", "shop"))
    both = (one["drawn"] == "baseline") & (other["drawn"] == "baseline")
    assert 25 < both.sum() < 75, "a quarter of 200; six standard deviations are 37"
    assert (one["member"] == other["member"]).sum() < 25, "a tenth of the 50 that policies chose"


def test_equal_seeds_and_different_names_draw_different_fresh_members(news: News) -> None:
    """Without rewards, so that each of three actions has the probability 1/3 in each round."""
    experiments = [news(name=name, seed=5) for name in ("news", "shop", "news")]
    chosen = [[each.decide(id=str(visit)).action for visit in range(200)] for each in experiments]
    agreed = [sum(map(str.__eq__, chosen[0], each)) for each in chosen[1:]]
    assert 27 < agreed[0] < 107 and agreed[1] == 200, "a third of 200, within 6 deviations of 40"


def is_false_proof(seed: int | None, world: int) -> bool:
    """Play two experiments on the same visitors; return whether the one without effect has one.

    Clicks depend on the ranking that a visitor sees, and not on the headline.
    """
    names = {"headline": ["plain", "loud"], "ranking": ["old", "new"]}
    headline, ranking = (
        es.Experiment(name, actions=actions, recipe=SMALL, baseline=(actions[0], 0.1), seed=seed)
        for name, actions in names.items()
    )
    rng = np.random.default_rng(world)
    for visitor in range(VISITORS):
        context, id = {"device": ("phone", "tablet")[visitor % 2]}, str(visitor)
        shown, ranked = headline.decide(context, id=id), ranking.decide(context, id=id)
        click = rng.random() < (0.8 if ranked.action == "new" else 0.1)
        headline.reward(shown, click)
        ranking.reward(ranked, click)
    log = headline.log()
    held = log["drawn"] == "baseline"
    treated, control = log.filter(~held)["reward"], log.filter(held)["reward"]
    return stats.ttest_ind(treated, control, equal_var=False).pvalue < 0.05


@pytest.mark.long
def test_experiments_with_default_seeds_prove_nothing_false() -> None:
    """The seeds come from the fixture `repeatable_seeds`: every run has the same outcome."""
    assert sum(is_false_proof(None, world) for world in range(WORLDS)) <= FALSE_PROOFS


@pytest.mark.long
def test_experiments_of_equal_seeds_prove_nothing_false() -> None:
    assert sum(is_false_proof(world, world) for world in range(WORLDS)) <= FALSE_PROOFS


@pytest.mark.long
def test_experiments_that_share_random_numbers_prove_what_is_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: without names in the address there is an effect that is not there."""
    monkeypatch.setattr("ensample.experiments.settings.seed_of_stream", lambda seed, stream: seed)
    assert sum(is_false_proof(world, world) for world in range(WORLDS)) > 15


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
    """By the servers' own clocks, the wait of each decision was over when the wrong one decided."""
    name = f"clocks-{secrets.token_hex(4)}"
    given = {"actions": ["a", "b"], "recipe": SMALL, "reward": RULES}
    storages = (PostgresStorage(pool, name) for _ in range(2))
    right, wrong = (experiment_in(storage, {"name": "clocks"}, given) for storage in storages)
    right.decide(id="1")
    with ahead(31 * 60):
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
    experiment = news(clock)
    experiment.decide(id="1")
    clock.move(-500.0)
    experiment.decide(id="2")
    experiment.reward("1", 1)
    experiment.add("weather")
    assert experiment.now() == 1_000_000_000
    clock.move(501.0)
    experiment.decide(id="3")
    experiment.decide(id="0", time=400.0)  # a time that a call says is kept as it is
    assert event_times(experiment) == [1_000_000_000] * 5 + [1_001_000_000, 400_000_000]
    assert experiment.now() == 1_001_000_000


def test_clock_goes_on_from_the_latest_time_after_reopening(tmp_path: Path) -> None:
    """Also right after a snapshot, and where the last event has an earlier time than the latest."""
    path, clock = tmp_path / "news.db", Ticking(6_000.0)
    with es.open_experiment(path, actions=["a", "b"], recipe=SMALL, clock=clock) as experiment:
        experiment.engine.snapshots.every = 1
        experiment.decide(id="1")
        experiment.reward("1", 1, time=1_000.0)
        storage = experiment.engine.storage
        assert next(iter(storage.snapshots())).seq == experiment.events
        before = experiment.hash
    clock.move(-5_500.0)
    with es.open_experiment(path, clock=clock, verify=True) as experiment:
        assert experiment.hash == before and experiment.now() == 6_000_000_000
        assert experiment.decide(id="2").time == 6_000_000_000
