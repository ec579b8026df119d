"""The relatives of ensemble sampling: each against a slow twin, its propensities, and its kernel against the live policy."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample._core import best_pair
from ensample.policies.ensemble_plus_plus import EnsemblePlusPlus
from ensample.policies.information_directed import InformationDirected
from ensample.policies.kveton_phe import KvetonPHE, independent_rows
from ensample.policies.refreshed import RefreshedEnsembleSampling
from ensample.policies.sharp import SharpEnsembleSampling
from ensample.policies.symmetrized import SymmetrizedEnsembleSampling
from ensample.randomness import Address, Stream
from ensample.simulation.dispatch import kernel_for
from evidence import FALSE_ALARM, gaussian_p_value, holds
from naive import relatives

ROUNDS = 200
SEED = 5
X = np.random.default_rng(0).standard_normal((8, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
TRUTH = np.array([0.2, -0.1, 0.1])
NOISE = np.random.default_rng(1).normal(0, 0.5, ROUNDS)

ENSEMBLES = {
    "symmetrized": SymmetrizedEnsembleSampling(size=7, scale=0.6, regularization=2.0),
    "sharp": SharpEnsembleSampling(size=7, gamma=0.3, noise=0.4, norm=0.8, regularization=2.0),
    "refreshed": RefreshedEnsembleSampling(size=7, scale=0.6, growth=1.5, regularization=2.0),
    "informed": InformationDirected(size=15, scale=0.6, regularization=2.0),
}
OTHERS = {
    "kveton": KvetonPHE(a=0.7, regularization=2.0),
    "plus plus": EnsemblePlusPlus(size=5, scale=0.6, regularization=2.0),
}
OTHERS["multipliers"] = es.MultiplierBootstrap(size=6, spread=0.8, pseudo=0.4, regularization=2.0)
RECIPES = ENSEMBLES | OTHERS


def reward(t: int, arm: int) -> float:
    return float(X[arm] @ TRUTH + NOISE[t])


def played(recipe: es.Recipe, rounds: int = ROUNDS) -> tuple[es.Policy, list[es.Decision]]:
    policy = recipe.start(es.FiniteArms(X), SEED)
    decisions = []
    for t in range(rounds):
        decisions.append(policy.decide())
        policy.update(decisions[-1], reward(t, decisions[-1].arm))
    return policy, decisions


def read_draws(recipe: es.Recipe) -> tuple[np.ndarray, np.ndarray]:
    """W [m, d] and Z [ROUNDS, m] of a policy with this seed."""
    fresh, m = recipe.start(es.FiniteArms(X), SEED), recipe.size
    return fresh.model.sums[: X.shape[1], :m].T.copy(), np.array(
        [fresh.model.perturbations(t)[:m] for t in range(ROUNDS)]
    )


def arms_of(decisions: list[es.Decision]) -> list[int]:
    arms = [decision.arm for decision in decisions]
    assert len(set(arms)) >= 3, "a twin that is never put to the test"
    return arms


def test_symmetrized_twin() -> None:
    recipe = ENSEMBLES["symmetrized"]
    policy, decisions = played(recipe)
    assert {decision.member >= 7 for decision in decisions} == {True, False}, "both signs"
    twin = relatives.symmetrized(X, 2.0, *read_draws(recipe), lambda t: decisions[t].member, reward)
    assert arms_of(decisions) == twin
    np.testing.assert_array_equal(policy.model.sums[:, :7], -policy.model.sums[:, 7:])


def test_sharp_twin() -> None:
    recipe = ENSEMBLES["sharp"]
    policy, decisions = played(recipe)
    constants = 0.3, 0.4, 0.8, 0.05
    twin = relatives.sharp(
        X, 2.0, *read_draws(recipe), lambda t: decisions[t].member, reward, *constants
    )
    assert arms_of(decisions) == twin
    information = np.linalg.slogdet(policy.gram)[1] - 3 * math.log(2.0)
    beta = 0.4 * math.sqrt(information + 2 * math.log(20)) + math.sqrt(2) * 0.8
    assert policy.inflation == pytest.approx(0.3 * beta, rel=1e-12)


def test_refreshed_twin() -> None:
    recipe = ENSEMBLES["refreshed"]
    policy, decisions = played(recipe)

    def fresh(e: int) -> tuple[np.ndarray, np.ndarray]:
        rng = Address(SEED).generator(Stream.INITIAL, e)
        return 0.6 * math.sqrt(2.0) * rng.standard_normal((7, 3)), 0.6 * rng.standard_normal((7, 3))

    _, Z = read_draws(recipe)
    twin, refreshes = relatives.refreshed(
        X, 2.0, 1.5, fresh, Z, lambda t: decisions[t].member, reward
    )
    assert arms_of(decisions) == twin
    assert policy.refreshes == refreshes >= 5


def test_kveton_twin() -> None:
    _, decisions = played(OTHERS["kveton"])

    def heads(t: int, counts: np.ndarray) -> np.ndarray:
        return Address(SEED).generator(Stream.PERTURBATION, t).binomial(counts, 0.5)

    assert arms_of(decisions) == relatives.kveton(X, 2.0, 0.7, heads, [0, 1, 2], ROUNDS, reward)


@pytest.mark.parametrize("a", [2.0, 0.5])
def test_kveton_on_unit_vectors_is_perturbed_history_exploration_of_arms(a: float) -> None:
    """For a = 2 every definition agrees; for a = 0.5 the mean is over the pseudo-rewards that there are."""
    means = np.array([0.5, 0.4, 0.45, 0.2])
    coins = np.random.default_rng(3).random((ROUNDS, 4))
    policy = KvetonPHE(a=a, regularization=1e-12).start(es.FiniteArms(np.eye(4)), SEED)
    decisions = []
    for t in range(ROUNDS):
        decisions.append(policy.decide())
        policy.update(decisions[-1], float(coins[t, decisions[-1].arm] < means[decisions[-1].arm]))

    def heads(t: int, counts: np.ndarray) -> np.ndarray:
        return Address(SEED).generator(Stream.PERTURBATION, t).binomial(counts, 0.5)

    expected = relatives.phe_of_arms(
        4, a, heads, ROUNDS, lambda t, k: float(coins[t, k] < means[k])
    )
    assert arms_of(decisions) == expected


def test_multiplier_bootstrap_twin() -> None:
    policy, decisions = played(OTHERS["multipliers"])
    weights = np.array([policy.model.weights(t) for t in range(ROUNDS)])
    assert weights.min() < 0.0, "one that counts as 0"
    twin = relatives.multiplier_bootstrap(
        X, 2.0, 0.4, weights, lambda t: decisions[t].member, [0, 1, 2], ROUNDS, reward
    )
    assert arms_of(decisions) == twin
    expected = np.bincount(policy.votes(), minlength=len(X)) / 6
    np.testing.assert_allclose(policy.propensities(), expected)
    fresh = OTHERS["multipliers"].start(es.FiniteArms(X))
    assert fresh.propensities().tolist() == [1.0, *[0.0] * 7], "the basis first"


def test_ensemble_plus_plus_twin() -> None:
    _, decisions = played(OTHERS["plus plus"])
    address = Address(SEED)

    def unit(stream: Stream, index: int, count: int) -> np.ndarray:
        rows = address.generator(stream, index).standard_normal((count, 5))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    S = math.sqrt(2.0) * unit(Stream.INITIAL, 0, 3)
    z = np.vstack([unit(Stream.PERTURBATION, t, 1) for t in range(ROUNDS)])
    zeta = np.array([address.generator(Stream.MEMBER, t).standard_normal(5) for t in range(ROUNDS)])
    assert arms_of(decisions) == relatives.ensemble_plus_plus(X, 2.0, 0.6, S, z, zeta, reward)


@pytest.mark.parametrize("fresh", [False, True])
def test_information_directed_twin(fresh: bool) -> None:
    policy = replace(ENSEMBLES["informed"], fresh=fresh).start(es.FiniteArms(X), SEED)
    address, mixed = Address(SEED), 0
    for t in range(ROUNDS):
        expected = relatives.information_directed(X, policy.estimates)
        propensities = policy.propensities()
        np.testing.assert_allclose(propensities, expected, atol=1e-4)
        decision = policy.decide()
        assert propensities[decision.arm] > 0
        if (propensities > 0).sum() == 2:
            mixed += 1
            first = policy.chooser._kept[3][0]
            assert (decision.arm == first) == (address.uniform(t) < propensities[first])
        policy.update(decision, reward(t, decision.arm))
    assert mixed > ROUNDS / 10


def test_no_distribution_does_better_than_the_pair() -> None:
    """On the whole simplex, not only on pairs."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        gaps, gains = rng.exponential(size=(2, 6))  # a gap of 0 means that all members agree
        gains[rng.integers(1, 6)] = 0.0
        first, second, share = best_pair(gaps, gains, -gaps)
        chosen = share * np.eye(6)[first] + (1 - share) * np.eye(6)[second]
        others = np.vstack([rng.dirichlet(np.full(6, 0.3), 500), np.eye(6)])
        best = min(relatives.ratio(gaps, gains, pi) for pi in others)
        assert relatives.ratio(gaps, gains, chosen) <= best * (1 + 1e-12)


