"""Numbers of any size: a call is refused and changes nothing, or all that is learned is finite."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ensample as es
from conformance.policies import ARMS, EVERY, RECIPES, STANDING, fingerprint
from ensample.checks import ORDINARY_REWARD
from ensample.models.learning import Learning
from ensample.policies.log import Log

SMALLER = [5e-324, 1e-310, 1e-200, 1e-155, 1e-80, 1e-20, 1e-3, 1.0]
SIZES = st.sampled_from([*SMALLER, 7.0, 1e9, 1e20, 1e40, 1e75, 1e99, 1e100])
LARGER = st.sampled_from([1e101, 1e140, 1e150, 1e151, 1e200, 1.7e308])
SIGNS = st.sampled_from([-1.0, 1.0])
NUMBERS = (
    st.builds(lambda size, sign: size * sign, SIZES, SIGNS) | st.just(0.0) | st.floats(-2.0, 2.0)
)
ANY = NUMBERS | st.builds(lambda size, sign: size * sign, LARGER, SIGNS)
ROWS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=5)
CALLS = st.tuples(st.sampled_from(["update", "vector", "many", "large", "replay"]), ROWS, ANY, ANY)


def attempt(policy: es.Policy, call: Callable[[], object]) -> object:
    """Return what a call returns, or None where it is refused: then nothing has changed. All numbers stay finite."""
    before, found = fingerprint(policy), None
    try:
        found = call()
    except es.errors.EnsampleError:
        assert fingerprint(policy) == before
    for name, values in policy.model.arrays().items():
        assert np.isfinite(values).all(), name
    return found


def started(recipe: str, arms: str, rows: list[list[float]]) -> es.Policy | None:
    """Return a policy, on `rows` where arms are listed; None where they are refused."""
    made = es.FiniteArms(rows) if arms == "finite" else ARMS[arms]()
    try:
        return RECIPES[recipe].start(made, 0)
    except es.InvalidArgument:
        return None


def check_propensities(policy: es.Policy, features: np.ndarray | None) -> None:
    found = attempt(policy, lambda: policy.propensities(features))
    if found is not None:
        assert np.isclose(np.sum(found), 1.0) and np.min(found) >= 0.0


def possible(policy: es.Policy, y: float) -> float:
    low, high = policy.recipe.model.reward_range
    return y if low <= y <= high else 0.5 * (1.0 + np.tanh(y))


def play(
    recipe: str,
    arms: str,
    rows: list[list[float]],
    calls: list[tuple[str, list[list[float]], float, float]],
) -> None:
    policy = started(recipe, arms, rows)
    if policy is None:
        return
    for kind, offered, y, other in calls:
        features = np.array(offered) if arms == "changing" else None
        if kind == "large":
            attempt(policy, lambda features=features, other=other: policy.decide([[other] * 3]))
        decision = attempt(policy, lambda features=features: policy.decide(features))
        y, other = possible(policy, y), possible(policy, other)
        if kind == "vector" and recipe not in STANDING:
            attempt(policy, lambda offered=offered, y=y: policy.update(offered[0], y))
        elif kind == "many" and decision is not None:
            new = 0 if arms == "finite" else offered[0]
            attempt(
                policy,
                lambda one=decision, new=new, y=y, other=other: policy.update_many(
                    [one, new], [y, other]
                ),
            )
        elif decision is not None:
            attempt(policy, lambda one=decision, y=y: policy.update(one, y))
        check_propensities(policy, features)
    again = RECIPES[recipe].replay(policy.arms, policy.log(), 0, round=policy.round)
    again.bookkeeping.open.update({decision.round: decision for decision in policy.open_decisions})
    assert fingerprint(again) == fingerprint(
        policy
    )  # the log has what was learned, and nothing of what was refused


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(EVERY), ROWS, st.lists(CALLS, min_size=1, max_size=6))
def test_numbers_of_any_size_are_refused_or_leave_all_finite(kind, rows, calls) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        play(*kind, rows, calls)


SCALES = [
    (0, 100, 1e150),
    (0, 60, 1e120),
    (-50, 20, ORDINARY_REWARD),
    (-160, -153, 1.0),
]  # powers of 10


@pytest.mark.parametrize("kind", EVERY)
def test_features_and_rewards_of_one_scale_leave_all_finite(kind) -> None:
    rng = np.random.default_rng(7)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for least, most, reward in SCALES:
            rows = (
                10 ** rng.uniform(least, most, (5, 3)) * rng.choice([-1.0, 1.0], (5, 3))
            ).tolist()
            play(
                *kind,
                rows,
                [("update", rows, reward * rng.choice([-1.0, 1.0]), 0.0) for _ in range(8)],
            )


CONTROL = [
    ("ensemble, calibrated", "changing"),
    ("ensemble, calibrated, stored members", "changing"),
    ("epsilon-greedy", "finite"),
    ("LinUCB", "finite"),
    ("Thompson sampling, logistic", "changing"),
    ("ensemble, logistic", "changing"),
    ("ensemble, logistic, stored members", "changing"),
]


@pytest.mark.parametrize("kind", CONTROL)
def test_without_the_check_a_model_becomes_nan(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    monkeypatch.setattr(Learning, "is_finite", lambda self: True)
    with pytest.raises(AssertionError):
        test_features_and_rewards_of_one_scale_leave_all_finite(kind)


def test_a_refused_reward_names_itself_and_the_features() -> None:
    policy = es.EnsembleSampling(5, scale=1.0).start(es.ChangingArms(3), 0)
    policy.update([1e60, 0.0, 0.0], 1.0)
    x = [3e98, -5e98, -9e98]
    before = fingerprint(policy)
    with pytest.raises(
        es.InvalidArgument,
        match=r"^reward = 1e\+150: expected one .* finite.*features from -9e\+98 to 3e\+98",
    ):
        policy.update(x, 1e150)
    with pytest.raises(es.InvalidArgument, match=r"^rewards\[1\] = 1e\+150"):
        policy.update_many([[1.0, 0.0, 0.0], x], [2.0, 1e150])
    with pytest.raises(es.InvalidArgument, match=r"^log.reward\[1\] = 1e\+150"):
        policy.recipe.replay(
            policy.arms, Log([0, 1], [[1.0, 0.0, 0.0], x], [2.0, 1e150], [-1, -1], [1.0, 1.0])
        )
    assert fingerprint(policy) == before
    policy.update([2.0, 0.0, 0.0], 1.0)
    assert policy.version == 2


def test_an_ordinary_observation_costs_no_copy_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither for standing arms nor for features of the round, unless something extraordinary was learned."""
    copied = []
    monkeypatch.setattr(
        "ensample.models.learning.copies_of", lambda model: copied.append(1) or {**model.arrays()}
    )
    standing = es.EnsembleSampling(5).start(es.FiniteArms(np.eye(3)))
    changing = es.EnsembleSampling(5).start(es.ChangingArms(3))
    for t in range(5):
        standing.update(standing.decide(), float(t))
        changing.update(changing.decide(np.eye(3) * 1e18), 1e30)
    assert not copied
    changing.update([1e70, 0.0, 0.0], 1.0)
    assert copied


