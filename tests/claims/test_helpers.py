"""What claims share, against slow and obvious computations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample.claims.claim import Verdict
from ensample.claims.evidence import generator, same_law
from ensample.claims.histories import count_vectors, draw_stacks
from ensample.claims.recorded import record, watch
from ensample.claims.statements.anticoncentration import edge, sphere_tail, subgaussian
from ensample.claims.statements.concentration import (
    NOISES,
    chance,
    norms_when_chased,
    norms_when_fixed,
    reward,
)
from ensample.claims.tails import adverse_directions, exact_tails, sampled_tails
from ensample.randomness import RunStream
from ensample.statistics import ks_distance
from evidence import holds
from naive import textbook


def test_a_recorded_run_is_algorithm_1() -> None:
    history = record(3, "some-claim", lam=2.0, rounds=80)
    numbers = {x.tobytes(): k for k, x in enumerate(history.arms)}
    arms, estimates = textbook.ensemble_sampling(
        history.arms,
        2.0,
        history.W,
        history.Z,
        lambda t, k: history.Y[t],
        lambda t, thetas: history.members[t],
    )
    assert [numbers[x.tobytes()] for x in history.X] == arms
    np.testing.assert_allclose(history.estimates, estimates, rtol=1e-9, atol=1e-11)
    assert history.best @ history.theta == (history.arms @ history.theta).max()
    assert len(set(history.members.tolist())) > 1


@pytest.mark.parametrize(
    ("measure", "dim"), [(norms_when_chased, 3), (norms_when_fixed, 3), (norms_when_fixed, 20)]
)
def test_norms_against_full_matrices(measure, dim: int) -> None:
    """The same random numbers, with V inverted afresh in every round."""
    lam, rounds, members = 2.0, 10, 4
    law = es.Rademacher(1.5)
    setting = es.Setting(dim, 2, rounds, 1.0, 1.0, lam)
    fast = measure(law, law, setting, members, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    S = law.rescaled(lam**0.5 * 1.5).draw_vectors(rng, members, dim)
    V = np.array([lam * np.eye(dim)] * members)
    largest = [math.sqrt(s @ np.linalg.inv(v) @ s) for s, v in zip(S, V, strict=True)]
    for t in range(rounds):
        if measure is norms_when_fixed:
            x = np.tile(np.eye(dim)[t % dim], (members, 1))
        elif t % 2:
            x = rng.standard_normal((members, dim))
        else:
            x = np.array([np.linalg.inv(v) @ s for s, v in zip(S, V, strict=True)])
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        z = law.draw(rng, members)
        for r in range(members):
            S[r] += x[r] * z[r]
            V[r] += np.outer(x[r], x[r])
            largest[r] = max(largest[r], math.sqrt(S[r] @ np.linalg.inv(V[r]) @ S[r]))
    np.testing.assert_allclose(fast, largest, rtol=1e-9)


@pytest.mark.parametrize(
    ("length", "probability"), [(1, 1 / 2), (2, 1 / 4), (3, 1 / 2), (4, 5 / 16)]
)
def test_exact_tails_of_signs(length: int, probability: float) -> None:
    flat = np.full((1, length), length**-0.5)
    signs, halves = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    assert exact_tails(signs, halves, flat, 1 / 3) == pytest.approx(probability)


def test_sampled_tails_agree_with_exact_ones() -> None:
    directions = np.array([[1.0, 1.0, 1.0, 1.0]]) / 2
    law, rng = es.Rademacher(), np.random.default_rng(0)
    [hits] = sampled_tails(
        lambda rng, n: law.draw_vectors(rng, n, 4), directions, 20_000, rng, 1 / 3
    )
    assert holds(stats.binomtest(int(hits), 20_000, 5 / 16).pvalue)


def test_directions_are_unit_vectors_of_many_kinds() -> None:
    rows = adverse_directions(np.random.default_rng(0), 6, 10)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)
    assert any(np.allclose(row, np.eye(6)[0]) for row in rows)
    assert any(np.allclose(row, 6**-0.5) for row in rows)


def test_the_tail_of_a_sphere() -> None:
    """In two dimensions an arc, in three a cap (Archimedes)."""
    assert sphere_tail(2) == pytest.approx(math.acos(1 / (3 * 2**0.5)) / math.pi)
    assert sphere_tail(3) == pytest.approx((1 - 1 / (3 * 3**0.5)) / 2)
    assert sphere_tail(10**6) == pytest.approx(stats.norm.sf(1 / 3), rel=1e-5)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_noise_has_the_mean_and_the_spread_it_should(noise) -> None:
    rng, n = np.random.default_rng(1), 100_000
    rewards = reward(noise, np.full(n, 0.3), chance(noise, n, rng))
    assert holds(stats.ttest_1samp(rewards, 0.3).pvalue)
    assert not holds(stats.ttest_1samp(rewards, 0.35).pvalue), "negative control"
    assert rewards.std() == pytest.approx(float(noise.spreads(np.array(0.3))), rel=0.03)


def test_the_law_of_the_regret_sees_another_scale() -> None:
    """Negative control of the second half of linphe-is-ensemble: another scale."""
    world = es.problem("sphere", dim=3, arms=10, noise=1.0)
    regrets = [
        es.simulate(es.PerturbedHistory(scale), world, 30, 2000, cell=n, checkpoints=1).regret[
            :, -1
        ]
        for n, scale in enumerate((1.0, 4.0))
    ]
    assert same_law(ks_distance(*regrets), [2000, 2000], 0.2).verdict is Verdict.REFUTED


def setting_of_lam_2(horizon: int) -> es.Setting:
    return es.Setting(2, 2, horizon, 1.0, 1.0, 2.0)


def test_one_draw_answers_for_ensembles_of_every_size() -> None:
    """Least shares and reaches of the first n members, against stacks of n members."""
    world = es.LinearProblem(es.FiniteArms(np.array([[1.0, 0.0], [0.6, 0.8]])), [0.5, 0.4], 1.0)
    stacks = draw_stacks(world, setting_of_lam_2(6), 9, np.random.default_rng(3))
    shares, reaches = stacks.least_shares(0.5, 2.0), stacks.least_reaches()
    for n in (1, 4, 9):
        alone = replace(stacks, W=stacks.W[:n], sums=stacks.sums[:, :, :n])
        looks = [alone.look(counts[None]) for counts in count_vectors(2, 6)]
        assert shares[n - 1] == pytest.approx(
            min(((r >= 0.5) & (norm <= 2.0)).mean() for r, norm in looks)
        )
        assert reaches[n - 1] == pytest.approx(min(r.max() for r, _ in looks))
    assert (stacks.least_shares_found(0.5, 2.0, 5) >= shares).all(), (
        "no adversary beats all histories"
    )


def test_stacks_in_steps_are_stacks_of_which_some_sums_are_kept() -> None:
    """In units of a step; and drawn so, the sums have the variance of the sums left out."""
    world = es.LinearProblem(es.FiniteArms(np.array([[1.0, 0.0], [0.6, 0.8]])), [0.5, 0.4], 1.0)
    whole = draw_stacks(world, setting_of_lam_2(10), 9, np.random.default_rng(3))
    steps = replace(whole, sums=whole.sums[:, ::3], every=3)
    for one, other in zip(
        steps.look(np.array([[1, 2], [3, 0]])), whole.look(np.array([[3, 6], [9, 0]])), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    setting = setting_of_lam_2(10_001)
    long = draw_stacks(world, setting, 4000, np.random.default_rng(4), every=5000)
    assert long.sums.shape == (2, 3, 4000) and long.every == 5000
    scaled = long.sums[:, 2].ravel() / 100.0
    assert holds(stats.kstest(scaled, "norm").pvalue)
    assert not holds(stats.kstest(1.2 * scaled, "norm").pvalue), "negative control"


def test_a_watched_round_is_what_the_definitions_say() -> None:
    world = es.LinearProblem(
        es.FiniteArms(np.array([[1.0, 0.0], [0.6, 0.8], [0.1, 0.0]])), [0.5, 0.4], 1.0
    )
    recipe = es.EnsembleSampling(7, 1.0)
    policy = recipe.start(world.arms, int(generator(0, "watched", 0).integers(1 << 62)))
    noise = generator(0, "watched", 0, RunStream.NOISE)
    for look in watch(recipe, world, 5, 0, "watched", 0):
        V, X = policy.gram, world.arms.features
        widths = [math.sqrt(x @ np.linalg.inv(V) @ x) for x in X]
        for j, theta in enumerate(policy.estimates):
            error, favourite = theta - world.theta, int(np.argmax(X @ theta))
            assert look.errors[j] == pytest.approx(math.sqrt(error @ V @ error))
            assert look.promises[j] == pytest.approx((X @ theta).max())
            assert look.widths[j] == pytest.approx(widths[favourite])
        decision = policy.decide()
        assert look.width == pytest.approx(widths[decision.arm])
        assert look.regret == pytest.approx(world.best_mean() - X[decision.arm] @ world.theta)
        policy.update(decision, world.reward(decision.features, noise))


def test_the_rarest_three_point_law() -> None:
    """On {-a, 0, a}, variance 1/2, subGaussian constant 1: not zero with probability 0.078."""
    a = edge(0.5)
    assert 0.25 / a**2 == pytest.approx(0.039, abs=5e-4)
    tilts = np.linspace(0.01, 20, 5000)
    assert subgaussian(a, 0.5, tilts) == pytest.approx(1.0, abs=1e-3)
    assert subgaussian(1.02 * a, 0.5, tilts) > 1.001
