"""The figure of `ensample race`."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from ensample.report import race as report
from ensample.report.figures import save


@pytest.fixture(scope="module")
def runs() -> dict[str, es.Runs]:
    problem = es.problem("sphere", dim=4, arms=8)
    recipes = {"calm": es.EnsembleSampling(10, 0.3), "wild": es.EnsembleSampling(10, 30.0)}
    return {name: es.simulate(recipe, problem, 300, 3) for name, recipe in recipes.items()}


def spread(finals: list[float]) -> es.Runs:
    """Return runs that end with this regret."""
    runs = es.simulate(es.Greedy(), es.problem("sphere", dim=2, arms=3), 20, len(finals))
    return replace(runs, regret=np.outer(finals, runs.checkpoints / 20.0))


def test_interrupted_figure_leaves_the_old_one(
    runs: dict[str, es.Runs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(part: Path, target: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "race.png").write_text("old")
    figure = report.draw(runs, "a race")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(figure, tmp_path, "race")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_same_runs_give_the_same_bytes(runs: dict[str, es.Runs], tmp_path: Path) -> None:
    first = save(report.draw(runs, "a race"), tmp_path, "first")
    second = save(report.draw(runs, "a race"), tmp_path, "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_linear_panel_keeps_to_comparable_policies(runs: dict[str, es.Runs]) -> None:
    figure = report.draw({"a": runs["calm"], "b": runs["calm"], "far": runs["wild"]}, "a race")
    left, right = figure.axes
    assert runs["wild"].mean[-1] > report.FAR * runs["calm"].mean[-1]
    labels = [str(line.get_label()) for line in left.lines]
    assert not any(label.startswith("far") for label in labels)
    assert any(label.startswith("a ") for label in labels) and right.get_yscale() == "log"
    legend = [text.get_text().split()[0] for text in figure.legends[0].get_texts()]
    assert legend[0] == "far" and len(legend) == 3


@pytest.mark.parametrize(
    ("finals", "cut"), [([10.0] * 8 + [15.0] * 2, False), ([1.0] * 85 + [90.0] * 15, True)]
)
def test_bars_are_in_the_panel_or_marked_where_they_leave_it(
    finals: list[float], cut: bool
) -> None:
    found = spread(finals)
    figure = report.draw({"a": found}, "a race")
    left, top = figure.axes[0], figure.axes[0].get_ylim()[1]
    assert (found.quantile(0.9)[-1] > top) == cut and found.mean[-1] < top
    assert any(line.get_marker() == "^" for line in left.lines) == cut
    assert ("▲" in figure.get_supxlabel()) == cut


def test_long_names_leave_the_panels_their_width() -> None:
    widths = []
    for name in ("ES", "EnsembleSampling(size=20,scale=2*noise,member=RoundRobin)"):
        figure = report.draw({name: spread([1.0, 2.0, 3.0])}, "a race")
        figure.draw_without_rendering()
        widths.append([axes.get_position().width for axes in figure.axes])
    assert min(widths[1]) >= min(widths[0]) > 0.25


@pytest.mark.parametrize(("arms", "horizon", "count"), [(1, 20, 3), (5, 1, 1)])
def test_figure_of_next_to_nothing(arms: int, horizon: int, count: int, tmp_path: Path) -> None:
    problem = es.problem("sphere", dim=2, arms=arms)
    found = es.simulate(es.EnsembleSampling(3, 0.3), problem, horizon, count)
    assert len(save(report.draw({"a": found}, "nothing to see"), tmp_path, "race")) == 2