def collinear(dim: int, size: float, rng: np.random.Generator) -> np.ndarray:
    """Return rows of which the large ones are multiples of one another, or nearly: what is left of V is rounding."""
    base, rows = rng.integers(0, 2, dim) * size, rng.integers(0, 2, (12, dim)) * 1.0
    rows[[2, 5]] = base, -base
    rows[3] = base
    rows[3, 0] = 1.0
    return rows


COLLINEAR = [
    "LinUCB",
    "ensemble, scale calibrated",
    "ensemble, intercept, scale calibrated",
    "LinUCB, logistic",
    "ensemble, logistic, forgetting, stored members",
]


@pytest.mark.parametrize("recipe", COLLINEAR)
def test_large_collinear_features_leave_all_finite(recipe: str) -> None:
    """Features up to 1e20 are learned without a check of what comes out."""
    with np.errstate(all="ignore"):
        for seed in range(120):
            rng = np.random.default_rng(seed)
            dim = int(rng.choice([3, 8, 40]))
            policy = RECIPES[recipe].start(es.ChangingArms(dim), seed)
            for x in collinear(dim, 10 ** rng.uniform(9, 20), rng):
                y = possible(policy, float(rng.standard_normal()))
                attempt(policy, lambda policy=policy, x=x, y=y: policy.update(x, y))


def test_rewards_are_learned_after_a_large_context() -> None:
    policy = es.EnsembleSampling(5, scale=0.5, fresh=False, half_life=6).start(
        es.ChangingArms(8), 0
    )
    rng = np.random.default_rng(0)
    for size in (1.0, 1.0, 1.0, 1e60, *[1.0] * 20):
        policy.update(size * rng.standard_normal(8), 1.0)
    assert policy.version == 24
