"""Rivals with a logistic model: each against its formula, and in simulations against its live policy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ensample as es
from evidence import gaussian_p_value, holds
from naive.generalized import exact_fit, sigmoid, variance
from simulation.test_laws import outcomes, p_value

FEATURES = np.random.default_rng(1).standard_normal((6, 3))
ARMS = es.FiniteArms(FEATURES)
EXACT = es.Logistic("exact")
PROBLEM = es.LogisticProblem(ARMS, [1.0, -1.0, 0.5], opening=[0, 1], warmup=[2])


def clicked(recipe: es.Recipe, rounds: int = 40) -> es.Policy:
    policy, rng = recipe.start(ARMS, seed=2), np.random.default_rng(3)
    for _ in range(rounds):
        decision = policy.decide()
        policy.update(decision, rng.random() < sigmoid(decision.features @ [1.0, -1.0, 0.5]))
    return policy


def fit(policy: es.Policy, lam: float, shift=0.0) -> tuple[np.ndarray, np.ndarray]:
    """The minimiser of the loss and its Hessian there, from the log."""
    log = policy.log()
    theta = exact_fit(log.features, log.reward, lam, np.zeros(3) + shift)
    return theta, lam * np.eye(3) + (log.features.T * variance(log.features @ theta)) @ log.features


def draws(policy: es.Policy, count: int = 3000) -> np.ndarray:
    """Models of many rounds, all from the state of the moment: [count, d]."""
    return np.array([policy.model.draw(round) for round in range(100, 100 + count)])


def test_glm_tsl_draws_from_laplaces_approximation() -> None:
    policy = clicked(es.ThompsonSampling(0.8, 0.5, model=EXACT))
    theta, hessian = fit(policy, 0.5)
    assert_allclose(policy.mean, theta, atol=1e-8)
    assert_allclose(policy.gram, hessian, rtol=1e-7)
    whitened = (draws(policy) - theta) @ np.linalg.cholesky(hessian) / 0.8
    assert holds(gaussian_p_value(whitened)) and not holds(gaussian_p_value(1.2 * whitened))


def test_the_stream_fits_posterior() -> None:
    policy = clicked(es.ThompsonSampling(0.8, 0.5, model=es.Logistic()))
    whitened = (draws(policy) - policy.mean) @ np.linalg.cholesky(policy.gram) / 0.8
    assert holds(gaussian_p_value(whitened)) and not holds(gaussian_p_value(1.2 * whitened))


@pytest.mark.parametrize(
    "recipe",
    [es.EVILL(0.8, 0.5), es.PerturbedHistory(0.8, 0.5, model=EXACT)],
    ids=["EVILL", "GLM-FPL"],
)
def test_perturbed_minimisers(recipe: es.Recipe) -> None:
    """Where a model is the minimiser, its gradient is the perturbation: N(0, scale^2 H), or with weights 1/4 for A''."""
    policy = clicked(recipe)
    log, (_, hessian) = policy.log(), fit(policy, 0.5)
    found = draws(policy)
    shifts = (sigmoid(found @ log.features.T) - log.reward) @ log.features + 0.5 * found
    other = 0.5 * np.eye(3) + 0.25 * log.features.T @ log.features
    root = np.linalg.cholesky(hessian if isinstance(recipe, es.EVILL) else other)
    whitened = np.linalg.solve(root, shifts.T).T / 0.8
    assert holds(gaussian_p_value(whitened)) and not holds(gaussian_p_value(1.2 * whitened))


def test_the_stream_fit_of_perturbed_rewards() -> None:
    policy = clicked(es.PerturbedHistory(0.8, 0.5, model=es.Logistic()))
    log, V = policy.log(), policy.gram
    shifts = (draws(policy) - policy.mean) @ V / 0.8
    root = np.linalg.cholesky(0.5 * np.eye(3) + 0.25 * log.features.T @ log.features)
    assert holds(gaussian_p_value(np.linalg.solve(root, shifts.T).T))


def test_logistic_phe_fits_rewards_and_pseudo_rewards_together() -> None:
    policy = clicked(es.KvetonPHE(0.5, 0.7, model=es.Logistic()))
    model, rng = policy.model, np.random.default_rng(5)
    theta = model.draw_from(np.random.default_rng(5))
    pseudo = np.ceil(0.5 * model.arm_counts).astype(int)
    heads = model.arm_totals + rng.binomial(pseudo, 0.5)
    counts = model.arm_counts + pseudo
    gradient = (counts * sigmoid(FEATURES @ theta) - heads) @ FEATURES + 0.7 * theta
    assert np.abs(gradient).max() < 1e-8
    assert set(policy.log().arm[:3]) == {0, 1, 2}, "a basis first"
    with pytest.raises(es.InvalidArgument, match="standing arm"):
        policy.update([0.1, 0.2, 0.3], 1.0)


@pytest.mark.parametrize("link", [es.Logistic(), EXACT], ids=repr)
def test_ucb_glm_is_its_index(link: es.Logistic) -> None:
    policy = clicked(es.LinUCB(1.5, 0.5, model=link))
    widths = np.sqrt(np.einsum("ki,ij,kj->k", FEATURES, np.linalg.inv(policy.gram), FEATURES))
    assert policy.decide().arm == np.argmax(FEATURES @ policy.mean + 1.5 * widths)
    if link is EXACT:
        assert_allclose(policy.mean, fit(policy, 0.5)[0], atol=1e-8)
    assert es.LinUCB(model=link).start(ARMS).beta == 2.0


@pytest.mark.parametrize("kind", [es.Greedy, es.EpsilonGreedy])
def test_greed_follows_the_centre(kind: type[es.Recipe]) -> None:
    for link in (es.Logistic(), EXACT):
        policy = clicked(kind(regularization=0.5, model=link))
        assert policy.propensities().argmax() == np.argmax(FEATURES @ policy.mean)
    assert_allclose(policy.mean, fit(policy, 0.5)[0], atol=1e-8)


RIVALS = [
    es.ThompsonSampling(0.8, model=EXACT),
    es.PerturbedHistory(0.8, model=EXACT),
    es.EVILL(0.8),
    es.KvetonPHE(model=es.Logistic()),
    es.LinUCB(model=EXACT),
    es.EpsilonGreedy(0.2, model=EXACT),
    es.EnsembleSampling(5, 0.8, model=EXACT),
]


@pytest.mark.parametrize("recipe", RIVALS, ids=lambda recipe: type(recipe).__name__)
def test_kernels_play_as_live_policies_do(recipe: es.Recipe) -> None:
    one = outcomes(recipe, PROBLEM, 40, "eager", 1, 2000)
    assert holds(p_value(one, outcomes(recipe, PROBLEM, 40, "live", 2, 150)))


def test_combinations_that_make_no_sense_are_refused() -> None:
    for make, match in (
        (lambda: es.ThompsonSampling(adaptive=True, model=EXACT), "adaptive = True"),
        (lambda: es.LinUCB(form="closed", model=EXACT), "form = 'closed'"),
        (lambda: es.PerturbedHistory(reward=es.Rademacher(), model=EXACT), "laws are Gaussian"),
        (lambda: es.EVILL(model=es.Linear()), "GeneralizedLinear for EVILL"),
        (lambda: es.EVILL(model=es.Logistic()), 'fit="exact"'),
    ):
        with pytest.raises(es.InvalidArgument, match=match):
            make()
    setting = es.Setting(dim=3, arms=6, horizon=100, noise=1, norm=1)
    for recipe in (es.LinUCB(model=EXACT), es.PerturbedHistory(model=EXACT), es.EVILL()):
        with pytest.raises(es.AssumptionError):
            recipe.guarantee(setting)
