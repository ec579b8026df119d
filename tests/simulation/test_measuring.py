"""theory.measure: gamma and p of recipes of which both are known, of others by the members themselves, and of one's own."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import ensample as es
from ensample import theory

PROBLEM = es.problem("sphere", dim=3, arms=6, noise=0.3)
SETTING = es.setting_of(PROBLEM, 100)
ARMS = es.FiniteArms(np.eye(2))
EVEN = es.LinearProblem(ARMS, [0.6, 0.3], 0.2)


def by_hand(
    recipe: es.Recipe, problem: es.LinearProblem, rounds: int, seed: int
) -> tuple[list[float], list[float]]:
    """(errors, optimism) of every round, from what a policy shows of itself."""
    policy, noise = recipe.start(problem.arms, seed), np.random.default_rng(seed)
    errors, shares = [], []
    for _ in range(rounds):
        thetas, V = policy.estimates, policy.gram
        decision = policy.decide()
        gap = thetas[decision.member] - problem.theta
        errors.append(np.sqrt(gap @ V @ gap))
        shares.append(
            np.mean((thetas @ problem.arms.features.T).max(axis=1) >= problem.best_mean())
        )
        policy.update(decision, problem.reward(decision.features, noise))
    return errors, shares


def test_linucb_at_its_theorem_is_optimistic_and_within_twice_its_radius() -> None:
    found = theory.measure(es.LinUCB.from_theorem(SETTING), PROBLEM, 100, runs=5)
    assert found.p == found.typical_p == 1.0 and found.gamma <= 2 * theory.radius(SETTING)
    assert (
        found.bound
        == theory.regret_bound(found.gamma, 1.0, found.setting)
        <= theory.ucb_bound(SETTING)
    )
    assert found.setting == SETTING and found.runs == 5 and 0 < found.regret < found.bound


def test_greedy_is_not() -> None:
    found = theory.measure(es.Greedy(1.0), PROBLEM, 100, runs=5)
    assert found.p == 0.0 and found.bound == np.inf


def test_members_are_counted() -> None:
    """The first round's share and error, which depend on nothing but the initial vectors."""
    recipe = es.EnsembleSampling(size=400, scale=2.0)
    found = theory.measure(recipe, EVEN, 1, runs=3)
    # max of two N(0, 2^2) >= 0.6: 1 - Phi(0.3)^2 = 0.6183
    assert found.typical_p == pytest.approx(0.618, abs=0.1) and 0.5 < found.p <= found.typical_p
    redrawn = theory.measure(es.PerturbedHistory(scale=2.0), EVEN, 1, runs=3, redraws=4000)
    assert redrawn.typical_p == pytest.approx(0.618, abs=0.05), (
        "and redraws have the law of members"
    )
    narrow = theory.measure(es.PerturbedHistory(scale=0.5), EVEN, 1, runs=3, redraws=4000)
    assert narrow.typical_p < 0.3, "negative control"


def test_it_sees_what_a_policy_shows() -> None:
    """In law: the medians over rounds of runs by hand are near its own."""
    recipe = es.EnsembleSampling(size=50, scale=0.5)
    found = theory.measure(recipe, EVEN, 60, runs=30, moments=10_000)
    looks = [by_hand(recipe, EVEN, 60, seed) for seed in range(30)]
    assert found.typical_gamma == pytest.approx(
        np.median([error for errors, _ in looks for error in errors]), rel=0.25
    )
    assert found.typical_p == pytest.approx(
        np.median([share for _, shares in looks for share in shares]), abs=0.12
    )


def test_rules_weigh_members() -> None:
    recipe = es.EnsembleSampling.from_theorem(SETTING, member=es.OptimisticMember(), sharp=True)
    found = theory.measure(recipe, PROBLEM, 100, runs=3)
    assert found.p == 1.0 and found.gamma <= theory.optimistic_radius(SETTING, recipe.size)
    uniform = theory.measure(replace(recipe, member=es.UniformMember()), PROBLEM, 100, runs=3)
    assert 0.0 < uniform.p < 1.0


@dataclass(frozen=True)
class Doubled(es.EnsembleSampling):
    """Somebody's own: twice as far from the mean."""

    def build(self, arms, address):
        return replace(self, scale=2.0 * self.scale).build_usual(arms, address)

    def build_usual(self, arms, address):
        return super().build(arms, address)


def test_a_recipe_of_one_s_own() -> None:
    own = theory.measure(Doubled(size=50, scale=0.5), EVEN, 30, runs=5)
    same = theory.measure(es.EnsembleSampling(size=50, scale=1.0), EVEN, 30, runs=5)
    assert own.gamma == same.gamma and own.p == same.p


@pytest.mark.parametrize(
    "problem",
    [es.problem("ball", dim=3), es.problem("contextual", dim=3, arms=4)],
    ids=["ball", "changing"],
)
def test_other_arms(problem: es.Family) -> None:
    for recipe in (es.EnsembleSampling(size=20, scale=2.0), es.ThompsonSampling(2.0)):
        found = theory.measure(recipe, problem, 20, runs=2, redraws=20)
        assert found.gamma > 0.0 and 0.0 < found.typical_p <= 1.0


def test_where_the_theorem_does_not_apply_there_is_no_bound() -> None:
    assert theory.measure(es.LinUCB(3.0, regularization=0.5), EVEN, 10, runs=1).bound is None


def test_progress_and_the_same_numbers_again() -> None:
    seen: list[tuple[int, int]] = []
    first = theory.measure(
        es.EnsembleSampling(),
        EVEN,
        10,
        runs=3,
        seed=4,
        progress=lambda done, all: seen.append((done, all)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)] and first == theory.measure(
        es.EnsembleSampling(), EVEN, 10, runs=3, seed=4
    )


def test_bad_input_is_named() -> None:
    for name, arguments in {
        "recipe": ("LinUCB", EVEN, 10),
        "problem": (es.LinUCB(), "sphere", 10),
        "horizon": (es.LinUCB(), EVEN, 0),
        "runs": (es.LinUCB(), EVEN, 10, 0),
        "delta": (es.LinUCB(), EVEN, 10, 1, 0, 0.0),
    }.items():
        with pytest.raises(es.InvalidArgument, match=rf"^{name} = "):
            theory.measure(*arguments)
    with pytest.raises(es.InvalidArgument, match="linear problem"):
        theory.measure(es.LinUCB(), es.ShiftedProblem(ARMS, [0.6, 0.3], 0.2, 5.0), 10)
    with pytest.raises(es.InvalidArgument, match="without an intercept"):
        theory.measure(es.EnsembleSampling(intercept=True), EVEN, 10)


def test_a_model_without_estimates_is_named_before_anything_is_played() -> None:
    done: list[int] = []
    with pytest.raises(
        es.InvalidArgument, match=r"^recipe = .* `estimates`.*; NetworkEnsemble has none$"
    ):
        theory.measure(
            es.EnsembleSampling(3, model=es.Neural(hidden=(4,))),
            EVEN,
            10,
            progress=lambda one, all: done.append(one),
        )
    assert not done


def test_the_theory_does_not_load_what_is_above_it() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'mesure'"):
        _ = theory.mesure
