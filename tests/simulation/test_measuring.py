"""theory.measure: gamma and p where both are known, by the members themselves, and of one's own."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import ensample as es
from ensample import theory

ES = es.EnsembleSampling
PROBLEM = es.problem("sphere", dim=3, arms=6, noise=0.3)
SETTING = es.setting_of(PROBLEM, 100)
ARMS = es.FiniteArms(np.eye(2))
EVEN = es.LinearProblem(ARMS, [0.6, 0.3], 0.2)


def test_linucb_at_its_theorem_is_optimistic_and_within_twice_its_radius() -> None:
    found = theory.measure(es.LinUCB.from_theorem(SETTING), PROBLEM, 100, runs=5)
    assert found.p == found.typical_p == 1.0 and found.gamma <= 2 * theory.radius(SETTING)
    assert found.bound == theory.regret_bound(found.gamma, 1.0, found.setting)
    assert found.bound <= theory.ucb_bound(SETTING) and 0 < found.regret < found.bound
    assert found.setting == SETTING and found.runs == 5


def test_greedy_is_not_optimistic() -> None:
    found = theory.measure(es.Greedy(1.0), PROBLEM, 100, runs=5)
    assert found.p == 0.0 and found.bound == np.inf


def test_members_and_redraws_are_counted() -> None:
    """In the first round max of two N(0, 2^2) >= 0.6: 1 - Phi(0.3)^2 = 0.6183."""
    found = theory.measure(ES(size=400, scale=2.0), EVEN, 1, runs=3)
    assert found.typical_p == pytest.approx(0.618, abs=0.1) and 0.5 < found.p <= found.typical_p
    wide, narrow = (
        theory.measure(es.PerturbedHistory(scale=scale), EVEN, 1, runs=3, redraws=4000)
        for scale in (2.0, 0.5)
    )
    assert wide.typical_p == pytest.approx(0.618, abs=0.05)
    assert narrow.typical_p < 0.3, "negative control"


def by_hand(recipe: es.Recipe, rounds: int, seed: int) -> tuple[list[float], list[float]]:
    """Return (errors, optimism) of every round, from what a policy shows of itself."""
    policy, noise = recipe.start(EVEN.arms, seed), np.random.default_rng(seed)
    errors, shares = [], []
    for _ in range(rounds):
        thetas, V = policy.estimates, policy.gram
        decision = policy.decide()
        gap = thetas[decision.member] - EVEN.theta
        errors.append(np.sqrt(gap @ V @ gap))
        shares.append(np.mean((thetas @ ARMS.features.T).max(axis=1) >= EVEN.best_mean()))
        policy.update(decision, EVEN.reward(decision.features, noise))
    return errors, shares


def test_medians_are_those_of_runs_by_hand() -> None:
    recipe = ES(size=50, scale=0.5)
    found = theory.measure(recipe, EVEN, 60, runs=30, moments=10_000)
    errors, shares = np.median([by_hand(recipe, 60, seed) for seed in range(30)], axis=(0, 2))
    assert found.typical_gamma == pytest.approx(errors, rel=0.25)
    assert found.typical_p == pytest.approx(shares, abs=0.12)


def test_member_rules_weigh_members() -> None:
    recipe = ES.from_theorem(SETTING, member=es.OptimisticMember(), sharp=True)
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


def test_recipe_of_ones_own_is_measured() -> None:
    own = theory.measure(Doubled(size=50, scale=0.5), EVEN, 30, runs=5)
    same = theory.measure(ES(size=50, scale=1.0), EVEN, 30, runs=5)
    assert own.gamma == same.gamma and own.p == same.p


@pytest.mark.parametrize("name", ["ball", "contextual"])
@pytest.mark.parametrize("recipe", [ES(size=20, scale=2.0), es.ThompsonSampling(2.0)], ids=repr)
def test_other_arms_are_measured(name: str, recipe: es.Recipe) -> None:
    found = theory.measure(recipe, es.problem(name, dim=3), 20, runs=2, redraws=20)
    assert found.gamma > 0.0 and 0.0 < found.typical_p <= 1.0


def test_no_bound_where_the_theorem_does_not_apply() -> None:
    assert theory.measure(es.LinUCB(3.0, regularization=0.5), EVEN, 10, runs=1).bound is None


def test_progress_is_called_and_numbers_are_the_same_again() -> None:
    seen: list[tuple[int, int]] = []
    options = {"runs": 3, "seed": 4}
    first = theory.measure(ES(), EVEN, 10, **options, progress=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert first == theory.measure(ES(), EVEN, 10, **options)


NETWORKS = ES(3, model=es.Neural(hidden=(4,)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("LinUCB", EVEN, 10), "recipe = "),
        ((es.LinUCB(), "sphere", 10), "problem = "),
        ((es.LinUCB(), EVEN, 0), "horizon = "),
        ((es.LinUCB(), EVEN, 10, 0), "runs = "),
        ((es.LinUCB(), EVEN, 10, 1, 0, 0.0), "delta = "),
        ((es.LinUCB(), es.ShiftedProblem(ARMS, [0.6, 0.3], 0.2, 5.0), 10), ".*linear problem"),
        ((ES(intercept=True), EVEN, 10), ".*without an intercept"),
        ((NETWORKS, EVEN, 10), r"recipe = .* `estimates`.*; NetworkEnsemble has none$"),
    ],
)
def test_what_cannot_be_measured_is_named_before_anything_is_played(
    arguments: tuple[object, ...], said: str
) -> None:
    seen: list[object] = []
    with pytest.raises(es.InvalidArgument, match=f"^{said}"):
        theory.measure(*arguments, progress=lambda *done: seen.append(done))
    assert not seen


def test_theory_does_not_load_what_is_above_it() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'mesure'"):
        _ = theory.mesure
