"""`ensample bench --only peers`: every library plays the same problems, and a missing one is said to be."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from ensample.bench import rivals
from ensample.bench import tournament as played_by
from ensample.bench.rivals import RIVALS, PeerPolicy
from ensample.bench.tournament import (
    NOISE,
    PROBLEMS,
    DrawnProblem,
    drawn,
    made,
    played,
    result,
    tournament,
)
from ensample.cli import bench, bench_peers


class Told:
    """Chooses what it is told to."""

    def __init__(self, arms: list[int]) -> None:
        self.arms, self.heard = iter(arms), list[tuple[int, float]]()

    def decide(self, x: object) -> int:
        return next(self.arms)

    def update(self, arm: int, reward: float) -> None:
        self.heard.append((arm, reward))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_regret_is_that_of_the_means(problem: str) -> None:
    place = drawn(problem, 3, 20)
    told = Told([t % 10 for t in range(20)])
    regret, _ = played(told, place)
    assert regret == pytest.approx(
        sum(place.means[t].max() - place.means[t, t % 10] for t in range(20))
    )
    assert told.heard == [
        (t % 10, place.means[t, t % 10] + place.noise[t, t % 10]) for t in range(20)
    ]


def test_problems_are_what_they_are_said_to_be() -> None:
    place = drawn("features", 0, 4000)
    assert place.features is not None and np.allclose(np.linalg.norm(place.features, axis=1), 1.0)
    assert abs(place.noise.std() - NOISE) < 0.01 and (place.means[0] == place.means[-1]).all()
    contexts = drawn("contexts", 0, 50)
    assert contexts.contexts is not None and (contexts.contexts[:, -1] == 1.0).all()
    again, other = drawn("contexts", 0, 50), drawn("contexts", 1, 50)
    assert np.array_equal(contexts.means, again.means) and not np.array_equal(
        contexts.means, other.means
    )
    thetas = np.linalg.lstsq(contexts.contexts, contexts.means, rcond=None)[0]
    np.testing.assert_allclose(contexts.contexts @ thetas, contexts.means, atol=1e-9)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: f"{rival.library} {rival.name}")
def test_every_rival_that_is_here_plays(rival: PeerPolicy, problem: str) -> None:
    """Ours and Vowpal Wabbit are installed with the tests; others may be."""
    place = drawn(problem, 0, 60)
    try:
        player = made(rival, place, 0)
    except ImportError:
        assert rival.library not in ("ensample", "vowpalwabbit")
        return
    if player is None:
        assert problem == "features" and rival.library in ("mabwiser", "river")
        return
    regret, spent = played(player, place)
    assert 0.0 < regret < (place.means.max(axis=1) - place.means.min(axis=1)).sum() and spent > 0.0


def test_ours_learn() -> None:
    place = drawn("features", 0, 300)
    halves = [
        DrawnProblem(place.features, None, part, noise)
        for part, noise in zip(*map(halved, (place.means, place.noise)), strict=True)
    ]
    player = made(RIVALS[0], place, 0)
    assert player is not None
    early, late = (played(player, half)[0] for half in halves)
    assert late < early / 2


def halved(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[:150], rows[150:]]


def test_a_missing_library_has_no_numbers() -> None:
    found = result("contexts", PeerPolicy("no-such-library", "x", lambda *_: None, None), [])  # type: ignore[arg-type,return-value]
    assert (found.version, found.regret, found.microseconds) == (None, None, None)
    single = result("contexts", RIVALS[0], [(2.0, 7.0)])
    assert (single.regret, single.standard_error, single.microseconds, single.version) == (
        2.0,
        None,
        7.0,
        es.__version__,
    )


def test_ours_plays_where_it_is_on_the_path_and_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rivals, "version", refuse)
    monkeypatch.setattr(played_by, "RIVALS", RIVALS[1:4])
    found = list(tournament(1, 2, lambda: None))
    assert [one.version for one in found] == [es.__version__, es.__version__, None] * len(PROBLEMS)
    assert [one.regret is None for one in found] == [False, False, True] * len(PROBLEMS)


def refuse(library: str) -> str:
    raise PackageNotFoundError(library)


def test_table_json_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played_by, "RIVALS", (RIVALS[1], RIVALS[-1]))
    monkeypatch.setattr(bench_peers, "RIVALS", (RIVALS[1], RIVALS[-1]))
    monkeypatch.setattr(bench_peers, "measure", lambda *_: iter([]))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{bench_peers.BEGIN}\nold\n{bench_peers.END}\nafter\n")
    bench.bench(["peers"], 2, tmp_path / "peers.json", 30, page)
    answer = json.loads((tmp_path / "peers.json").read_text())
    assert [one["policy"] for one in answer["results"]] == ["LinUCB()", "LinUCBDisjoint"] * 2
    assert all(
        one["standard_error"] > 0 for one in answer["results"] if one["library"] == "ensample"
    )
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert (
        f"| ensample {es.__version__}: `LinUCB()` |" in text
        and "LinUCB()" in capsys.readouterr().out
    )


def test_runs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played_by, "RIVALS", (RIVALS[1],))
    steps: list[int] = []
    assert len(list(tournament(2, 10, lambda: steps.append(1)))) == len(PROBLEMS) and len(
        steps
    ) == 2 * len(PROBLEMS)