def test_they_are_algorithm_one_where_they_should_be() -> None:
    """A sharp ensemble with a constant radius, one that never refreshes, and the models with a plus."""
    usual = es.EnsembleSampling(size=7, scale=0.5)
    policy, decisions = played(usual)
    constant, same = played(SharpEnsembleSampling(size=7, gamma=0.5, noise=0.0, norm=1.0))
    assert same == decisions
    np.testing.assert_array_equal(constant.estimates, policy.estimates)
    never, same = played(RefreshedEnsembleSampling(size=7, scale=0.5, growth=1e100))
    assert same == decisions and never.refreshes == 0
    np.testing.assert_array_equal(never.model.sums, policy.model.sums)
    signed = SymmetrizedEnsembleSampling(size=7, scale=0.5).replay(
        es.FiniteArms(X), policy.log(), SEED
    )
    np.testing.assert_array_equal(signed.estimates[:7], policy.estimates)
    np.testing.assert_allclose(signed.estimates[7:], 2 * policy.mean - policy.estimates, atol=1e-13)


def totals(policy: es.Policy) -> np.ndarray:
    """S^j [d, m], of its older and newer terms."""
    return np.add(*np.split(policy.model.sums, 2))


def test_a_refreshed_ensemble_has_covariance_v() -> None:
    policy = RefreshedEnsembleSampling(size=4000, scale=0.7, growth=3.0, regularization=2.0).start(
        es.FiniteArms(X), 3
    )
    while policy.refreshes < 4:
        policy.update(policy.version % 8, 0.0)
    root = np.linalg.cholesky(policy.gram)
    assert holds(gaussian_p_value(np.linalg.solve(0.7 * root, totals(policy)).T))
    assert not holds(gaussian_p_value(np.linalg.solve(0.74 * root, totals(policy)).T)), (
        "negative control"
    )


