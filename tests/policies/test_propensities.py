"""Propensities are exact."""

import json
import pickle

import numpy as np
import pytest
from scipy import stats

import ensample as es
from ensample.randomness import Address
from evidence import FALSE_ALARM
from naive import textbook

REDRAWS = 200_000
UNIFORM = es.UniformMember()


def trained(member=UNIFORM, rounds: int = 40, size: int = 50) -> es.Policy:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 4))
    policy = es.EnsembleSampling(size=size, scale=0.8, member=member).start(
        es.FiniteArms(X), seed=1
    )
    for _ in range(rounds):
        policy.update(policy.decide(), rng.standard_normal())
    return policy


def binomial_interval_contains(count: int, total: int, p: float, tests: int) -> bool:
    """The exact interval at FALSE_ALARM shared by `tests` comparisons."""
    if p in (0.0, 1.0):
        return count == total * p
    low, high = stats.binom.interval(1 - FALSE_ALARM / tests, total, p)
    return bool(low <= count <= high)


def plays_with(policy: es.Policy, propensities: np.ndarray) -> bool:
    """Whether 20,000 decisions, none of them rewarded, have these frequencies."""
    counts = np.zeros(propensities.size, int)
    for _ in range(20_000):
        decision = policy.decide()
        policy.forget(decision)
        counts[decision.arm] += 1
    pairs = zip(counts, propensities, strict=True)
    return all(
        binomial_interval_contains(count, 20_000, p, propensities.size) for count, p in pairs
    )


def test_uniform_propensities_are_the_frequencies_of_redrawn_members() -> None:
    policy = trained()
    propensities, votes = policy.propensities(), policy.votes()
    assert propensities.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(propensities, np.bincount(votes, minlength=8) / 50)
    assert (propensities > 0).sum() >= 3
    address, rule = Address(99), es.UniformMember()
    members = [rule.choose(round, 50, address, lambda: np.zeros(50)) for round in range(REDRAWS)]
    counts = np.bincount(votes[members], minlength=8)
    assert all(
        binomial_interval_contains(*pair, 8)
        for pair in zip(counts, [REDRAWS] * 8, propensities, strict=True)
    )
    wrong = np.roll(propensities, 1)
    assert not all(
        binomial_interval_contains(*pair, 8)
        for pair in zip(counts, [REDRAWS] * 8, wrong, strict=True)
    )


def test_a_policy_plays_with_its_propensities() -> None:
    """Decisions that are never rewarded leave the state, and with it the propensities, as they are."""
    policy = trained()
    propensities = policy.propensities()
    assert plays_with(policy, propensities)


def test_a_sticky_rule_knows_propensities_when_it_draws() -> None:
    policy = es.EnsembleSampling(size=20, member=es.StickyMember(3)).start(
        es.FiniteArms(np.eye(3)), seed=1
    )
    members = []
    for t in range(9):
        if t % 3 == 0:
            assert policy.propensities().sum() == pytest.approx(1.0)
        else:
            with pytest.raises(es.PropensityError, match=f"round {t}.*round {t - t % 3}"):
                policy.propensities()
        decision = policy.decide()
        policy.update(decision, 1.0)
        members.append(decision.member)
    assert members == [members[0]] * 3 + [members[3]] * 3 + [members[6]] * 3
    assert len(set(members)) > 1


def test_round_robin_and_optimistic_rules_are_certain() -> None:
    for rule in (es.RoundRobin(), es.OptimisticMember()):
        policy = trained(rule)
        for _ in range(60):
            propensities = policy.propensities()
            decision = policy.decide()
            assert propensities[decision.arm] == 1.0 and propensities.sum() == 1.0
            assert policy.propensity(decision) == 1.0
            policy.update(decision, 0.3)


def test_a_callable_rule_has_propensities_only_if_it_knows_its_weights() -> None:
    def favourite(round: int, size: int, rng: np.random.Generator) -> int:
        return 0 if rng.random() < 0.7 else 1

    policy = trained(favourite)
    with pytest.raises(es.PropensityError, match="weights"):
        policy.propensities()
    with pytest.raises(es.PropensityError, match="weights"):
        policy.decide(propensity=True)
    decision = policy.decide()
    with pytest.raises(es.PropensityError, match="weights"):
        policy.propensity(decision)

    class Favourite:
        def __call__(self, round: int, size: int, rng: np.random.Generator) -> int:
            return favourite(round, size, rng)

        def weights(self, round: int, size: int) -> list[float]:
            return [0.7, 0.3] + [0.0] * (size - 2)

    policy = trained(Favourite())
    expected = np.zeros(8)
    np.add.at(expected, policy.votes(), Favourite().weights(0, 50))
    np.testing.assert_allclose(policy.propensities(), expected, rtol=1e-15)
    assert plays_with(policy, expected)


def test_caching_changes_nothing() -> None:
    cached, fresh = trained(rounds=0), trained(rounds=0)
    rng = np.random.default_rng(2)
    for _ in range(30):
        fresh.model._voted = None
        np.testing.assert_array_equal(cached.propensities(), cached.propensities())
        np.testing.assert_array_equal(cached.propensities(), fresh.propensities())
        reward = rng.standard_normal()
        for policy in (cached, fresh):
            decision = policy.decide()
            fresh.model._voted = None
            assert policy.propensity(decision) == policy.propensities()[decision.arm]
            policy.update(decision, reward)
        expected = textbook.votes(cached.arms.features, cached.estimates)
        np.testing.assert_array_equal(
            cached.propensities(), np.bincount(expected, minlength=8) / 50
        )


