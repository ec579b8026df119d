"""HTML for notebooks: small, escaped, cheap, and for every object that ends a cell."""

import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ensample as es
from ensample.frames import as_pandas
from ensample.markup import bar, facts, sparkline, table

HOSTILE = "<script>alert('x')</script>"
VOID = {"rect", "polyline", "polygon", "br"}


class Seen(HTMLParser):
    """Tags that close in the order in which they were opened, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.said = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data + " "


def played(recipe: es.Recipe, rounds: int = 30, arms: es.Arms | None = None) -> es.Policy:
    policy = recipe.start(arms or es.FiniteArms(np.eye(3)), seed=0)
    for round in range(rounds):
        decision = policy.decide()
        policy.update(decision, float(decision.features[0]) + 0.1 * round % 1)
    return policy


def test_a_policy_shows_its_arms_and_its_rewards() -> None:
    policy = played(es.EnsembleSampling(20))
    policy.decide()
    seen = Seen(policy._repr_html_())
    assert "EnsembleSampling(size=20" in seen.said and "FiniteArms(3 arms, dim=3)" in seen.said
    assert seen.tags.count("polyline") == 1
    assert "waiting for a reward" in seen.said
    assert "noise, as learned" in seen.said
    shares = policy.propensities()
    arm = int(np.bincount(policy.log().arm).argmax())
    assert f"{100 * shares[arm]:.1f}%" in seen.said
    assert policy.round == 31 and policy.version == 30, "looking changes nothing"


@pytest.mark.parametrize(
    "recipe",
    [es.PerturbedHistory(), es.LinUCB(), es.Greedy(), es.EnsembleSampling(5, model=es.Logistic())],
)
@pytest.mark.parametrize("rounds", [0, 1, 9])
def test_policies_without_members_or_rewards_show_too(recipe: es.Recipe, rounds: int) -> None:
    policy = recipe.start(es.FiniteArms(np.eye(2)))
    for _ in range(rounds):
        policy.update(policy.decide(), True)
    seen = Seen(policy._repr_html_())
    assert "nan" not in seen.said and ("svg" in seen.tags) == (rounds > 0)
    assert ("next round" in seen.said) == (
        rounds > 0 and not isinstance(recipe, es.PerturbedHistory)
    )


def test_arms_without_numbers_and_logs_that_are_kept_elsewhere() -> None:
    ball = es.EnsembleSampling(5).start(es.UnitBall(2), log=None)
    ball.update(ball.decide(), 1.0)
    assert "table" in Seen(ball._repr_html_()).tags
    changing = es.EnsembleSampling(5).start(es.ChangingArms(2))
    changing.update(changing.decide([[1.0, 0.0]]), 1.0)
    assert "polyline" in Seen(changing._repr_html_()).tags


def test_votes_that_take_long_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = played(es.EnsembleSampling(20))
    monkeypatch.setattr("ensample.policies.notebook.MOST_PRODUCTS", 20 * 9 - 1)
    monkeypatch.setattr(es.Policy, "propensities", None)
    assert "next round" not in Seen(policy._repr_html_()).said


def test_a_recipe_shows_its_fields_and_which_were_given() -> None:
    seen = Seen(es.EnsembleSampling(7, reward=es.Rademacher(0.5))._repr_html_()).said.split()
    assert seen.count("given") == 2 and "Rademacher(scale=0.5)" in " ".join(seen)
    assert "given" not in Seen(es.Greedy()._repr_html_()).said


class Hostile(es.Greedy):
    def __repr__(self) -> str:
        return HOSTILE


def test_names_are_text_and_nothing_else() -> None:
    experiment = es.Experiment(HOSTILE, actions=[HOSTILE, "b"], recipe=es.EnsembleSampling(5))
    for _ in range(20):
        experiment.reward(experiment.decide(), 1)
    runs = es.simulate(es.EnsembleSampling(4, 0.3), es.problem("sphere", dim=2, arms=3), horizon=5)
    shown = [
        experiment._repr_html_(),
        played(Hostile())._repr_html_(),
        es.EnsembleSampling(member=lambda *_: 0)._repr_html_(),
        runs._repr_html_(),
        replace(runs, recipe=Hostile()).difference(runs)._repr_html_(),
        table([HOSTILE], [[HOSTILE]]),
        facts({HOSTILE: HOSTILE}),
        sparkline(np.ones(1), np.ones(1), f'"{HOSTILE}'),
    ]
    for text in shown:
        assert "script" not in Seen(text).tags and "<script" not in text
    assert HOSTILE in Seen(shown[0]).said
    assert HOSTILE in Seen(shown[1]).said
    assert "&lt;lambda&gt;" in shown[2]


def test_an_experiment_shows_what_its_actions_earned() -> None:
    """Against a count over the log, with default rewards and decisions that were never active."""
    now = [0.0]
    rules = es.Reward(wait=10, default=0)
    experiment = es.Experiment("news", actions=["a", "b", "c"], reward=rules, clock=lambda: now[0])
    for number in range(60):
        decision = experiment.decide(active=number % 10 > 0)
        if number % 3 == 0:
            experiment.reward(decision.id, 1)
        now[0] += 1.0
    experiment.remove("c")
    seen = Seen(experiment._repr_html_())
    shown = experiment.log().filter(pl.col("active"))
    counts = shown["action"].value_counts()
    for action, count in counts.iter_rows():
        note = " (not on offer now)" if action == "c" else ""
        assert f"{action}{note} {count}  {100 * count / len(shown):.1f}%" in " ".join(
            seen.said.replace("\n", " ").split(" ")
        ).replace("   ", "  ")
    mean = shown["reward"].drop_nulls().mean()
    assert f"mean reward {mean:.4g}" in seen.said.replace("  ", " ")


def test_a_long_experiment_shows_its_last_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensample.experiments.notebook.LATEST", 11)
    experiment = es.Experiment("news", actions=["a", "b"])
    for _ in range(20):
        late = experiment.decide(active=False)
        experiment.reward(experiment.decide(), 1)
        experiment.activate(late)
    said = Seen(experiment._repr_html_()).said
    assert "of the last 11 of 81 events" in said


def test_a_closed_experiment_can_be_looked_at(tmp_path: Path) -> None:
    experiment = es.open_experiment(tmp_path / "news.db", "news", actions=["a", "b"])
    experiment.reward(experiment.decide(), 1)
    assert "mean reward" in Seen(experiment._repr_html_()).said
    experiment.close()
    said = Seen(experiment._repr_html_()).said
    assert "rewards learned" in said and "mean reward" not in said


def test_sparklines_stay_inside_and_are_short() -> None:
    x, y = np.arange(1.0, 10_001.0), np.random.default_rng(0).standard_normal(10_000)
    drawn = sparkline(x, y, "noise", (y - 1.0, y + 1.0))
    points = [
        float(n)
        for part in drawn.split('points="')[1:]
        for n in part.split('"')[0].replace(",", " ").split()
    ]
    assert min(points) >= 0
    assert max(points[::2]) <= 160
    assert max(points[1::2]) <= 36
    assert len(drawn) < 10_000
    assert "nan" not in sparkline(np.ones(1), np.zeros(1), "flat") and "30.0" in bar(0.5)


RUNS = es.simulate(
    es.EnsembleSampling(4, 0.3), es.problem("sphere", dim=2, arms=3), horizon=20, runs=3
)


def test_runs_are_plotted_where_asked() -> None:
    figure = RUNS.plot()
    data, size = figure._repr_png_()  # type: ignore[attr-defined]
    assert data.startswith(b"\x89PNG") and size["width"] == 520
    from matplotlib.figure import Figure

    mine = Figure()
    axes = mine.subplots()
    assert RUNS.plot(axes) is mine and len(axes.get_lines()) == 4
    np.testing.assert_array_equal(axes.get_lines()[-1].get_ydata()[1:], RUNS.mean)
    single = es.simulate(
        es.EnsembleSampling(4, 0.3), es.problem("sphere", dim=2, arms=3), horizon=20
    )
    assert len(single.plot().axes[0].get_lines()) == 1
    with pytest.raises(es.WrongType, match="axes of matplotlib"):
        RUNS.plot("here")  # type: ignore[arg-type]


def test_recipes_on_one_axes_are_told_apart() -> None:
    from matplotlib.figure import Figure

    wild = es.simulate(
        es.EnsembleSampling(4, 30.0), es.problem("sphere", dim=2, arms=3), horizon=40, runs=3
    )
    axes = Figure().subplots()
    for runs, about in ((RUNS, {}), (wild, {}), (RUNS, {"label": "mine", "color": "black"})):
        runs.plot(axes, **about)
    handles, labels = axes.get_legend_handles_labels()
    means = dict(zip(labels, handles, strict=True))
    assert labels[1].startswith("EnsembleSampling(size=4, scale=0.3): ")
    assert len(means) == 4, "and one band in the legend"
    assert len({means[labels[place]].get_color() for place in (1, 2, 3)}) == 3
    assert means["mine"].get_color() == "black"
    assert axes.get_xlim() == (0.0, 40.0)
    assert axes.get_ylim()[1] >= wild.regret.max() > RUNS.regret.max()
    with pytest.raises(es.InvalidArgument, match=r"^color = 'blu': expected a colour"):
        RUNS.plot(color="blu")
    with pytest.raises(es.WrongType, match=r"^label = 3 .*: expected text"):
        RUNS.plot(label=3)  # type: ignore[arg-type]


def test_results_are_plotted_and_are_frames_of_pandas(tmp_path: Path) -> None:
    study = es.Study(
        name="small",
        horizon=[10, 20],
        runs=2,
        problem={"family": "sphere", "dim": 2, "arms": 3},
        policy=[{"label": HOSTILE, "recipe": "Greedy"}, {"recipe": "LinUCB"}],
    )
    results = es.run_study(study, tmp_path, threads=1)
    assert results.plot()._repr_png_()[0]  # type: ignore[attr-defined]
    assert results.plot(log=True).axes[0].get_xscale() == "log"
    for name in ("cells", "final", "curves", "pulls", "differences", "published", "slopes"):
        found = getattr(results, name)
        frame = found() if callable(found) else found
        assert same(results.to_pandas(name), frame), name
    with pytest.raises(es.InvalidArgument, match="frame = 'cell': expected"):
        results.to_pandas("cell")


def same(ours: pd.DataFrame, theirs: pl.DataFrame) -> bool:
    rows = [
        [None if x is pd.NA or (isinstance(x, float) and np.isnan(x)) else x for x in row]
        for row in ours.to_numpy(object)
    ]
    expected = [
        [None if isinstance(x, float) and np.isnan(x) else x for x in row] for row in theirs.rows()
    ]
    return list(ours.columns) == theirs.columns and rows == expected


def test_frames_become_frames_of_pandas_without_pyarrow() -> None:
    frame = pl.DataFrame(
        {
            "whole": [1, None],
            "small": pl.Series([1, 2], dtype=pl.UInt8),
            "real": [0.5, None],
            "yes": [True, None],
            "word": ["a", None],
            "list": [[1, 2], None],
            "time": pl.Series([0, None]).cast(pl.Datetime("us", "Europe/Vienna")),
            "none": [None, None],
        }
    )
    made = as_pandas(frame)
    assert made.dtypes.astype(str).to_dict() | {"word": "", "list": ""} == {
        "whole": "Int64",
        "small": "uint8",
        "real": "float64",
        "yes": "boolean",
        "word": "",
        "list": "",
        "time": "datetime64[us, Europe/Vienna]",
        "none": "object",
    }
    assert made["time"][0] == pd.Timestamp(0, tz="UTC")
    assert made["time"].isna().tolist() == [False, True]
    assert made["list"][0] == [1, 2] and made["word"].isna().tolist() == [False, True]
    assert as_pandas(frame.clear()).shape == (0, 8) and as_pandas(pl.DataFrame()).shape == (0, 0)


def test_logs_and_runs_are_frames_of_pandas() -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    experiment.reward(experiment.decide({"age": 31}), 1)
    experiment.decide()
    log = experiment.to_pandas()
    assert log["action"].tolist() == experiment.log()["action"].to_list()
    assert str(log["time"].dtype).endswith("UTC]")
    assert es.evaluate(log.iloc[:1], "uniform", low=0, high=1).rows == 1
    policy = played(es.EnsembleSampling(5, 0.3))
    again = policy.recipe.replay(policy.arms, policy.log().to_pandas())
    np.testing.assert_array_equal(again.mean, policy.mean)
    assert RUNS.to_pandas().equals(as_pandas(RUNS.to_frame()))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("matplotlib", "pandas", "ensample.report"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("matplotlib", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "<table" in RUNS._repr_html_() and "<table" in RUNS.recipe._repr_html_()
    with pytest.raises(
        es.MissingPackage, match=r"^Runs.plot needs matplotlib: pip install matplotlib$"
    ):
        RUNS.plot()
    with pytest.raises(
        es.MissingPackage, match=r"^a frame of pandas needs pandas: pip install pandas$"
    ):
        RUNS.to_pandas()