def directions(policy: es.Policy) -> np.ndarray:
    """S [d, M], of its older and newer terms."""
    older, newer = np.split(policy.model.directions, 2)
    return (older + newer).T


def test_ensemble_plus_plus_models_are_combinations_of_its_directions() -> None:
    policy, _ = played(OTHERS["plus plus"], 60)
    S = directions(policy)
    root = np.linalg.cholesky(
        0.6**2 * np.linalg.solve(policy.gram, np.linalg.solve(policy.gram, S @ S.T).T)
    )
    theta = np.array([policy.model.theta(round) for round in range(60, 4060)]) - policy.mean
    assert holds(gaussian_p_value(np.linalg.solve(root, theta.T).T))
    assert not holds(gaussian_p_value(np.linalg.solve(1.06 * root, theta.T).T)), "negative control"


def test_ensemble_plus_plus_directions_have_covariance_v_on_average() -> None:
    """Off the diagonal S S' - V is a sum of inner products of unit vectors, of mean 0 and variance 1/M each."""
    history = [0, 1, 2, 3, 4, 5, 6, 7] * 3
    total, V = np.zeros((3, 3)), 2.0 * np.eye(3) + X[history].T @ X[history]
    for seed in range(400):
        policy = EnsemblePlusPlus(size=5, regularization=2.0).start(es.FiniteArms(X), seed)
        np.testing.assert_allclose(
            np.linalg.norm(directions(policy), axis=1), math.sqrt(2.0), rtol=1e-12
        )
        policy.update_many(history, np.zeros(len(history)))
        total += directions(policy) @ directions(policy).T / 400
    assert np.abs(total - V).max() < 0.2 * V.max()  # more than six standard deviations


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_policy_plays_with_its_propensities(name: str) -> None:
    policy, _ = played(ENSEMBLES[name], 10)
    while policy.propensities().max() == 1.0:
        policy.update(0, 0.0)
    propensities, counts, draws = policy.propensities(), np.zeros(8, int), 20_000
    assert propensities.sum() == pytest.approx(1.0, abs=1e-12)
    if name != "informed":
        votes = policy.votes()
        np.testing.assert_array_equal(propensities, np.bincount(votes, minlength=8) / len(votes))
        assert len(votes) == (14 if name == "symmetrized" else 7)
    for _ in range(draws):
        decision = policy.decide()
        policy.forget(decision)
        counts[decision.arm] += 1

    def fits(p: np.ndarray) -> bool:
        low, high = stats.binom.interval(1 - FALSE_ALARM / 8, draws, p)
        return bool(
            ((low <= counts) & (counts <= high))[(p > 0) & (p < 1)].all()
            and (counts[p == 0] == 0).all()
        )

    assert fits(propensities)
    assert not fits(np.roll(propensities, 1)), "negative control"


