"""from_theorem prescribes the constants of Theorem 1 and the Corollary, and holds users to their assumptions."""

from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from ensample import theory

SETTING = es.Setting(dim=3, arms=4, horizon=1000, noise=0.5, norm=1.0, regularization=4.0)
UNIT = np.vstack([np.eye(3), np.ones(3) / 3**0.5])


def test_theorem_one() -> None:
    recipe = es.EnsembleSampling.from_theorem(SETTING)
    beta = theory.radius(SETTING)
    assert recipe.size == theory.ensemble_size(SETTING)
    assert recipe.regularization == 4.0
    assert recipe.member == es.UniformMember()
    assert recipe.scale == beta
    assert recipe.reward_law == es.Gaussian(beta) and recipe.initial_law == es.Gaussian(2 * beta)


def test_the_corollary() -> None:
    recipe = es.PerturbedHistory.from_theorem(replace(SETTING, arms=None))
    beta = theory.radius(SETTING)
    assert recipe.reward_law == es.Gaussian(beta) and recipe.initial_law == es.Gaussian(2 * beta)


def test_other_laws_are_three_times_as_wide() -> None:
    recipe = es.EnsembleSampling.from_theorem(SETTING, es.Rademacher(0.123))
    assert recipe.reward_law == es.Rademacher(3 * theory.radius(SETTING) / 1.0)
    assert recipe.size == theory.ensemble_size(SETTING, es.Rademacher())


def test_the_optimistic_rule() -> None:
    recipe = es.EnsembleSampling.from_theorem(SETTING, member=es.OptimisticMember())
    assert recipe.size == theory.optimistic_size(SETTING) and recipe.member == es.OptimisticMember()


def test_the_sharper_sizes() -> None:
    for law in (es.Gaussian(), es.Rademacher()):
        recipe = es.EnsembleSampling.from_theorem(SETTING, law, sharp=True)
        assert recipe == replace(
            es.EnsembleSampling.from_theorem(SETTING, law),
            size=theory.sharp_size(SETTING, None, law),
        )
    recipe = es.EnsembleSampling.from_theorem(SETTING, member=es.OptimisticMember(), sharp=True)
    assert recipe.size == theory.sharp_optimistic_size(SETTING)
    with pytest.raises(es.InvalidArgument, match=r"^sharp = "):
        es.EnsembleSampling.from_theorem(SETTING, sharp="yes")


@pytest.mark.parametrize(
    ("perturbation", "member"),
    [(es.Gaussian(), es.RoundRobin()), (es.Gaussian(), lambda t, m, rng: 0)],
)
def test_no_theorem_for_other_rules(perturbation, member) -> None:
    with pytest.raises(es.AssumptionError, match="UniformMember"):
        es.EnsembleSampling.from_theorem(SETTING, perturbation, member)


def test_the_optimistic_rule_is_for_gaussian_laws() -> None:
    with pytest.raises(es.AssumptionError, match="Gaussian perturbations"):
        es.EnsembleSampling.from_theorem(SETTING, es.Rademacher(), es.OptimisticMember())


@pytest.mark.parametrize(
    ("arms", "assumption"),
    [
        (es.FiniteArms(1.01 * UNIT), "norm <= 1"),
        (es.FiniteArms(np.vstack([UNIT, UNIT])), "at most 4 arms"),
        (es.FiniteArms(np.eye(2)), "dim 3"),
        (es.UnitBall(3), "at most 4 arms"),
        (es.ChangingArms(3), "one set of arms"),
    ],
)
def test_arms_outside_the_assumptions(arms: es.Arms, assumption: str) -> None:
    with pytest.raises(es.AssumptionError, match=assumption):
        es.EnsembleSampling.from_theorem(SETTING).start(arms)
    es.EnsembleSampling(size=3).start(arms)  # the plain algorithm does not care


def test_theorem_one_has_one_set_of_arms() -> None:
    policy = es.EnsembleSampling.from_theorem(SETTING, sharp=True).start(es.FiniteArms(UNIT))
    policy.update(policy.decide(), 1.0)
    with pytest.raises(es.AssumptionError, match="one set of arms"):
        policy.decide(UNIT)


@pytest.mark.parametrize("kind", [es.PerturbedHistory, es.LinUCB])
def test_the_corollary_and_linucb_let_arms_change(kind: type) -> None:
    """Predictably; every round's arms are of norm <= 1 too."""
    recipe = kind.from_theorem(SETTING)
    for arms in (es.ChangingArms(3), es.FiniteArms(UNIT)):
        policy = recipe.start(arms)
        policy.update(policy.decide(UNIT[:2]), 1.0)
        with pytest.raises(es.AssumptionError, match=r"norm <= 1; here the largest norm is 1\.5"):
            policy.decide(1.5 * UNIT)
        assert policy.round == 1 and policy.decide(-UNIT).round == 1
    with pytest.raises(es.AssumptionError, match="dim 3"):
        recipe.start(es.ChangingArms(4))
    with pytest.raises(es.AssumptionError, match="one set of arms"):
        es.ThompsonSampling.from_theorem(SETTING).start(es.ChangingArms(3))


@pytest.mark.parametrize("kind", [es.PerturbedHistory, es.LinUCB])
def test_what_is_proved_holds_where_arms_change(kind: type) -> None:
    """Simulated at the theorem's constants: the regret to each round's best arm is below the bound in every run."""
    problem = es.problem("contextual", dim=3, arms=4, noise=0.5)
    setting = es.setting_of(problem, 500)
    recipe = kind.from_theorem(setting)
    way = "auto" if kind is es.PerturbedHistory else "live"
    runs = es.simulate(recipe, problem, 500, 5, seed=1, evaluation=way)
    assert 0.0 < runs.regret[:, -1].max() < recipe.guarantee(setting).bound


def test_recipes_are_values() -> None:
    assert es.EnsembleSampling(size=10) == es.EnsembleSampling(
        10, "auto", "auto", None, None, es.UniformMember()
    )
    assert hash(es.EnsembleSampling(size=10)) == hash(es.EnsembleSampling(size=10))
    with pytest.raises(AttributeError):
        es.EnsembleSampling(size=10).size = 3
