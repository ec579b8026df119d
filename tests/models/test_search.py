"""The search over many arms finds the arm that scoring all of them finds."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ensample as es
from ensample import arms as arms_module
from ensample._core import MAX_SEARCH_DIM
from ensample.arms import Rows
from ensample.models.search import Screen, greedy_arm

TILE = 64  # arms whose codes are stored together


def scores(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Each a sum over coordinates in order; too large ones are infinite."""
    total = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for i, weight in enumerate(theta):
            total += weight * rows[:, i]
    return total


def slowly(rows: np.ndarray, theta: np.ndarray) -> int:
    """argmax x'theta, the lowest number on ties, of all scores."""
    return int(np.argmax(scores(rows, theta)))


def frozen(rows: np.ndarray) -> np.ndarray:
    rows = np.ascontiguousarray(rows, dtype=float)
    rows.setflags(write=False)
    return rows


def check(rows: np.ndarray, thetas: np.ndarray) -> None:
    rows = frozen(rows)
    thetas = np.array(
        [theta for theta in thetas if not np.isnan(scores(rows, theta)).any()]
    ).reshape(-1, rows.shape[1])
    expected = [slowly(rows, theta) for theta in thetas]
    screen = Screen(rows, True)
    assert [screen.best(theta) for theta in thetas] == expected
    assert [Screen(rows, False).best(theta) for theta in thetas] == expected
    chosen, promises = screen.votes(np.ascontiguousarray(thetas.T))
    assert chosen.tolist() == expected
    assert promises.tolist() == [scores(rows, theta).max() for theta in thetas]


