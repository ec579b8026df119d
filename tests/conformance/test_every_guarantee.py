"""What recipes say is proved of them."""

from dataclasses import dataclass, replace

import pytest

import ensample as es
from ensample.registry import public_classes

SETTING = es.Setting(
    dim=3, arms=8, horizon=500, noise=0.5, norm=1.0, regularization=2.0, delta=0.02
)
RECIPES = public_classes(es.Recipe)
theory = es.theory
PROVED = {  # recipe: bound, multiple of delta, theorem
    "Theorem 1": (es.EnsembleSampling.from_theorem(SETTING), theory.theorem_bound(SETTING), 4),
    "Theorem 1, signs": (
        es.EnsembleSampling.from_theorem(SETTING, es.Rademacher()),
        theory.theorem_bound(SETTING, es.Rademacher()),
        4,
    ),
    "the optimistic member rule": (
        es.EnsembleSampling.from_theorem(SETTING, member=es.OptimisticMember()),
        theory.optimistic_bound(SETTING),
        3,
    ),
    "Theorem 1 with the sharper size": (
        es.EnsembleSampling.from_theorem(SETTING, sharp=True),
        theory.theorem_bound(SETTING),
        4,
    ),
    "Theorem 1 with the sharper size, signs": (
        es.EnsembleSampling.from_theorem(SETTING, es.Rademacher(), sharp=True),
        theory.theorem_bound(SETTING, es.Rademacher()),
        4,
    ),
    "the optimistic member rule, fewer": (
        es.EnsembleSampling.from_theorem(SETTING, member=es.OptimisticMember(), sharp=True),
        theory.optimistic_bound(SETTING, theory.sharp_optimistic_size(SETTING)),
        3,
    ),
    "the Corollary for LinPHE": (
        es.PerturbedHistory.from_theorem(SETTING),
        theory.phe_bound(SETTING),
        3,
    ),
    "the general theorem for LinUCB": (
        es.LinUCB.from_theorem(SETTING),
        theory.ucb_bound(SETTING),
        2,
    ),
    "the general theorem for LinUCB, constant": (
        es.LinUCB(theory.radius(SETTING), regularization=2.0),
        theory.ucb_bound(SETTING),
        2,
    ),
}


def at_home(name: str) -> es.Recipe:
    """A recipe of each kind, at the constants of its theorem where it has one."""
    kind = RECIPES[name]
    if hasattr(kind, "from_theorem"):
        return kind.from_theorem(replace(SETTING, regularization=100.0, noise=1.0))
    return kind(size=7) if "size" in kind.__dataclass_fields__ else kind()


@pytest.mark.parametrize("name", PROVED)
def test_at_the_constants_of_a_theorem_there_is_its_bound(name: str) -> None:
    recipe, bound, failures = PROVED[name]
    found = recipe.guarantee(SETTING)
    assert found == es.Guarantee(bound, 1.0 - failures * SETTING.delta, name.partition(", ")[0])
    hash(found)


@pytest.mark.parametrize("name", PROVED)
@pytest.mark.parametrize(
    "change",
    [{"horizon": 501}, {"noise": 0.6}, {"norm": 1.1}, {"regularization": 3.0}, {"delta": 0.01}],
)
def test_at_others_there_is_none(name: str, change: dict[str, float]) -> None:
    recipe, _, _ = PROVED[name]
    if "LinUCB" in name and "constant" not in name and "horizon" in change:
        assert recipe.guarantee(replace(SETTING, **change)).theorem, "its radius knows no horizon"
        return
    with pytest.raises(es.AssumptionError):
        recipe.guarantee(replace(SETTING, **change))


def test_theorem_one_with_more_members() -> None:
    recipe = PROVED["Theorem 1"][0]
    assert replace(recipe, size=recipe.size + 1).guarantee(SETTING) == recipe.guarantee(SETTING)
    assert (
        replace(recipe, size=recipe.size - 1).guarantee(SETTING).theorem
        == "Theorem 1 with the sharper size"
    )


