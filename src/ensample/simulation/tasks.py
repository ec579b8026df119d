"""What there is to compile: every simulation that has a kernel and every live policy, each small enough to be over at once."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ensample.arms import Arms, ChangingArms, FiniteArms, UnitBall
from ensample.errors import EnsampleError
from ensample.kernels.interpreted import compiled_at_once
from ensample.kernels.machine_code import is_noted, note
from ensample.members import OptimisticMember
from ensample.models import Linear, Logistic
from ensample.models.neural import Neural, Trained
from ensample.models.search import Screen
from ensample.perturbations import Gaussian, Uniform
from ensample.policies import EnsembleSampling, InformationDirected, LinUCB, PerturbedHistory, Recipe, ThompsonSampling
from ensample.problems import Family, Problem, problem
from ensample.registry import kinds
from ensample.simulation.dispatch import KERNELS, Evaluation
from ensample.simulation.simulate import simulate

__all__ = ["do", "live_name", "names", "needed", "waiting"]

SIZE = 3
OTHERS: tuple[Recipe, ...] = (
    EnsembleSampling(SIZE, fresh=False),
    InformationDirected(SIZE, fresh=True),
    EnsembleSampling(SIZE, member=OptimisticMember()),
    PerturbedHistory(reward=Uniform(1.0)),
    EnsembleSampling(SIZE, model=Logistic()),
    EnsembleSampling(SIZE, model=Logistic(), fresh=False),
    EnsembleSampling(SIZE, model=Logistic("exact")),
    ThompsonSampling(model=Logistic()),
)
"""Those whose kernels differ by more than the type of the recipe."""


def trained_by(recipe: Recipe, optimizer: str) -> bool:
    return isinstance(recipe.model, Trained) and recipe.model.optimizer == optimizer


def forgets(recipe: Recipe, kind: type[Recipe]) -> bool:
    return isinstance(recipe, kind) and recipe.half_life is not None


class Variety(NamedTuple):
    """Recipes whose live policies have kernels that others of their type have not."""

    name: str
    of: Callable[[Recipe], bool]
    example: Recipe


VARIETIES = (
    Variety("with an intercept", lambda recipe: recipe.intercept, EnsembleSampling(SIZE, intercept=True)),
    Variety("with an intercept", lambda recipe: recipe.intercept, EnsembleSampling(SIZE, intercept=True, fresh=False)),
    Variety("that forgets", lambda recipe: forgets(recipe, EnsembleSampling), EnsembleSampling(SIZE, half_life=9.0)),
    Variety(
        "that forgets", lambda recipe: forgets(recipe, EnsembleSampling), EnsembleSampling(SIZE, half_life=9.0, fresh=False)
    ),
    Variety("that forgets", lambda recipe: forgets(recipe, LinUCB), LinUCB(half_life=9.0)),
    Variety(
        "of a known scale",
        lambda recipe: isinstance(recipe, ThompsonSampling) and not recipe.calibrates and recipe.half_life is None,
        ThompsonSampling(scale=1.0),
    ),
    Variety("of networks", lambda recipe: trained_by(recipe, "adam"), EnsembleSampling(SIZE, model=Neural((2,)))),
    Variety(
        "of networks, by gradient descent",
        lambda recipe: trained_by(recipe, "sgd"),
        EnsembleSampling(SIZE, model=Neural((2,), optimizer="sgd")),
    ),
)


@cache
def recipes() -> list[Recipe]:
    """One of each kind of ours, and the others."""
    usual = (kind(SIZE) if "size" in kind.__dataclass_fields__ else kind() for kind in kinds(Recipe).values())
    return [*usual, *OTHERS]


@cache
def tasks() -> dict[str, Callable[[], object]]:
    """By name, what takes longest first; neighbours share kernels, so who does several takes them in a row (`warming`)."""
    simulated = dict(simulations())
    alive = [*recipes(), *(variety.example for variety in VARIETIES)]
    return simulated | {live_name(recipe): partial(play, recipe) for recipe in alive} | {"very many arms": search}


def simulations() -> Iterator[tuple[str, Callable[[], object]]]:
    for of_numbers, of_clicks in (("sphere", "logistic"), ("contextual", "clicks")):
        for recipe in recipes():
            family = problem(of_numbers if recipe.model.reward_range[1] == math.inf else of_clicks, dim=2, arms=3)
            for name, way in ways(recipe, family).items():
                yield name, partial(simulate, recipe, family, horizon=1, threads=1, evaluation=way)


def ways(recipe: Recipe, where: Problem | Family) -> dict[str, str]:
    """What kernels can simulate, by the name of the task that compiles it: the fastest first."""
    place = (where.draw(np.random.default_rng(0)) if isinstance(where, Family) else where).place()
    able = {kernel.way for kernel in KERNELS.get((type(recipe), type(place)), []) if not kernel.obstacle(recipe)}
    summed = isinstance(recipe, PerturbedHistory) and type(recipe.reward_law) is not Gaussian
    what = f"{described(recipe)} on a {type(place).__name__}{', sums' if summed else ''}"
    return {f"{way.value} {what}": way.value for way in Evaluation if way in able}


def needed(recipe: Recipe, where: Problem | Family) -> str:
    """The name of the task after which `simulate` finds all that it needs."""
    return next(iter(ways(recipe, where)), live_name(recipe))


def live_name(recipe: Recipe) -> str:
    special = next((f" {variety.name}" for variety in VARIETIES if variety.of(recipe)), "")
    return f"live {described(recipe)}{special}"


def described(recipe: Recipe) -> str:
    """Return the type of a recipe, its model if that is not linear, and "drawn anew" if its members are."""
    name = type(recipe).__name__ + (" drawn anew" if getattr(recipe, "draws_fresh", False) else "")
    return name if isinstance(recipe.model, Linear) else f"{name}, {recipe.model!r}"


def play(recipe: Recipe) -> None:
    """Two rounds of the live policy on each kind of arms that it takes, and all that one may ask it."""
    features = 1e3 * np.eye(2)  # so long that V^-1 is computed anew: that has a kernel of its own
    places: tuple[tuple[Arms, object], ...] = (
        (FiniteArms(features), None),
        (ChangingArms(2), features),
        (UnitBall(2), None),
    )
    for arms, offered in places:
        with suppress(EnsampleError):  # not every recipe takes all arms
            policy = recipe.start(arms, seed=0)
            for reward in (0.0, 1.0):
                policy.update(policy.decide(offered), reward)  # type: ignore[arg-type]
            model: Any = policy.model
            asked = policy.votes, policy.propensities, policy.diagnostics, partial(getattr, policy, "estimates")
            for ask in (*asked, lambda model=model: model.ballot(np.eye(2))):
                with suppress(EnsampleError, AttributeError):  # nor has every policy all answers
                    ask()


def search() -> None:
    """What is done where arms are too many to score all of them."""
    rows = np.eye(2)
    rows.setflags(write=False)
    for standing in (True, False):
        Screen(rows, standing).best(rows[0].copy())
    Screen(rows, True).votes(np.eye(2))


def names() -> list[str]:
    return list(tasks())


def waiting(among: list[str]) -> list[str]:
    """Those of our tasks that this installation has not done yet, in the order of all."""
    asked = set(among)
    return [name for name in tasks() if name in asked and not is_noted(name)]


def do(name: str) -> None:
    """Compile what is not on disk yet, and note it there."""
    with compiled_at_once():
        tasks()[name]()
    note(name)
