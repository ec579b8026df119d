"""A certificate is what the analysis proves of each round, added up; it is a function of the log, and refuses other logs."""

from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from ensample import theory
from naive import certificate as naive

RNG = np.random.default_rng(0)
ARMS = RNG.standard_normal((3, 2))
ARMS /= np.linalg.norm(ARMS, axis=1, keepdims=True)
TRUTH = np.array([0.8, 0.6])
MEANS = ARMS @ TRUTH
SETTING = es.Setting(dim=2, arms=3, horizon=60, noise=0.1, norm=1.0, regularization=1.5, delta=0.1)
RECIPES = {
    "uniform": es.EnsembleSampling.from_theorem(SETTING, sharp=True),
    "uniform, paper's size": es.EnsembleSampling.from_theorem(replace(SETTING, horizon=20)),
    "signs": es.EnsembleSampling.from_theorem(
        replace(SETTING, horizon=20), es.Rademacher(), sharp=True
    ),
    "optimistic": es.EnsembleSampling.from_theorem(
        SETTING, member=es.OptimisticMember(), sharp=True
    ),
    "LinUCB": es.LinUCB.from_theorem(SETTING),
}


def played(recipe: es.Recipe, rounds: int, seed: int = 0) -> es.Policy:
    policy = recipe.start(es.FiniteArms(ARMS), seed)
    noise = np.random.default_rng(seed).normal(0, 0.1, rounds)
    for t in range(rounds):
        decision = policy.decide()
        policy.update(decision, MEANS[decision.arm] + noise[t])
    return policy


@pytest.mark.parametrize("name", ["uniform", "optimistic", "LinUCB"])
def test_against_dense_algebra(name: str) -> None:
    policy = played(RECIPES[name], 25)
    log, found = policy.log(), policy.certificate()
    if name == "LinUCB":
        terms = naive.linucb(SETTING, log.features)
    elif name == "optimistic":
        terms = naive.optimistic(SETTING, log.features, policy.recipe.size)
    else:
        fresh, m = policy.recipe.start(es.FiniteArms(ARMS), 0), policy.recipe.size
        W = fresh.model.sums[:2].T
        Z = np.array([fresh.model.perturbations(t)[:m] for t in range(25)])
        share = theory.sharp_share(SETTING, m)
        terms = naive.uniform(SETTING, log.features, log.reward, W, Z, ARMS, share)
    assert found.unclipped == pytest.approx(sum(terms), rel=1e-9)
    assert found.bound == pytest.approx(np.minimum(terms, 2.0).sum(), rel=1e-9)
    assert found.rounds == 25 and found.a_priori == policy.recipe.guarantee(SETTING).bound
    assert found.probability == pytest.approx({"LinUCB": 0.9}.get(name, 0.7))


@pytest.mark.parametrize("name", RECIPES)
def test_it_covers_the_regret_of_every_round(name: str) -> None:
    """At every number of rounds, in every run: far from its failure probability, so none is expected to fail."""
    recipe = RECIPES[name]
    rounds = min(20, recipe.setting.horizon)
    for seed in range(5):
        log = played(recipe, rounds, seed).log()
        regret = np.cumsum(MEANS.max() - MEANS[log.arm])
        for n in (1, 5, rounds):
            found = recipe.replay(
                es.FiniteArms(ARMS), es.Log(*(column[:n] for column in log)), seed
            ).certificate()
            assert regret[n - 1] <= found.bound <= found.unclipped and found.bound <= 2.0 * n


def test_it_is_sharp_enough_to_be_wrong() -> None:
    """Negative control: a policy whose rewards are noisier than its setting says goes beyond its certificate."""
    setting = es.Setting(dim=2, arms=2, horizon=2000, noise=1e-3, norm=0.05, delta=0.1)
    recipe, arms, excess = es.LinUCB.from_theorem(setting), es.FiniteArms(np.eye(2)), []
    for seed, noise in ((0, 1e-3), (1, 1e-3), (0, 0.2), (1, 0.2), (2, 0.2), (3, 0.2)):
        policy, means = recipe.start(arms), np.array([0.05, 0.0])
        draws = np.random.default_rng(seed).normal(0, noise, 2000)
        for t in range(2000):
            decision = policy.decide()
            policy.update(decision, means[decision.arm] + draws[t])
        regret = (0.05 - means[policy.log().arm]).sum()
        excess.append(regret - policy.certificate().bound)
    assert max(excess[:2]) < 0.0 < max(excess[2:])