def test_fewer_members_are_worth_a_smaller_share() -> None:
    recipe = PROVED["Theorem 1 with the sharper size"][0]
    bounds = [
        replace(recipe, size=round(f * recipe.size)).guarantee(SETTING).bound
        for f in (0.8, 1.0, 3.0)
    ]
    assert bounds[0] > bounds[1] > bounds[2]
    for row in theory.frontier(SETTING):
        if row.size < theory.ensemble_size(SETTING):
            assert replace(recipe, size=row.size).guarantee(SETTING).bound <= row.bound
    least = theory.sharp_size(SETTING, theory.P_N / 400)
    replace(recipe, size=least).guarantee(SETTING)
    with pytest.raises(
        es.AssumptionError, match=f"assumes at least {least:,} members; here size = {least - 1:,}"
    ):
        replace(recipe, size=least - 1).guarantee(SETTING)


def test_the_optimistic_rule_pays_for_more_members_and_needs_some() -> None:
    recipe = PROVED["the optimistic member rule, fewer"][0]
    assert (
        replace(recipe, size=10 * recipe.size).guarantee(SETTING).bound
        > recipe.guarantee(SETTING).bound
    )
    with pytest.raises(
        es.AssumptionError,
        match=f"assumes at least {recipe.size:,} members; here size = {recipe.size - 1:,}",
    ):
        replace(recipe, size=recipe.size - 1).guarantee(SETTING)


@pytest.mark.parametrize(
    "name", ["Theorem 1", "Theorem 1 with the sharper size", "the optimistic member rule"]
)
def test_other_rules_and_laws_have_no_guarantee(name: str) -> None:
    recipe = PROVED[name][0]
    with pytest.raises(es.AssumptionError):
        replace(recipe, member=es.RoundRobin()).guarantee(SETTING)
    with pytest.raises(es.AssumptionError):
        replace(recipe, initial=es.Gaussian(0.1)).guarantee(SETTING)


@pytest.mark.parametrize("name", RECIPES)
def test_a_guarantee_or_a_reason(name: str) -> None:
    recipe = at_home(name)
    setting = recipe.setting or SETTING
    try:
        found = recipe.guarantee(setting)
    except es.AssumptionError as error:
        assert name not in ("EnsembleSampling", "PerturbedHistory", "LinUCB") and name in str(error)
    else:
        assert found.bound > 0.0 and 0.0 < found.probability < 1.0 and found.theorem
    with pytest.raises(es.WrongType, match=r"^setting = "):
        recipe.guarantee("sphere")


@dataclass(frozen=True)
class Calm(es.EnsembleSampling):
    """Plays otherwise than its parent."""


def test_a_subclass_inherits_no_theorem() -> None:
    with pytest.raises(es.AssumptionError, match="Calm"):
        Calm.from_theorem(SETTING).guarantee(SETTING)


def test_no_theorem_says_anything_for_a_large_delta() -> None:
    for name in ("Theorem 1", "the Corollary for LinPHE", "the general theorem for LinUCB"):
        with pytest.raises(es.AssumptionError, match=r"delta < 0\.|it holds with probability"):
            PROVED[name][0].guarantee(replace(SETTING, delta=0.6))


def test_a_setting_covers_what_is_no_harder() -> None:
    easier = {"arms": 7, "noise": 0.4, "norm": 0.9}
    assert SETTING.covers(SETTING) and all(
        SETTING.covers(replace(SETTING, **{key: easier[key]})) for key in easier
    )
    assert replace(SETTING, arms=None).covers(SETTING) and not SETTING.covers(
        replace(SETTING, arms=None)
    )
    for change in ({"arms": 9}, {"noise": 0.6}, {"norm": 1.1}, {"dim": 2}, {"horizon": 499}):
        assert not SETTING.covers(replace(SETTING, **change))