def test_a_propensity_is_filled_when_asked_for() -> None:
    policy = trained()
    early, late = policy.decide(propensity=True), policy.decide()
    assert "propensity" in repr(early) and "propensity" not in repr(late)
    expected = policy.propensities()[late.arm]
    policy.update(early, 1.0)
    assert early.propensity > 0
    with pytest.raises(es.PropensityError, match="before the next update"):
        policy.propensity(late)
    assert expected > 0


@pytest.mark.parametrize("fresh", [False, True])
def test_propensities_of_changing_arms(fresh: bool) -> None:
    policy = es.EnsembleSampling(size=30, fresh=fresh).start(es.ChangingArms(3))
    features = np.random.default_rng(0).standard_normal((5, 3))
    propensities = policy.propensities(features)
    decision = policy.decide(features, propensity=True)
    assert decision.propensity == propensities[decision.arm]
    other = policy.decide(features[::-1])
    known = policy.propensities(features[::-1], round=other.round)[other.arm]
    assert policy.propensity(other) == pytest.approx(known)


def test_there_are_none_for_infinite_arms_and_linphe() -> None:
    with pytest.raises(es.PropensityError, match="finitely many arms"):
        es.EnsembleSampling(3).start(es.UnitBall(2)).propensities()
    with pytest.raises(es.PropensityError, match="closed form"):
        es.PerturbedHistory().start(es.FiniteArms(np.eye(2))).propensities()


class Uneven(es.MemberRule):
    """Any weights at all."""

    def choose(self, round, size, address, promises):
        return 0

    def weights(self, round, size, promises):
        return np.random.default_rng(round).random(size)


def test_a_propensity_is_never_above_1() -> None:
    """The sum of some weights, divided by the same sum in another order."""
    policy = es.EnsembleSampling(size=24, member=Uneven()).start(es.FiniteArms([[1.0]]))
    weights = [Uneven().weights(round, 24, None) for round in range(50)]
    above = [np.bincount(np.zeros(24, int), each)[0] / each.sum() > 1.0 for each in weights]
    assert any(above), "rounding exceeds 1 in some of these rounds"
    for _ in range(50):
        decision = policy.decide(propensity=True)
        assert decision.propensity <= 1.0 and policy.propensities().max() <= 1.0
        assert es.Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision
        assert pickle.loads(pickle.dumps(decision)) == decision


def test_propensities_of_earlier_snapshots_come_down_to_1(tmp_path) -> None:
    """They were saved before that was seen to: they load, and their log can be replayed."""
    policy = es.EnsembleSampling(size=3, scale=0.5).start(es.FiniteArms([[1.0]]))
    for _ in range(2):
        policy.decide(propensity=True)._propensity = 1.0 + 2.0**-52
    policy.update(policy.open_decisions[0], 1.0)
    policy.save(tmp_path / "policy")
    loaded = es.load(tmp_path / "policy", verify=True)
    assert loaded.log().propensity.tolist() == [1.0] and loaded.open_decisions[0].propensity == 1.0


@pytest.mark.parametrize("fresh", [False, True])
def test_some_members_are_asked_instead_of_all(fresh: bool) -> None:
    arms = es.FiniteArms(np.vstack([np.eye(2), -np.eye(2)]))
    misses = []
    for seed in range(40):
        policy = es.EnsembleSampling(size=400, fresh=fresh).start(arms, seed=seed)
        exact, found = policy.propensities(), policy.sampled_propensities(members=100)
        assert found.members == 100 and found.shares.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(found.shares * 100, np.round(found.shares * 100))
        np.testing.assert_allclose(found.errors, np.sqrt(found.shares * (1 - found.shares) / 100))
        misses.append((found.shares - exact)[0] / np.sqrt(exact[0] * (1 - exact[0]) / 100))
    assert (
        abs(np.mean(misses)) < 5 / 40**0.5 and 0.5 < np.std(misses) < 1.6
    )  # unbiased, and off by as much as it says
    again = policy.sampled_propensities(members=100)
    np.testing.assert_array_equal(again.shares, found.shares)  # a function of (seed, round)
    whole = policy.sampled_propensities(members=1_000)
    assert whole.members == 400 and not whole.errors.any()
    np.testing.assert_array_equal(whole.shares, policy.propensities())


def test_sampled_propensities_are_of_the_rows_on_offer_and_of_the_rule() -> None:
    rows = np.eye(3)
    policy = es.EnsembleSampling(size=50, member=es.RoundRobin()).start(es.ChangingArms(3), seed=0)
    found = policy.sampled_propensities(5, rows)
    assert found.shares.tolist() == policy.propensities(rows).tolist()
    assert sorted(found.shares) == [0, 0, 1]
    optimist = es.EnsembleSampling(size=50, member=es.OptimisticMember()).start(es.FiniteArms(rows))
    with pytest.raises(es.PropensityError, match="drawn without looking"):
        optimist.sampled_propensities(5)
    with pytest.raises(es.PropensityError):
        es.ThompsonSampling().start(es.FiniteArms(rows)).sampled_propensities(5)
    for arms in (es.UnitBall(3), es.ChangingArms(3)):
        with pytest.raises(es.PropensityError, match="need finitely many arms"):
            es.EnsembleSampling(size=50).start(arms).sampled_propensities(5)
    for bad in (0, 1.5, True, "9"):
        with pytest.raises(es.InvalidArgument, match=r"^members = "):
            policy.sampled_propensities(bad, rows)
