"""Every library plays the same problems, and a missing one is reported as missing."""

import json
from importlib.metadata import PackageNotFoundError
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from benchmarks import __main__ as command
from benchmarks import rivals
from benchmarks import tournament as tournaments
from benchmarks.rivals import RIVALS, Rival
from benchmarks.tournament import (
    DATA_SETS,
    NOISE,
    SIMULATED,
    Game,
    Played,
    draw,
    play,
    result,
    start,
    tournament,
)

INSTALLED = "ensample", "vowpalwabbit"  # with the tests; other libraries may be missing
OURS = {rival.name: rival for rival in RIVALS if rival.library == "ensample"}


class Script:
    """Player that chooses given arms."""

    def __init__(self, arms: list[int]) -> None:
        self.arms, self.rewards = iter(arms), list[tuple[int, float]]()

    def decide(self, x: object) -> int:
        return next(self.arms)

    def update(self, arm: int, reward: float) -> None:
        self.rewards.append((arm, reward))


@pytest.mark.parametrize("problem", SIMULATED)
def test_regret_is_that_of_the_means(problem: str) -> None:
    game, script = draw(problem, 3, 20), Script([t % 10 for t in range(20)])
    done = play(script, game)
    means, noise = game.means, game.noise
    assert done.regret == pytest.approx(sum(means[t].max() - means[t, t % 10] for t in range(20)))
    assert script.rewards == [(t % 10, means[t, t % 10] + noise[t, t % 10]) for t in range(20)]
    assert done.rounds == 20 and len(done.decisions) == len(done.updates) == 10


def test_simulated_problems_are_as_described() -> None:
    game = draw("features", 0, 4000)
    assert game.features is not None and np.allclose(np.linalg.norm(game.features, axis=1), 1.0)
    assert abs(game.noise.std() - NOISE) < 0.01 and (game.means[0] == game.means[-1]).all()
    first, again, other = (draw("contexts", run, 50) for run in (0, 0, 1))
    assert first.contexts is not None and (first.contexts[:, -1] == 1.0).all()
    assert np.array_equal(first.means, again.means)
    assert not np.array_equal(first.means, other.means)
    thetas = np.linalg.lstsq(first.contexts, first.means, rcond=None)[0]
    np.testing.assert_allclose(first.contexts @ thetas, first.means, atol=1e-9)


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_sets_are_standardised_and_in_an_order_of_the_run(name: str) -> None:
    rounds = {"digits": 1797, "wine": 178, "breast_cancer": 569}[name]
    games = [draw(name, run, 2 * rounds) for run in (0, 0, 1)]
    contexts = [game.contexts for game in games]
    rows = contexts[0][:rounds, :-1]
    assert np.allclose(rows.mean(axis=0), 0.0) and np.allclose(rows.std(axis=0), 1.0)
    assert np.array_equal(contexts[0], contexts[1]) and not np.array_equal(contexts[0], contexts[2])
    assert (games[0].means.sum(axis=1) == 1.0).all() and not games[0].noise.any()
    passes = [np.sort(contexts[0][part], axis=0) for part in (slice(rounds), slice(rounds, None))]
    assert all(np.array_equal(*pair) for pair in pairwise(passes))


@pytest.mark.parametrize("problem", (*SIMULATED, "wine"))
@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: f"{rival.library} {rival.name}")
def test_every_rival_plays(rival: Rival, problem: str) -> None:
    game = draw(problem, 0, 240 if problem == "wine" else 60)
    try:
        player = start(rival, game, 0)
    except ImportError:
        assert rival.library not in INSTALLED
        return
    if player is None:
        makers = {"contexts": rival.contexts, "features": rival.features, "wine": rival.data}
        assert makers[problem] is None
        return
    done = play(player, game)
    worst = (game.means.max(axis=1) - game.means.min(axis=1)).sum()
    assert 0.0 < done.regret < (0.4 if problem == "wine" else 1.0) * worst


def test_ours_learns() -> None:
    game = draw("features", 0, 300)
    parts = slice(150), slice(150, None)
    halves = [Game("features", game.features, None, game.means[p], game.noise[p]) for p in parts]
    player = start(OURS["EnsembleSampling()"], game, 0)
    assert player is not None
    early, late = (play(player, half).regret for half in halves)
    assert late < early / 2


def test_a_missing_library_has_no_numbers() -> None:
    found = result("contexts", Rival("no-such-library", "x"), [])
    assert (found.version, found.score, found.microseconds) == (None, None, None)


def test_scores_and_times() -> None:
    runs = [Played(2.0, 10, [1e-6, 3e-6, 8e-6], [2e-6]), Played(4.0, 10, [4e-6], [4e-6])]
    simulated = result("contexts", OURS["LinUCB()"], runs)
    assert (simulated.version, simulated.score) == (es.__version__, 3.0)
    assert simulated.standard_error == pytest.approx(1.0)
    times = simulated.decision, simulated.update, simulated.microseconds
    assert times == pytest.approx((3.5, 3.0, 7.0))
    data = result("wine", OURS["LinUCB(), Disjoint()"], runs[:1])
    assert data.score == pytest.approx(0.8) and data.standard_error is None


def test_ours_plays_if_it_is_on_the_path_but_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(library: str) -> str:
        raise PackageNotFoundError(library)

    chosen = OURS["LinUCB()"], *(rival for rival in RIVALS if rival.name == "--cb_explore_adf")
    monkeypatch.setattr(rivals, "version", not_found)
    monkeypatch.setattr(tournaments, "RIVALS", chosen)
    steps: list[int] = []
    found = list(tournament(list(SIMULATED), 2, 10, lambda: steps.append(1)))
    assert [one.version for one in found] == [es.__version__, None] * len(SIMULATED)
    assert [one.score is None for one in found] == [False, True] * len(SIMULATED)
    assert len(steps) == 2 * len(found)


def test_tables_of_peers_and_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = OURS["LinUCB()"], OURS["LinUCB(), Disjoint()"], Rival("no-such-library", "x")
    chosen = *chosen[:2], chosen[2]._replace(contexts=chosen[0].contexts, data=chosen[1].data)
    monkeypatch.setattr(tournaments, "RIVALS", chosen)
    monkeypatch.setattr(command, "DATA_SETS", {"wine": "wine"})
    monkeypatch.setattr(command, "measure", lambda *_: iter([]))
    for group, heads in (
        ("peers", "| contexts: regret | us | features: regret | us |"),
        ("data", "| wine | us | us |"),
    ):
        page, rows = tmp_path / f"{group}.md", tmp_path / f"{group}.json"
        begin = command.MARKS.format(group)
        page.write_text(f"before\n{begin}\nold\n{command.END}\nafter\n")
        command.run([group], 2, rows, 30, page)
        text, results = page.read_text(), json.loads(rows.read_text())["results"]
        assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
        assert f"| 30 rounds, 2 runs {heads}" in text
        assert "| no-such-library not installed: `x` | -" in text
        assert f"| ensample {es.__version__}: `LinUCB()" in text
        assert {one["library"]: one["score"] is None for one in results} == {
            "ensample": False,
            "no-such-library": True,
        }
        assert "LinUCB()" in capsys.readouterr().out
    page.write_text("no marks")
    with pytest.raises(es.InvalidArgument, match="a page with the lines"):
        command.run(["data"], 1, None, 30, page)