def near_ties(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Every arm is one of a few, each number up to three doubles away."""
    few = rows[rng.integers(min(5, len(rows)), size=len(rows))]
    for _ in range(3):
        few = np.nextafter(few, np.where(rng.random(few.shape) < 0.5, np.inf, -np.inf))
    return few


KINDS = {
    "gaussian": lambda rng, rows: rows,
    "duplicates": lambda rng, rows: rows[rng.integers(min(5, len(rows)), size=len(rows))],
    "near ties": near_ties,
    "far away": lambda rng, rows: rows + 1e6,
    "far away, near ties": lambda rng, rows: near_ties(rng, rows + 1e8),
    "booleans": lambda rng, rows: (rows > 0.5).astype(float),
    "one for each": lambda rng, rows: np.eye(len(rows), rows.shape[1]),
    "equal": lambda rng, rows: np.broadcast_to(rows[0], rows.shape),
    "nothing": lambda rng, rows: np.zeros(rows.shape),
    "heavy tails": lambda rng, rows: np.sinh(4.0 * rows),
    "sizes of their own": lambda rng, rows: rows * 10.0 ** rng.integers(-90, 90, rows.shape[1]),
    "denormal": lambda rng, rows: rows * 5e-324 * 10.0 ** rng.integers(0, 20, rows.shape[1]),
    "largest": lambda rng, rows: np.clip(rows, -1.0, 1.0) * 1e100,
}
SCALES = (1.0, 1.0, 1.0, 1e-200, 1e-300, 5e-324, 1e150, 0.0)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    count=st.integers(1, 5 * TILE),
    dim=st.integers(1, 9) | st.integers(30, 66),
    scale=st.sampled_from(SCALES),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_the_first_of_the_best(
    kind: str, count: int, dim: int, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = KINDS[kind](rng, rng.standard_normal((count, dim)))
    thetas = rng.standard_normal((4, dim))
    thetas[1] = np.round(thetas[1])  # many scores are equal then
    thetas[2] *= rng.random(dim) < 0.3
    thetas[3] *= 10.0 ** rng.integers(-80, 80, dim)
    check(rows, scale * thetas)


@pytest.mark.parametrize("dim", [31, 32, 300, MAX_SEARCH_DIM, MAX_SEARCH_DIM + 1])
def test_many_features_fit(dim: int) -> None:
    rng = np.random.default_rng(dim)
    signs = np.where(rng.random((3 * TILE, dim)) < 0.5, -1.0, 1.0)  # sums as large as they can be
    check(signs, np.vstack([signs[70], -signs[100], rng.standard_normal(dim)]))


def test_most_arms_are_not_looked_at() -> None:
    """Arms that codes rule out may say what they want."""
    rng = np.random.default_rng(0)
    rows, theta = rng.standard_normal((40 * TILE, 8)), rng.standard_normal(8)
    rows[100] = 4.0 * theta
    screen = Screen(frozen(rows), True)
    screen.encoded()
    hopeless = rows @ theta < 0.5 * rows[100] @ theta
    hopeless[TILE : 2 * TILE] = False  # the tile of the best arm
    assert hopeless.sum() > 38 * TILE
    changed = rows.copy()
    changed[hopeless] = 100.0 * theta
    screen.rows = frozen(changed)
    assert screen.best(theta) == 100 and slowly(changed, theta) != 100


def test_without_what_codes_leave_out_it_would_be_wrong() -> None:
    rng = np.random.default_rng(1)
    rows, thetas = frozen(rng.standard_normal((40 * TILE, 8))), rng.standard_normal((50, 8))
    screen = Screen(rows, True)
    _, codes = screen.encoded()
    assert [screen.best(theta) for theta in thetas] == [slowly(rows, theta) for theta in thetas]
    codes.reshape(40, 5, TILE)[:, 4] = 0  # |r|
    assert [screen.best(theta) for theta in thetas] != [slowly(rows, theta) for theta in thetas]


RECIPES = (
    es.EnsembleSampling(20),
    es.EnsembleSampling(20, scale=1.0, intercept=True),
    es.EnsembleSampling(20, member=es.OptimisticMember()),
    es.EnsembleSampling(20, half_life=50.0),
    es.EnsembleSampling(20, scale=1.0, regularization=1.0, model=es.Logistic()),
    es.EnsembleSampling(20, scale=1.0, regularization=1.0, model=es.Logistic("exact")),
    es.ThompsonSampling(),
    es.Greedy(),
    es.LinUCB(),
)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:60])
@pytest.mark.parametrize("standing", [True, False])
def test_a_policy_acts_on_many_arms_as_on_few(
    recipe: es.Recipe, standing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    rows = np.round(rng.standard_normal((3 * TILE, 4)), 1)
    told: list[list[object]] = []
    for large in (1 << 20, 1):
        monkeypatch.setattr(arms_module, "LARGE", large)
        arms = es.FiniteArms(rows) if standing else es.ChangingArms(4)
        offered = None if standing else rows
        policy = recipe.start(arms, seed=3)
        said: list[object] = []
        for _ in range(30):
            decision = policy.decide(offered)
            assert decision.arm is not None
            said.append(decision.arm)
            policy.update(decision, float(rows[decision.arm] @ [1.0, -1.0, 0.5, 0.0] > 0.0))
        if policy.model.size is not None and policy.model.size > 1:
            said.append(policy.propensities(offered).tolist())
        told.append(said)
    assert told[0] == told[1]


def test_arms_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = np.round(rng.standard_normal((50, 3)), 1)
    whole = es.FiniteArms(rows)
    thetas = np.round(rng.standard_normal((20, 3)), 1)
    expected = [whole.best(theta)[0] for theta in thetas], whole.largest_norm, whole.sizes
    assert expected[0] == [slowly(rows, theta) for theta in thetas]
    monkeypatch.setattr(arms_module, "BLOCK", 7)
    assert [whole.best(theta)[0] for theta in thetas] == expected[0]
    assert whole.largest_norm == expected[1]
    np.testing.assert_allclose(whole.sizes, expected[2], rtol=1e-14)


def test_a_block_of_one_arm_is_scored_as_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two equal arms the second is alone in its block: it is no better, and the first wins."""
    monkeypatch.setattr(arms_module, "BLOCK", 2)
    for x, theta in np.random.default_rng(0).standard_normal((50, 2, 40)):
        assert es.FiniteArms([x, x - theta, x]).best(theta)[0] == 0


def test_an_array_that_nobody_can_write_to_is_shared(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((20, 3))
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    shared = frozen(rows.copy())
    for given_rows in (mapped, shared):
        arms = es.FiniteArms(given_rows)
        assert np.shares_memory(arms.features, given_rows) and type(arms.features) is np.ndarray
        assert es.EnsembleSampling(3).start(arms).decide().arm is not None
    view = rows.view()
    view.setflags(write=False)  # which its owner can still change
    lent = np.load(tmp_path / "rows.npy", mmap_mode="r+").view()
    lent.setflags(write=False)
    for given_rows in (
        rows,
        view,
        lent,
        frozen(rows.astype(np.float32)).astype(np.float32),
        np.asfortranarray(shared),
    ):
        assert not np.shares_memory(es.FiniteArms(given_rows).features, given_rows)
    assert not np.shares_memory(Rows(shared).rows, shared)
    spoiled = rows.copy()
    spoiled[3, 1] = np.nan
    with pytest.raises(es.InvalidArgument, match=r"^features = "):
        es.FiniteArms(frozen(spoiled))


def test_a_theta_that_is_no_number_does_no_harm() -> None:
    rows = frozen(np.random.default_rng(0).standard_normal((200, 3)))
    for value in (np.nan, np.inf, -np.inf):
        assert 0 <= Screen(rows, True).best(np.array([value, 1.0, 1.0])) < 200


@pytest.mark.parametrize("fresh", [False, True])
def test_approximate_arms_act_and_vote_alike(tmp_path: Path, fresh: bool) -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((3_000, 6)) * [1e60, 1.0, 1e-60, 1.0, 1.0, 1.0]
    policy = es.EnsembleSampling(50, fresh=fresh).start(es.ApproximateArms(rows, probes=3), seed=1)
    for _ in range(20):
        votes, shares = policy.votes(), policy.propensities()  # of the coming round
        decision = policy.decide(propensity=True)
        assert decision.arm is not None and votes[decision.member] == decision.arm
        assert decision.propensity == shares[decision.arm] > 0.0
        policy.update(decision, float(rng.standard_normal()))
    exact = es.EnsembleSampling(50).start(es.FiniteArms(rows), seed=1)
    assert exact.recall() == 1.0
    found, best = policy.votes(), [slowly(rows, theta) for theta in policy.estimates]
    assert 0.5 < policy.recall() == np.mean(found == best) < 1.0
    policy.save(tmp_path / "policy.snapshot")
    again = es.load(tmp_path / "policy.snapshot")
    assert isinstance(again.arms, es.ApproximateArms) and again.arms.probes == 3
    assert again.votes().tolist() == found.tolist() and again.decide().arm == policy.decide().arm


def test_an_index_that_looks_everywhere_is_exact() -> None:
    rng = np.random.default_rng(5)
    rows = np.round(rng.standard_normal((900, 4)), 1)
    arms = es.ApproximateArms(rows, probes=30)
    thetas = np.round(rng.standard_normal((40, 4)), 1)
    assert [greedy_arm(theta, arms) for theta in thetas] == [
        slowly(rows, theta) for theta in thetas
    ]
    assert greedy_arm(np.zeros(4), arms) >= 0  # all are best
    with pytest.raises(es.InvalidArgument, match=r"^probes = 0: expected"):
        es.ApproximateArms(rows, probes=0)
