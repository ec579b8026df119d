"""Kernels are found by exact type, and a warning says when there is none."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ensample as es
from ensample.problems import Noise
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation import dispatch
from ensample.simulation.dispatch import KERNELS, Evaluation, plays, simulates
from ensample.simulation.kernels import MEMBERS, stored_options

FAMILY = es.problem("sphere", dim=3, arms=5, noise=0.4)
ARMS = es.FiniteArms(np.eye(2))


@pytest.fixture(autouse=True)
def _nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "WARNED", set())


@dataclass(frozen=True)
class FirstArm(es.Recipe):
    """A recipe of the user's own that plays one arm for good."""

    regularization: float = 1.0
    scale = 0.0

    def build(self, arms, address):
        return es.EnsembleSampling(1, 0.0, initial=es.Gaussian(0.0), reward=es.Gaussian(0.0)).build(
            arms, address
        )


@dataclass(frozen=True)
class Calm(es.EnsembleSampling):
    """Plays otherwise than its parent: at a tenth of the scale."""

    def build(self, arms, address):
        return es.EnsembleSampling(self.size, self.scale / 10).build(arms, address)


@dataclass(frozen=True)
class Plain(es.EnsembleSampling):
    """Plays as its parent does."""


@dataclass(frozen=True)
class Doubled(es.Gaussian):
    """Draws otherwise than its parent."""

    def draw(self, rng, shape):
        return 2.0 * super().draw(rng, shape)


@dataclass(frozen=True)
class Shifted(es.GaussianNoise):
    """Draws otherwise than its parent."""

    def draw(self, mean, spread, rng):
        return super().draw(mean, spread, rng) - 10.0


@dataclass(frozen=True)
class Silent(Noise):
    """A noise of the user's own."""

    subgaussian = 0.0

    def spreads(self, means):
        return np.zeros_like(means)

    def draw(self, mean, spread, rng):
        return mean


class Stubborn(es.LinearProblem):
    """Answers otherwise than its parent."""

    def reward(self, x, rng):
        return 1.0


def first_member(round, size, rng):
    return 0


ES = es.EnsembleSampling
OWN_NOISE, OTHER_NOISE = (
    es.LinearProblem(ARMS, [0.2, 0.4], noise) for noise in (Silent(), Shifted(0.1))
)
OTHER_PROBLEM, BOX = Stubborn(ARMS, [0.2, 0.4], 0.1), es.Box([0.0], [1.0])
BALL, OTHER_LAW = es.problem("ball", dim=2), ES(5, 0.4, reward=Doubled(0.4))
UNKNOWN: dict[str, tuple[es.Recipe, es.Problem | es.Family, str]] = {
    "a recipe": (FirstArm(), FAMILY, "no kernel simulates FirstArm on FiniteArms"),
    "a subclass of a recipe": (Calm(5, 0.4), FAMILY, "no kernel simulates Calm on FiniteArms"),
    "a law": (OTHER_LAW, FAMILY, "EnsembleSampling: kernels do not know the law Doubled"),
    "a law of LinPHE": (es.PerturbedHistory(0.4, reward=Doubled(0.4)), BALL, "the law Doubled"),
    "a member rule": (ES(5, 0.4, member=first_member), FAMILY, "first_member"),
    "a noise": (es.Greedy(), OWN_NOISE, "FiniteArms and Silent, which kernels do not know"),
    "a subclass of a noise": (es.Greedy(), OTHER_NOISE, "FiniteArms and Shifted"),
    "a subclass of a problem": (es.Greedy(), OTHER_PROBLEM, "Greedy on Stubborn with FiniteArms"),
    "arms": (es.Greedy(), es.LinearProblem(BOX, [0.2], 0.1), "Greedy on LinearProblem with Box"),
    "a built-in recipe on moving arms": (
        *(es.LinUCB(), es.problem("contextual", dim=2)),
        "no kernel simulates LinUCB on ChangingArms",
    ),
    "a built-in law on moving arms": (
        *(es.PerturbedHistory(0.4, reward=es.Rademacher(0.4)), BALL),
        "without standing arms Rademacher",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_recipe_without_a_kernel_is_simulated_live_with_one_warning(case: str) -> None:
    recipe, problem, reason = UNKNOWN[case]
    live = es.simulate(recipe, problem, 12, 6, evaluation="live")  # asked for: no warning
    with pytest.warns(es.LiveSimulationWarning) as warnings_:
        auto = es.simulate(recipe, problem, 12, 6, threads=2)
        es.simulate(recipe, problem, 12, 1)
    (message,) = (str(warning.message) for warning in warnings_)
    assert reason in message and "a hundred times slower" in message and "\n" not in message
    assert auto.evaluation == "live"
    np.testing.assert_array_equal(auto.regret, live.regret)
    said = r"^evaluation = .*expected 'auto' or one of 'live' for "
    for way in ("lazy", "eager"):
        with pytest.raises(es.InvalidArgument, match=said):
            es.simulate(recipe, problem, 12, evaluation=way)


PLAIN = es.LinearProblem(ARMS, [0.2, 0.4], 0.1)


@pytest.mark.parametrize(
    ("other", "parent"),
    [
        ((Calm(5, 0.4), FAMILY), (ES(5, 0.4), FAMILY)),
        ((OTHER_LAW, FAMILY), (ES(5, 0.4), FAMILY)),
        ((es.Greedy(), OTHER_NOISE), (es.Greedy(), PLAIN)),
        ((es.Greedy(), OTHER_PROBLEM), (es.Greedy(), PLAIN)),
    ],
    ids=["recipe", "law", "noise", "problem"],
)
def test_what_kernels_do_not_know_differs_from_its_parent(
    other: tuple[Any, Any], parent: tuple[Any, Any]
) -> None:
    """Negative control: the parents' kernels would play otherwise."""
    ours, theirs = (
        es.simulate(*each, 100, 20, evaluation="live").regret for each in (other, parent)
    )
    assert not np.array_equal(ours, theirs)


def test_kernel_can_be_registered_for_a_type_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, (Plain, FiniteProblem), [])
    simulate = plays("lazy_ensemble", stored_options, *MEMBERS)
    simulates(Plain, FiniteProblem, Evaluation.LAZY)(simulate)
    own, parent = (es.simulate(each, FAMILY, 50, 4) for each in (Plain(5, 0.4), ES(5, 0.4)))
    assert own.evaluation == "lazy"
    np.testing.assert_array_equal(own.regret, parent.regret)


def test_every_recipe_of_ours_has_a_kernel_on_finite_arms() -> None:
    ours = {getattr(es, name) for name in es.__all__ if isinstance(getattr(es, name), type)}
    recipes = {kind for kind in ours if issubclass(kind, es.Recipe) and kind is not es.Recipe}
    assert recipes == {recipe for recipe, place in KERNELS if place is FiniteProblem}
    assert {recipe for recipe, place in KERNELS if place is ContextualProblem} == {
        es.EnsembleSampling,
        es.PerturbedHistory,
        es.ThompsonSampling,
    }


def test_a_warning_may_be_silenced_by_its_category() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", es.LiveSimulationWarning)
        assert es.simulate(FirstArm(), FAMILY, 5).evaluation == "live"