@pytest.mark.parametrize("name", ["kveton", "plus plus"])
def test_the_others_have_no_propensities_in_closed_form(name: str) -> None:
    with pytest.raises(es.PropensityError, match="closed form"):
        OTHERS[name].start(es.FiniteArms(X)).propensities()


PROBLEM = es.LinearProblem(es.FiniteArms(X), TRUTH, 0.5)
MISTAKES = {
    "symmetrized": {"scale": 1.2},
    "sharp": {"gamma": 0.6},
    "refreshed": {"scale": 1.2},
    "informed": {"scale": 1.5},
    "kveton": {"a": 6.0},
    "plus plus": {"scale": 1.2},
    "multipliers": {"pseudo": 3.0},
}


KERNEL_RUNS = 3000  # against 245 live ones, which take much longer: as good as 450 against 450, for 1/3000 + 1/245 < 2/450


@cache
def regret(recipe: es.Recipe, evaluation: str, seed: int, runs: int = 450) -> np.ndarray:
    return es.simulate(
        recipe, PROBLEM, horizon=100, runs=runs, seed=seed, evaluation=evaluation, checkpoints=1
    ).regret[:, -1]


@pytest.mark.parametrize("name", RECIPES)
def test_the_kernel_has_the_law_of_the_live_policy(name: str) -> None:
    recipe = RECIPES[name]
    way = kernel_for(recipe, PROBLEM, PROBLEM.as_arrays(), "auto").evaluation
    assert way == ("lazy" if name in ("symmetrized", "sharp", "refreshed") else "eager")
    live = regret(recipe, "live", 1, runs=245)
    assert holds(stats.ks_2samp(regret(recipe, way, 2, runs=KERNEL_RUNS), live).pvalue)
    mistaken = regret(replace(recipe, **MISTAKES[name]), way, 2, runs=KERNEL_RUNS)
    assert not holds(stats.ks_2samp(mistaken, live).pvalue), "negative control"


@pytest.mark.parametrize(
    "recipe",
    [
        SymmetrizedEnsembleSampling(size=1, scale=0.6, regularization=2.0),
        RefreshedEnsembleSampling(size=1, scale=0.6, growth=1.5, regularization=2.0),
        SharpEnsembleSampling(
            size=7, gamma=0.6, noise=1.0, norm=0.0, delta=1.0, regularization=2.0
        ),
    ],
)
def test_the_kernel_knows_what_sets_it_apart_from_algorithm_one(recipe: es.Recipe) -> None:
    """The sign, the refresh and the growing radius matter most for a single member, or a radius that starts at 0."""
    lazy = regret(recipe, "lazy", 2, runs=2000)
    assert holds(stats.ks_2samp(lazy, regret(recipe, "live", 1)).pvalue)
    usual = regret(es.EnsembleSampling(recipe.size, 0.6, 2.0), "lazy", 1, runs=2000)
    assert not holds(stats.ks_2samp(lazy, usual).pvalue), "negative control"


@pytest.mark.parametrize(
    "recipe",
    [KvetonPHE(), es.SupLinUCB(), es.MultiplierBootstrap(size=3)],
    ids=lambda r: type(r).__name__,
)
def test_some_take_finite_standing_arms_only(recipe: es.Recipe) -> None:
    for arms in (es.UnitBall(3), es.ChangingArms(3), es.Box([0.0], [1.0])):
        with pytest.raises(es.InvalidArgument, match=r"^arms = .*FiniteArms"):
            recipe.start(arms)
    policy = recipe.start(es.FiniteArms(X))
    with pytest.raises(es.InvalidArgument, match=r"^features = "):
        policy.decide(X[:2])
    with pytest.raises(es.InvalidArgument, match=r"^arm = "):
        policy.update([1.0, 2.0, 3.0], 0.5)
    with pytest.raises(es.InvalidArgument, match=r"^decisions\[1\] = "):
        policy.update_many([0, [1.0, 2.0, 3.0]], [0.5, 0.5])
    with pytest.raises(es.InvalidArgument, match=r"^arm = "):
        policy.update(X[4], 0.5)  # an arm is known by its number, not by its features
    assert policy.version == policy.model.count == 0
    policy.update(4, 0.5)
    assert policy.version == policy.model.count == 1


