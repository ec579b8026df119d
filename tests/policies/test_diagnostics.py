"""What the analysis watches, against its definitions written out."""

import numpy as np
import pytest

import ensample as es
from ensample import theory
from naive.stored import Recording

THETA = np.array([0.6, -0.3, 0.2])


def test_diagnostics_are_the_papers_quantities() -> None:
    """Phi, Z and U are built as matrices; the policy has never seen them. Its scale is so large that members miss gamma~."""
    rng = np.random.default_rng(0)
    setting = es.Setting(
        dim=3, arms=6, horizon=50, noise=0.1, norm=0.5, regularization=2.0, delta=0.2
    )
    scale, size = 6.0 * theory.radius(setting), 200
    X = rng.standard_normal((6, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    initial, reward = Recording(2**0.5 * scale), Recording(scale)
    policy = es.EnsembleSampling(size, scale, 2.0, initial, reward).start(es.FiniteArms(X))
    W, shares = initial.drawn[0], []
    policy.decide()  # never rewarded: rounds and rewards differ from here on
    for t in range(30):
        decision = policy.decide()
        policy.update(decision, float(decision.features @ THETA + rng.normal(0, 0.1)))
        measured = policy.diagnostics(THETA, setting)

        Z = np.concatenate(reward.drawn)[1 : t + 2]
        Phi = np.hstack([2**0.5 * np.eye(3), policy.log().features.T])
        V = Phi @ Phi.T
        stacked = np.hstack([W / 2**0.5, Z.T])  # Z_t^j, a row a member
        theta_tilde = np.linalg.solve(V, Phi @ stacked.T).T
        norms = np.sqrt(np.einsum("ji,ik,jk->j", theta_tilde, V, theta_tilde))
        best = X[np.argmax(X @ THETA)]
        U = best @ np.linalg.solve(V, Phi)
        error = np.sqrt((policy.mean - THETA) @ V @ (policy.mean - THETA))
        concentrated = norms <= theory.perturbation_radius(setting)
        optimistic = stacked @ U >= theory.radius(setting, t + 1) * np.linalg.norm(U)
        shares.append(concentrated.mean())

        np.testing.assert_allclose(measured.perturbation_norms, norms, rtol=1e-8)
        np.testing.assert_array_equal(measured.e_1, concentrated)
        assert measured.optimism_share == pytest.approx(np.mean(optimistic & concentrated))
        assert measured.ridge_error == pytest.approx(error)
        assert measured.e_hat == (error <= theory.radius(setting, t + 1))
        assert measured.condition == pytest.approx(np.linalg.cond(V))
        votes = policy.propensities()
        votes = votes[votes > 0]
        assert measured.disagreement == pytest.approx(-(votes * np.log(votes)).sum(), abs=1e-12)
        assert measured.round == t + 2
    assert 0.05 < min(shares) < max(shares) < 0.95, "the event must be one that can fail"


def test_events_are_judged_by_the_setting() -> None:
    recipe = es.EnsembleSampling(size=5, scale=0.2)
    policy = recipe.start(es.FiniteArms(np.eye(3)))
    plain = policy.diagnostics()
    assert plain.e_hat is plain.e_1 is plain.optimism_share is plain.ridge_error is None
    assert policy.diagnostics(THETA).e_hat is False  # |0 - theta*| = 0.7 > scale
    generous = es.Setting(dim=3, arms=3, horizon=100, noise=1.0, norm=5.0)
    assert policy.diagnostics(THETA, generous).e_hat is True
    assert es.EnsembleSampling.from_theorem(generous).setting == generous


def test_disagreement_counts_votes_whatever_the_rule() -> None:
    policies = [
        es.EnsembleSampling(size=40, member=rule).start(es.FiniteArms(np.eye(3)), seed=1)
        for rule in (es.UniformMember(), es.RoundRobin(), es.OptimisticMember())
    ]
    values = {policy.diagnostics().disagreement for policy in policies}
    assert len(values) == 1 and 0.5 < values.pop() <= np.log(3)


def test_without_votes_there_is_no_disagreement() -> None:
    assert es.EnsembleSampling(3).start(es.UnitBall(2)).diagnostics([0.1, 0.2]).disagreement is None
    assert (
        es.PerturbedHistory().start(es.FiniteArms(np.eye(2))).diagnostics([0.1, 0.2]).disagreement
        is None
    )


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (([1.0],), "theta_star"),
        (([1.0, float("nan"), 0.0],), "theta_star"),
        (("abc",), "theta_star"),
        ((THETA, "setting"), "setting"),
        ((THETA, es.Setting(2, 3, 10, 1, 1)), "setting"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple, argument: str) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        es.EnsembleSampling(3).start(es.FiniteArms(np.eye(3))).diagnostics(*arguments)
    assert caught.value.argument == argument


def test_changing_arms_have_no_best_arm() -> None:
    policy = es.EnsembleSampling(3).start(es.ChangingArms(3))
    assert policy.diagnostics().condition == 1.0
    with pytest.raises(es.InvalidArgument, match=r"^theta_star = "):
        policy.diagnostics(THETA)


@pytest.mark.parametrize(
    "arms", [es.FiniteArms(np.eye(3)), es.ChangingArms(3)], ids=["finite", "changing"]
)
def test_networks_have_disagreement_and_no_parameter(arms: es.Arms) -> None:
    policy = es.EnsembleSampling(8, model=es.Neural((4,))).start(arms, seed=0)
    for t in range(5):
        policy.update(
            policy.decide(None if isinstance(arms, es.FiniteArms) else np.eye(3)), float(t % 2)
        )
    measured = policy.diagnostics()
    assert measured.round == 5
    assert measured.perturbation_norms is None
    assert measured.condition is None
    if isinstance(arms, es.FiniteArms):
        shares = np.bincount(policy.votes(), minlength=3) / 8
        assert measured.disagreement == pytest.approx(-sum(p * np.log(p) for p in shares if p > 0))
    else:
        assert measured.disagreement is None, "no arms stand to be voted for"
    assert policy.calibration.effective is None and policy.calibration.sigma > 0.0
    with pytest.raises(es.InvalidArgument, match=r"^theta_star = .*no parameter"):
        policy.diagnostics(THETA)
