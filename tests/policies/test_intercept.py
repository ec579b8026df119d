"""`EnsembleSampling(intercept=True)`: rewards that all sit near some number."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import ensample as es
from ensample.models import LinearEnsemble
from evidence import FALSE_ALARM
from naive.intercept import TextbookWithIntercept

FEATURES = np.random.default_rng(3).standard_normal((8, 4)) * [1.0, 5.0, 0.1, 2.0]
THETA = np.array([5.0, -1.0, 30.0, 2.0])
RECIPES = {
    "uniform": es.EnsembleSampling(size=15, intercept=True),
    "stored members": es.EnsembleSampling(size=15, intercept=True, fresh=False),
    "optimistic": es.EnsembleSampling(size=15, member=es.OptimisticMember(), intercept=True),
    "regularization given": es.EnsembleSampling(size=15, regularization=0.3, intercept=True),
    "scale given": es.EnsembleSampling(size=15, scale=3.0, intercept=True),
    "scale given, fresh members": es.EnsembleSampling(
        size=15, scale=3.0, intercept=True, fresh=True
    ),
}
PLACES = {
    "finite": es.FiniteArms(FEATURES),
    "changing": es.ChangingArms(4),
    "ball": es.UnitBall(4),
    "box": es.Box([-1.0] * 4, [1.0, 2.0, 0.5, 1.0]),
}


WAYS = {
    "lazy": lambda recipe: recipe.member == es.UniformMember(),
    "eager": lambda recipe: not recipe.draws_fresh,
    "live": lambda recipe: True,
}


def play(
    recipe: es.Recipe, arms: es.Arms, rounds: int, shift: float = 0.0, stretch: float = 1.0
) -> tuple[es.Policy, list]:
    """Whole rewards, so that adding a whole number to them rounds nothing."""
    policy = recipe.start(arms, 1)
    chosen = []
    for t in range(rounds):
        rng = np.random.default_rng(t)
        features = rng.standard_normal((5, 4)) if isinstance(arms, es.ChangingArms) else None
        decision = policy.decide(features)
        policy.update(
            decision,
            stretch * (round(float(decision.features @ THETA) + rng.normal(0.0, 8.0)) + shift),
        )
        chosen.append((decision.arm, decision.member, *decision.features))
    return policy, chosen


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("place", PLACES)
@given(shift=st.integers(-(2**40), 2**40))
@settings(max_examples=5, deadline=None)
def test_a_number_added_to_all_rewards_changes_no_decision(
    name: str, place: str, shift: int
) -> None:
    plain, chosen = play(RECIPES[name], PLACES[place], 60)
    shifted, same = play(RECIPES[name], PLACES[place], 60, float(shift))
    assert same == chosen
    assert shifted.mean[:4].tolist() == plain.mean[:4].tolist()
    assert shifted.mean[4] == pytest.approx(plain.mean[4] + shift)


def test_without_it_a_number_matters() -> None:
    """Negative control."""
    assert (
        play(es.EnsembleSampling(size=15), PLACES["finite"], 60)[1]
        != play(es.EnsembleSampling(size=15), PLACES["finite"], 60, 999.0)[1]
    )


@pytest.mark.parametrize("name", ["uniform", "stored members"])
@pytest.mark.parametrize("power", [-20, 7, 30])
def test_units_of_rewards_change_no_decision(power: int, name: str) -> None:
    recipe = RECIPES[name]
    assert (
        play(recipe, PLACES["finite"], 80, 5.0, 2.0**power)[1]
        == play(recipe, PLACES["finite"], 80, 5.0)[1]
    )


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_stored_members_are_those_of_the_textbook(shift: float) -> None:
    policy = es.EnsembleSampling(size=6, intercept=True, fresh=False).start(
        es.FiniteArms(FEATURES), seed=2
    )
    model = policy.model
    assert isinstance(model, LinearEnsemble)
    slow = TextbookWithIntercept(
        np.sqrt((FEATURES**2).mean(axis=0)), model.sums[10:14].T.copy(), 0.75
    )
    rng = np.random.default_rng(0)
    for t in range(120):
        decision = policy.decide()
        y = float(decision.features @ THETA + rng.normal() + shift)
        policy.update(decision, y)
        slow.learn(decision.features, y, model.perturbations(t))
        np.testing.assert_allclose(policy.estimates, slow.estimates(), rtol=1e-6, atol=1e-5)
    calibration = policy.calibration
    assert calibration is not None and calibration.count == slow.asked
    assert calibration.sigma == pytest.approx(math.sqrt(slow.noise), rel=1e-6)
    assert calibration.tau == pytest.approx(math.sqrt(slow.spread), rel=1e-6)
    assert calibration.lam == pytest.approx(slow.lam, rel=1e-6)


@pytest.mark.parametrize("name", ["uniform", "stored members"])
def test_shapes_and_what_they_mean(name: str) -> None:
    policy, _ = play(RECIPES[name], PLACES["finite"], 400, 20.0)
    log = policy.log()
    assert policy.mean.shape == (5,)
    assert policy.estimates.shape == (15, 5)
    assert policy.gram.shape == (5, 5)
    assert policy.gram[4].tolist() == pytest.approx([*log.features.sum(axis=0), 400.0])
    scores = policy.model.at(policy.round).scores(3, FEATURES)
    theta = policy.estimates[3]
    np.testing.assert_allclose(scores, FEATURES @ theta[:4] + theta[4])
    assert policy.votes()[3] == np.argmax(scores)
    diagnosed = policy.diagnostics([*THETA, 20.0])
    assert diagnosed.ridge_error is not None and diagnosed.perturbation_norms.shape == (15,)


@pytest.mark.parametrize("name", ["uniform", "stored members"])
def test_equal_rewards_are_explored(name: str) -> None:
    """Nothing is known of the scales while all rewards are equal: whatever they are, as while they are 0."""
    arms = []
    for level in (0.0, 7.0):
        policy = RECIPES[name].start(es.FiniteArms(FEATURES), seed=0)
        arms.append([])
        for _ in range(100):
            decision = policy.decide()
            policy.update(decision, level)
            arms[-1].append(decision.arm)
        assert np.isfinite(policy.estimates).all()
    assert arms[0] == arms[1] and len(set(arms[0])) > 3


@pytest.mark.parametrize(
    "recipe",
    [
        es.EnsembleSampling(size=10, intercept=True),
        es.EnsembleSampling(size=10, intercept=True, fresh=False),
        es.EnsembleSampling(size=10, intercept=True, member=es.OptimisticMember()),
    ],
    ids=["fresh", "stored", "optimistic"],
)
@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_every_evaluation_has_one_law(recipe: es.EnsembleSampling, shift: float) -> None:
    theta, features = [0.5, -0.2, 0.3], np.random.default_rng(1).standard_normal((5, 3)) / 2
    problem = es.ShiftedProblem(es.FiniteArms(features), theta, 0.5, shift)
    ways = [way for way, known in WAYS.items() if known(recipe)]
    found = [
        es.simulate(recipe, problem, 60, runs=300, evaluation=way, seed=place)
        for place, way in enumerate(ways)
    ]
    for other in found[1:]:
        assert stats.ks_2samp(found[0].regret[:, -1], other.regret[:, -1]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("fresh", [False, True])
def test_where_it_helps(fresh: bool) -> None:
    """Also the negative control of the test of laws."""
    problem = es.problem("rescaled", dim=10, shift=20.0)
    with_it, without = (
        es.simulate(es.EnsembleSampling(intercept=on, fresh=fresh), problem, 500, runs=50)
        for on in (True, False)
    )
    assert (
        stats.ks_2samp(with_it.regret[:, -1], without.regret[:, -1], alternative="greater").pvalue
        < FALSE_ALARM
    )


@pytest.mark.parametrize(
    ("recipe", "problem", "said"),
    [
        (RECIPES["scale given"], es.problem("sphere", dim=3, arms=4), 'only where scale="auto"'),
        (
            RECIPES["scale given, fresh members"],
            es.problem("sphere", dim=3, arms=4),
            'only where scale="auto"',
        ),
        (
            RECIPES["stored members"],
            es.problem("contextual", dim=3, arms=4),
            "finitely many arms stand",
        ),
        (RECIPES["uniform"], es.problem("contextual", dim=3, arms=4), "finitely many arms stand"),
    ],
)
def test_others_are_simulated_live(
    recipe: es.Recipe, problem: es.Family, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ensample.simulation.dispatch.WARNED", set()
    )  # warnings come once in a process
    with pytest.warns(es.LiveSimulationWarning, match=said):
        assert es.simulate(recipe, problem, 5, runs=1).evaluation == "live"


def test_bad_input() -> None:
    with pytest.raises(es.WrongType, match="intercept"):
        es.EnsembleSampling(intercept=1)
    setting = es.Setting(dim=5, arms=20, horizon=100, noise=1, norm=1)
    proved = es.EnsembleSampling.from_theorem(setting)
    with pytest.raises(es.AssumptionError, match="intercept"):
        es.EnsembleSampling(proved.size, intercept=True, setting=setting)
    free = es.EnsembleSampling(
        proved.size, proved.scale, 1.0, proved.initial, proved.reward, intercept=True
    )
    with pytest.raises(es.AssumptionError):
        free.guarantee(setting)
    policy = RECIPES["uniform"].start(PLACES["finite"])
    with pytest.raises(es.InvalidArgument, match="theta_star"):
        policy.diagnostics(THETA)
    with pytest.raises(es.EnsampleError):
        policy.update([1.0, 2.0, 3.0, 4.0, 1.0], 1.0)
