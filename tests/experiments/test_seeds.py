"""Seeds of experiments: drawn and recorded where none is given, and told apart by names where they are equal."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import ensample as es
from ensample.experiments.core import asked, proposed
from ensample.experiments.events import Created, Decided
from ensample.experiments.mixture import Uniforms
from ensample.experiments.opening import experiment_in
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from experiments.places import NAMES, SMALL, News
from experiments.test_versions import unpacked

VISITORS, WORLDS = 300, 20
FALSE_PROOFS = 3
"""Tests at 5% of 20 worlds without effect reject more often with probability 1.6%; the seeds are fixed."""


def choices(experiment: es.Experiment, count: int = 200) -> pl.DataFrame:
    """Play, and return who chose what."""
    start = len(experiment.log())
    for visit in range(start, start + count):
        decision = experiment.decide({"age": visit % 5}, id=f"visit {visit}")
        experiment.reward(decision, float(decision.action == "culture"))
    return experiment.log()["drawn", "member", "action"][start:]


def test_a_seed_that_is_not_given_is_drawn_and_recorded(news: News) -> None:
    experiments = [news(seed=None, baseline=("sport", 0.5)) for _ in range(3)]
    assert len({experiment.seed for experiment in experiments}) == 3
    for experiment in experiments:
        assert 0 <= experiment.seed < 2**53
        assert (
            next(experiment.engine.events()).settings["seed"]
            == experiment.seed
            == experiment.settings.described()["seed"]
        )
    first, second, _ = map(choices, experiments)
    assert not first.equals(second)


def test_the_recorded_seed_reproduces_the_experiment(news: News) -> None:
    experiment = news(seed=None, baseline=("sport", 0.2))
    again = news(seed=experiment.seed, baseline=("sport", 0.2))
    assert choices(experiment).equals(choices(again)) and experiment.hash == again.hash
    replayed = experiment.replay()
    assert replayed.hash == experiment.hash and choices(replayed).equals(choices(again))


def test_a_durable_experiment_keeps_its_seed(tmp_path: Path) -> None:
    with es.open_experiment(tmp_path / "news.db", actions=NAMES, recipe=SMALL) as experiment:
        seed = experiment.seed
        choices(experiment, 20)
    with es.open_experiment(tmp_path / "news.db", actions=NAMES) as experiment:
        assert experiment.seed == seed
    with es.open_experiment(tmp_path / "news.db", seed=seed) as experiment:
        assert experiment.seed == seed
    with pytest.raises(es.InvalidArgument, match=f"seed = {seed + 1}.*{seed}"):
        es.open_experiment(tmp_path / "news.db", seed=seed + 1)


def test_a_copy_of_another_name_goes_on_as_the_original(tmp_path: Path) -> None:
    with es.open_experiment(
        tmp_path / "news.db", actions=NAMES, recipe=SMALL, baseline=("sport", 0.2)
    ) as experiment:
        choices(experiment, 20)
    shutil.copy(tmp_path / "news.db", tmp_path / "copy.db")
    with (
        es.open_experiment(tmp_path / "news.db") as one,
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


def test_the_seed_of_the_server_that_was_first_counts() -> None:
    first = es.Experiment("news", actions=NAMES, recipe=SMALL, baseline=("sport", 0.2))
    second = experiment_in(
        Contested(first),
        {"name": "news"},
        {"actions": NAMES, "recipe": SMALL, "baseline": ("sport", 0.2)},
    )
    assert second.seed == first.seed
    assert choices(first).equals(choices(second)) and first.hash == second.hash


@pytest.mark.parametrize("name", ["given"])
def test_the_log_of_an_earlier_release_replays_as_it_was(name: str, tmp_path: Path) -> None:
    """A log of version 0.2.0, which names no stream: the same questions have the same answers."""
    events = list(SQLiteReader(unpacked(name, tmp_path)).read())
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
    recipe = es.EnsembleSampling(size=10, fresh=False)
    one, other = (
        news(name=name, seed=5, baseline=("sport", 0.5), recipe=recipe) for name in ("news", "shop")
    )
    one, other = choices(one), choices(other)
    both = (one["drawn"] == "baseline") & (other["drawn"] == "baseline")
    assert 25 < both.sum() < 75, "a quarter of 200; six standard deviations are 37"
    assert (one["member"] == other["member"]).sum() < 25, (
        "of 50 that a policy chose in both, a tenth"
    )


def test_equal_seeds_and_different_names_draw_different_fresh_members(news: News) -> None:
    """Without rewards, so that each of three actions has the probability 1/3 in each round."""
    experiments = [news(name=name, seed=5) for name in ("news", "shop", "news")]
    chosen = [
        [experiment.decide(id=f"visit {visit}").action for visit in range(200)]
        for experiment in experiments
    ]
    agreed = [sum(map(str.__eq__, chosen[0], each)) for each in chosen[1:]]
    assert 27 < agreed[0] < 107 and agreed[1] == 200, (
        "a third of 200; six standard deviations are 40"
    )


def false_proof(seed: int | None, world: int) -> bool:
    """Play two experiments on the same visitors, and return whether the one without effect differs from its holdout at 95%.

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
    return (
        stats.ttest_ind(
            log.filter(~held)["reward"], log.filter(held)["reward"], equal_var=False
        ).pvalue
        < 0.05
    )


@pytest.mark.long
def test_experiments_with_default_seeds_prove_nothing_false() -> None:
    """The seeds are drawn by the fixture `repeatable_seeds`, so that every run has the same outcome."""
    assert sum(false_proof(None, world) for world in range(WORLDS)) <= FALSE_PROOFS


@pytest.mark.long
def test_experiments_of_equal_seeds_and_different_names_prove_nothing_false() -> None:
    assert sum(false_proof(world, world) for world in range(WORLDS)) <= FALSE_PROOFS


@pytest.mark.long
def test_experiments_that_share_their_random_numbers_prove_what_is_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: without names in the address the same worlds show an effect that is not there."""
    monkeypatch.setattr("ensample.experiments.settings.seed_of_stream", lambda seed, stream: seed)
    assert sum(false_proof(world, world) for world in range(WORLDS)) > 15