def test_kveton_plays_a_basis_first() -> None:
    dependent = np.array(
        [[1.0, 0, 0], [2.0, 0, 0], [1.0, 1, 0], [0.0, 1, 0], [0.0, 0, 0], [1.0, 1, 1e-3]]
    )
    assert independent_rows(dependent).tolist() == [0, 2, 5]
    assert independent_rows(dependent[:5]).tolist() == [0, 2]
    policy = KvetonPHE().start(es.FiniteArms(dependent))
    waiting = [policy.decide() for _ in range(3)]
    assert [decision.arm for decision in waiting] == [0, 2, 5], "in turn, though no reward has come"
    policy.update(waiting[1], 1.0)
    assert policy.decide().arm in (0, 5)


def test_information_directed_compares_arms_one_by_one() -> None:
    with pytest.raises(es.InvalidArgument, match=r"^arms = .*ChangingArms"):
        InformationDirected(size=3).start(es.UnitBall(3))
    policy = InformationDirected(size=9).start(es.ChangingArms(3))
    with pytest.raises(es.PropensityError):
        policy.propensities()
    with pytest.raises(es.InvalidArgument, match=r"^features"):
        policy.decide()
    decision = policy.decide(X, propensity=True)
    assert decision.propensity == policy.propensities(X)[decision.arm]


@pytest.mark.parametrize(
    ("recipe", "field", "values"),
    [
        *((kind, field, values) for kind in (SymmetrizedEnsembleSampling, RefreshedEnsembleSampling, EnsemblePlusPlus,
          InformationDirected) for field, values in (("size", (0, 1.5, True)), ("scale", (-1.0, math.nan, "1")),
          ("regularization", (0.0, math.inf, None)))),
        (SharpEnsembleSampling, "size", (0, 1.5)),
        *((SharpEnsembleSampling, field, (-1.0, math.nan, "1")) for field in ("gamma", "noise", "norm")),
        (SharpEnsembleSampling, "delta", (0.0, 1.1, None)),
        (SharpEnsembleSampling, "regularization", (0.0, -1.0)),
        (SharpEnsembleSampling, "setting", (3,)),
        (RefreshedEnsembleSampling, "growth", (1.0, 0.5, math.inf, "2")),
        (KvetonPHE, "a", (0.0, -1.0, math.nan, 1e7, "1")),
        (KvetonPHE, "regularization", (0.0, -1.0)),
        *((es.SupLinUCB, field, values) for field, values in (("horizon", (0, 1.5, None)), ("radius", (-1.0, "auto", math.nan)),
          ("regularization", (0.0, None)), ("setting", (3,)))),
        *((es.MultiplierBootstrap, field, (-1.0, math.nan, "1")) for field in ("spread", "pseudo", "regularization")),
        (es.MultiplierBootstrap, "size", (0, 1.5, True)),
    ],
)  # fmt: skip
def test_bad_fields_are_named(recipe: type, field: str, values: tuple) -> None:
    for value in values:
        fields = (
            {"size": 3, field: value} if "size" in recipe.__dataclass_fields__ else {field: value}
        )
        with pytest.raises(es.InvalidArgument, match=rf"^{field} = "):
            recipe(**fields)


def test_the_sharp_theorem() -> None:
    setting = es.Setting(dim=3, arms=None, horizon=1000, noise=0.5, norm=0.5, regularization=80.0)
    recipe = SharpEnsembleSampling.from_theorem(setting)
    assert recipe.size == math.ceil(6000 * math.log(1000 / 0.05)) and recipe.gamma == 40.0
    assert (recipe.noise, recipe.norm, recipe.delta, recipe.regularization) == (
        0.5,
        0.5,
        0.05,
        80.0,
    )
    SharpEnsembleSampling.from_theorem(replace(setting, horizon=3, delta=0.249))
    for change, assumption in (
        ({"regularization": 79.9}, "regularization >= 80"),
        ({"delta": 0.25}, "delta < 1/4"),
        ({"horizon": 2}, r"horizon >= max\(2, dim\) = 3"),
        ({"dim": 1, "horizon": 1}, r"horizon >= max\(2, dim\) = 2"),
        ({"norm": 0.6}, "norm <= noise"),
    ):
        with pytest.raises(es.AssumptionError, match=f"from_theorem assumes {assumption}"):
            SharpEnsembleSampling.from_theorem(replace(setting, **change))
    for arms in (es.UnitBall(2), es.FiniteArms(3 * np.eye(3)), es.ChangingArms(3)):
        with pytest.raises(es.AssumptionError, match="from_theorem"):
            recipe.start(arms)
