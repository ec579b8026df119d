"""LinPHE's fast ways of drawing theta_t have the law of its definition."""

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import gaussian_p_value, holds

DRAWS = 4000
DIM = 4


def history(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, DIM)) / 2
    X[:, 3] = X[:, 0] - X[:, 1]  # a direction that is never seen
    return X, rng.integers(0, 6, 60), rng.standard_normal(60)


def draws(
    recipe: es.PerturbedHistory, arms: es.Arms, X: np.ndarray, played, rewards, seed: int
) -> tuple[es.Policy, np.ndarray]:
    """Models of DRAWS coming rounds, all drawn from one state."""
    policy = recipe.start(arms, seed)
    policy.update_many(list(X[played]), rewards)
    return policy, np.array([policy.model.theta(round) for round in range(60, 60 + DRAWS)])


def whitened(
    theta: np.ndarray, policy: es.Policy, X: np.ndarray, played, initial: float, reward: float
) -> np.ndarray:
    """theta_t in units in which the definition makes it N(0, I): W has sd `initial`, Z has sd `reward`."""
    inverse = np.linalg.inv(policy.gram)
    covariance = (
        inverse @ (initial**2 * np.eye(DIM) + reward**2 * X[played].T @ X[played]) @ inverse
    )
    return np.linalg.solve(np.linalg.cholesky(covariance), (theta - policy.mean).T).T


@pytest.mark.parametrize("kind", ["finite", "ball", "changing"])
@pytest.mark.parametrize(("initial", "reward"), [(0.3 * 2**0.5, 0.3), (1.0, 0.3), (0.05, 0.8)])
def test_gaussian_linphe_has_the_law_of_its_definition(
    kind: str, initial: float, reward: float
) -> None:
    X, played, rewards = history(1)
    arms = {"finite": es.FiniteArms(X), "ball": es.UnitBall(DIM), "changing": es.ChangingArms(DIM)}[
        kind
    ]
    recipe = es.PerturbedHistory(
        regularization=2.0, initial=es.Gaussian(initial), reward=es.Gaussian(reward)
    )
    policy, theta = draws(recipe, arms, X, played, rewards, seed=2)
    assert holds(gaussian_p_value(whitened(theta, policy, X, played, initial, reward)))
    off = whitened(theta, policy, X, played, 1.05 * initial, 1.05 * reward)
    assert not holds(gaussian_p_value(off)), (
        "negative control: a scale that is off by 5% must be seen"
    )


def test_the_definition_itself_has_that_law() -> None:
    """The slow twin: fresh W_t and Z_{t,i} for every draw."""
    X, played, rewards = history(3)
    rng = np.random.default_rng(4)
    policy, _ = draws(es.PerturbedHistory(scale=0.3), es.FiniteArms(X), X, played, rewards, seed=0)
    sums = (
        rng.normal(0, 0.3, (DRAWS, DIM)) + (rewards + rng.normal(0, 0.3, (DRAWS, 60))) @ X[played]
    )
    theta = np.linalg.solve(policy.gram, sums.T).T
    assert holds(gaussian_p_value(whitened(theta, policy, X, played, 0.3, 0.3)))


def test_with_its_default_laws_it_is_thompson_sampling() -> None:
    """theta_t ~ N(theta_hat, scale^2 V^-1)."""
    X, played, rewards = history(5)
    recipe = es.PerturbedHistory(scale=0.4, regularization=3.0)
    policy, theta = draws(recipe, es.FiniteArms(X), X, played, rewards, seed=6)
    root = np.linalg.cholesky(policy.gram)
    assert holds(gaussian_p_value((theta - policy.mean) @ root / 0.4))
    assert not holds(gaussian_p_value((theta - policy.mean) @ root / (0.4 * 1.05)))


@pytest.mark.parametrize(
    "law", [es.Rademacher(0.4), es.CenteredBinomial(3, 0.4), es.Uniform(0.4)], ids=repr
)
def test_sums_by_arm_have_the_law_of_single_perturbations(law: es.Perturbation) -> None:
    """Standing arms (sums by arm) against the same features as arms of their own (one draw a reward), and their size."""
    X, played, rewards = history(7)
    recipe = es.PerturbedHistory(scale=0.4, initial=es.Sphere(0.4), reward=law)
    policy, fast = draws(recipe, es.FiniteArms(X), X, played, rewards, seed=8)
    _, slow = draws(recipe, es.ChangingArms(DIM), X, played, rewards, seed=9)
    directions = np.vstack([np.eye(DIM), X])
    assert all(
        holds(stats.ks_2samp(fast @ u, slow @ u).pvalue * len(directions)) for u in directions
    )
    # The mean of |whitened theta|^2 is d; its spread is estimated from the draws themselves.
    for theta in (fast, slow):
        assert holds(size_p_value(whitened(theta, policy, X, played, 0.4, 0.4)))
        assert not holds(size_p_value(whitened(theta, policy, X, played, 0.42, 0.42))), (
            "5% off must be seen"
        )


def size_p_value(rows: np.ndarray) -> float:
    squares = (rows**2).sum(axis=1)
    return float(
        2 * stats.norm.sf(abs(squares.mean() - DIM) / (squares.std() / len(squares) ** 0.5))
    )


def test_a_round_does_not_grow_with_the_history_for_gaussian_laws() -> None:
    """What is kept is d x d, whatever the number of rounds."""
    policy = es.PerturbedHistory().start(es.UnitBall(3))
    sizes = set()
    for _ in range(50):
        policy.update(policy.decide(), 0.0)
        sizes.add(sum(values.size for values in policy.model.arrays().values()))
    assert len(sizes) == 1
