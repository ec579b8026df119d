"""The field `model`: what it takes, what it makes, and that Linear() is what there always was."""

import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import ensample as es
from conformance.policies import FEATURES, fingerprint, play
from ensample.cli.policies import build
from ensample.codec import describe, rebuild
from ensample.models import LinearEnsemble
from ensample.models.base import EnsemblePlan
from ensample.simulation.dispatch import KERNELS

SETTING = es.Setting(dim=3, arms=7, horizon=100, noise=1, norm=1)
GIVEN = [
    es.EnsembleSampling(12),
    es.EnsembleSampling(12, fresh=False),
    es.EnsembleSampling(12, 0.5),
    es.EnsembleSampling(12, intercept=True),
    es.EnsembleSampling(12, intercept=True, fresh=False),
    es.EnsembleSampling(12, 0.5, initial=es.Sphere(0.5), reward=es.Rademacher(0.5), half_life=6),
]


@dataclass(frozen=True)
class Doubled(es.RewardModel):
    """A model of one's own: rewards are taken twice."""

    times: float = 2.0

    def check(self, plan: EnsemblePlan) -> None:
        if plan.intercept:
            raise es.InvalidArgument("intercept", True, "False with Doubled()")

    def ensemble(self, plan, arms, address) -> LinearEnsemble:
        made = LinearEnsemble(plan, arms.dim, 1.0, address)
        learn, times = made.learn, self.times
        made.learn = lambda round, arm, x, y: learn(round, arm, x, times * y)  # type: ignore[method-assign]
        return made


@pytest.mark.parametrize("recipe", GIVEN, ids=repr)
def test_linear_is_what_every_recipe_fits_unless_told_otherwise(recipe: es.Recipe) -> None:
    arms = es.FiniteArms(FEATURES)
    plain, told = recipe.start(arms, 3), replace(recipe, model=es.Linear()).start(arms, 3)
    assert play(plain, 30) == play(told, 30) and fingerprint(plain) == fingerprint(told)


def test_a_model_is_part_of_a_recipe_wherever_recipes_are_told(tmp_path) -> None:
    recipe = es.EnsembleSampling(4, 0.5, model=es.Linear())
    assert recipe == es.EnsembleSampling(4, 0.5)
    assert hash(recipe) == hash(es.EnsembleSampling(4, 0.5))
    assert describe(recipe)["model"] == {"kind": "Linear"} and rebuild(describe(recipe)) == recipe
    assert build("EnsembleSampling(4, 0.5, model=Linear())", SETTING) == recipe
    study = es.Study(
        name="s",
        horizon=5,
        problem="sphere",
        policy={"recipe": "EnsembleSampling", "model": "Linear"},
    )
    assert study.cells[0].recipe == es.EnsembleSampling()
    mine = es.EnsembleSampling(4, 0.5, model=Doubled(3.0))
    assert repr(mine.model) in repr(mine) and rebuild(describe(mine)) == mine
    asked = es.Study(
        name="s", horizon=5, evaluation="live", problem="sphere", policy={"recipe": mine}
    )
    assert es.Study(**asked.describe()).cells[0].recipe == mine
    policy = mine.start(es.FiniteArms(FEATURES))
    play(policy, 10)
    policy.save(tmp_path / "snapshot")
    assert sys.modules[Doubled.__module__]
    rewards = policy.log().reward
    np.testing.assert_allclose(
        policy.model.parts.target, 3.0 * rewards @ policy.log().features, rtol=1e-12
    )


def test_what_is_no_model_is_refused() -> None:
    for wrong in ("Linear", es.Linear, None, 3, es.EnsembleSampling()):
        with pytest.raises(es.WrongType, match=r"^model = .*expected a model such as Linear\(\)"):
            es.EnsembleSampling(model=wrong)  # type: ignore[arg-type]
    with pytest.raises(
        es.InvalidArgument, match=r"^intercept = True: expected False with Doubled\(\)"
    ):
        es.EnsembleSampling(model=Doubled(), intercept=True)


def test_theorems_are_about_linear_models() -> None:
    prescribed = es.EnsembleSampling.from_theorem(SETTING)
    with pytest.raises(es.AssumptionError, match="Linear"):
        replace(prescribed, model=Doubled())
    with pytest.raises(es.AssumptionError):
        replace(prescribed, setting=None, model=Doubled()).guarantee(SETTING)
    assert replace(prescribed, setting=None).guarantee(SETTING) == prescribed.guarantee(SETTING)


def test_a_kernel_simulates_one_kind_of_model() -> None:
    kernels = [
        kernel
        for (kind, _), there in KERNELS.items()
        if kind is es.EnsembleSampling
        for kernel in there
    ]
    linear = [kernel for kernel in kernels if kernel.model is es.Linear]
    assert linear
    assert all(
        "Doubled" in kernel.why_not(es.EnsembleSampling(model=Doubled())) for kernel in kernels
    )
    assert any(not kernel.why_not(es.EnsembleSampling()) for kernel in linear)
    with pytest.warns(es.LiveSimulationWarning, match=r"does not know model=Doubled\(times=2.5\)"):
        runs = es.simulate(
            es.EnsembleSampling(4, 0.3, model=Doubled(2.5)), es.problem("sphere", dim=2, arms=3), 5
        )
    assert runs.evaluation == "live"