def test_linucb_and_the_optimistic_rule_are_below_what_is_known_in_advance() -> None:
    """For certain, not only probably: potentials are at most their bound, determinants too."""
    for name in ("LinUCB", "optimistic"):
        found = played(RECIPES[name], 60).certificate()
        assert found.unclipped < found.a_priori


@pytest.mark.parametrize("name", ["uniform", "LinUCB"])
def test_snapshots_and_replays_have_the_same(name: str, tmp_path) -> None:
    policy = played(RECIPES[name], 12)
    expected = policy.certificate()
    policy.save(tmp_path / "policy")
    assert es.load(tmp_path / "policy").certificate() == expected
    assert (
        RECIPES[name].replay(es.FiniteArms(ARMS), policy.log(), policy.seed).certificate()
        == expected
    )
    policy.decide()
    assert policy.certificate() == expected, "a round that waits for its reward is not yet counted"


def test_before_the_first_reward() -> None:
    found = RECIPES["LinUCB"].start(es.UnitBall(2)).certificate()
    assert (found.rounds, found.bound, found.unclipped) == (0, 0.0, 0.0)


def test_on_the_ball() -> None:
    policy = RECIPES["LinUCB"].start(es.UnitBall(2))
    for _ in range(10):
        decision = policy.decide()
        policy.update(decision, float(decision.features @ TRUTH))
    assert policy.certificate().unclipped == pytest.approx(
        sum(naive.linucb(SETTING, policy.log().features)), rel=1e-9
    )


def test_late_rewards_are_refused_where_they_changed_a_decision() -> None:
    """A batch of decisions before the first reward: LinUCB would have gone on to other arms."""
    policy = RECIPES["LinUCB"].start(es.FiniteArms(ARMS))
    batch = [policy.decide() for _ in range(4)]
    policy.update_many(batch, [0.1] * 4)
    with pytest.raises(
        es.AssumptionError,
        match="observation 1 of the log, of round 1, is not what the policy would have played",
    ):
        policy.certificate()
    swapped = played(RECIPES["LinUCB"], 3)
    log = es.Log(*(column[[1, 0, 2]] for column in swapped.log()))
    with pytest.raises(
        es.AssumptionError, match="each reward was learned before the next decision"
    ):
        RECIPES["LinUCB"].replay(es.FiniteArms(ARMS), log).certificate()
    own = RECIPES["LinUCB"].start(es.FiniteArms(ARMS))
    own.update(
        2 if own.propensities()[2] == 0 else 1, 0.5
    )  # an observation of somebody else's choice
    with pytest.raises(es.AssumptionError, match="observation 0"):
        own.certificate()


def test_what_else_is_refused() -> None:
    arms = es.FiniteArms(ARMS)
    for recipe in (
        es.EnsembleSampling(size=5),
        es.LinUCB(),
        es.PerturbedHistory.from_theorem(SETTING),
        es.Greedy(),
    ):
        with pytest.raises(es.AssumptionError, match=r"from_theorem; here"):
            recipe.start(arms).certificate()
    with pytest.raises(es.AssumptionError, match="at least"):
        replace(RECIPES["uniform"], size=5).start(arms).certificate()
    with pytest.raises(es.AssumptionError, match="one set of arms"):
        RECIPES["LinUCB"].start(es.ChangingArms(2)).certificate()
    with pytest.raises(es.InvalidArgument, match=r"^log = "):
        RECIPES["LinUCB"].start(arms, log=None).certificate()
    short = es.EnsembleSampling.from_theorem(replace(SETTING, horizon=5), sharp=True)
    with pytest.raises(es.AssumptionError, match="at most the 5 rounds"):
        played(short, 6).certificate()
