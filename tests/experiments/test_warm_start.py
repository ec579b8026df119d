"""Rewards from before an experiment, and what another recipe makes of the same log."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import ensample as es
from experiments.places import NAMES, SMALL, News

ROWS = {
    "age": [31, 45, 22, 60] * 20,
    "device": ["phone", "pad", "phone", None] * 20,
    "action": ["sport", "culture", "culture", "sport"] * 20,
    "reward": [1.0, 1.0, 0.0, None] * 20,
}


@pytest.mark.parametrize("kind", ["polars", "pandas", "csv", "parquet"])
def test_frames_and_files_teach_the_same(news: News, kind: str, tmp_path: Path) -> None:
    frame, data = pl.DataFrame(ROWS), tmp_path / f"past.{kind}"
    if kind in ("csv", "parquet"):
        getattr(frame, f"write_{kind}")(data)
    given: Any = {"polars": frame, "pandas": pd.DataFrame(ROWS)}.get(kind, data)
    experiment, twin = news(), es.Experiment("twin", actions=NAMES, recipe=SMALL)
    assert experiment.learn(given, context=["age", "device"]) == twin.learn(frame) == 60
    ours, theirs = (each.engine.state.learner.model.mean for each in (experiment, twin))
    assert ours.tolist() == theirs.tolist() and experiment.version == 60
    assert len(experiment.log()) == 0 and "device=phone x [sport]" in experiment.columns


def test_columns_of_a_file_that_become_features_are_named(news: News, tmp_path: Path) -> None:
    """A number that comes late in a file is a number: what is empty for long is not text."""
    rest = {"prob": [0.5] * 160, "variant": ["sport"] * 160, "click": [1] * 160}
    pl.DataFrame({"age": [None] * 150 + [30.5] * 10} | rest).write_csv(tmp_path / "p.csv")
    expected = r"p\.csv: the columns age, prob are taken for the context.*\['age', 'prob'\]"
    with pytest.warns(UserWarning, match=expected) as said:
        news().learn(tmp_path / "p.csv", action="variant", reward="click")
    assert said[0].filename == __file__
    named = news()
    named.learn(tmp_path / "p.csv", context=["age"], action="variant", reward="click")
    assert "age" in named.columns
    assert not [name for name in named.columns if "age=" in name or "prob" in name]


@pytest.mark.parametrize("fresh", [False, True])
def test_rewards_from_before_decide(news: News, fresh: bool) -> None:
    """Fifteen in a hundred fresh members prefer the action that was never tried."""
    experiment = news(floor=0.0, recipe=es.EnsembleSampling(size=1000, fresh=fresh))
    actions = ["sport", "culture", "culture", "sport"] * 30
    past = {"c": ['{"d":"x"}', '{"d":"y"}'] * 60, "a": actions, "r": [1, 1, 0, 0] * 30}
    experiment.learn(pl.DataFrame(past), context="c", action="a", reward="r")
    assert experiment.decide({"d": "x"}).propensities["sport"] > 0.8
    assert experiment.decide({"d": "y"}).propensities["culture"] > 0.8


@pytest.mark.parametrize("kind", ["struct", "json", "flat"])
def test_frame_that_is_evaluated_can_be_learned(news: News, kind: str) -> None:
    """The propensity is no feature, unless it is asked for: nobody knows it before the choice."""
    experiment, twin, named = news(), news(), news()
    shared = {"propensity": [0.5, 0.25] * 40, "action": ROWS["action"], "reward": ROWS["reward"]}
    fields = {name: ROWS[name] for name in ("age", "device")}
    contexts = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
    given = {
        "struct": {"context": contexts, "page": ["home"] * 80},
        "json": {"context": [json.dumps(context) for context in contexts], "page": ["home"] * 80},
        "flat": fields,
    }
    experiment.learn(pl.DataFrame(given[kind] | shared))
    twin.learn(pl.DataFrame(ROWS))
    assert experiment.hash == twin.hash
    named.learn(pl.DataFrame(ROWS | shared), context=["age", "propensity"])
    for each, expected in ((experiment, False), (named, True)):
        assert any("propensity" in name for name in each.columns) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": ["x"] * 80}, r"data\.action = 'x': expected one of the actions"),
        ({"reward": [2.0] * 80}, r"data\.reward = 2\.0: expected a reward, a number from 0 to 1"),
        ({"action": None}, "the columns action and reward, and action is missing"),
    ],
)
def test_bad_rows_teach_nothing(news: News, change: dict[str, Any], message: str) -> None:
    experiment = news()
    rows = {name: values for name, values in (ROWS | change).items() if values is not None}
    with pytest.raises(es.InvalidArgument, match=message):
        experiment.learn(pl.DataFrame(rows))
    assert experiment.version == 0 and experiment.columns == []
    with pytest.raises(es.InvalidArgument, match=r"a file \.csv or \.parquet that is there"):
        experiment.learn("nowhere.csv")


def test_replay_by_another_recipe_or_features(news: News) -> None:
    experiment = news()
    for number in range(60):
        decision = experiment.decide({"x": number % 3})
        experiment.reward(decision, decision.action == "culture")
    greedy, same = experiment.replay(es.Greedy()), experiment.replay()
    assert greedy.version == 60 and greedy.log().equals(experiment.log())
    assert same.hash == experiment.hash
    known = greedy.decide({"x": 1}, id="g").propensities
    assert max(known, key=known.get) == "culture"
    other = experiment.replay(features=es.Hashing(16))
    assert other.engine.state.learner.dim == 16 and other.version == 60
    assert len(experiment.log()) == 60
