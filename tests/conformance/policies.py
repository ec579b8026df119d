"""Every kind of live policy, for tests that walk them all."""

import math
from functools import cache
from importlib.util import find_spec

import numpy as np

import ensample as es
from ensample.models.neural import Trained

FEATURES = np.random.default_rng(0).standard_normal((7, 3)) / 2
FEATURES[5] = FEATURES[2]  # equal arms

ARMS = {
    "finite": lambda: es.FiniteArms(FEATURES),
    "ball": lambda: es.UnitBall(3),
    "box": lambda: es.Box([-1, 0, 0], [1, 1, 0.5]),
    "oracle": lambda: es.OracleArms(3, best_row),
    "changing": lambda: es.ChangingArms(3),
}
RECIPES = {
    "ensemble": es.EnsembleSampling(size=12, scale=0.5),
    "ensemble, round robin": es.EnsembleSampling(size=12, scale=0.5, member=es.RoundRobin()),
    "ensemble, optimistic": es.EnsembleSampling(size=12, scale=0.5, member=es.OptimisticMember()),
    "ensemble, other laws": es.EnsembleSampling(
        size=12, scale=0.5, regularization=2.0, initial=es.Sphere(0.5), reward=es.Rademacher(0.5)
    ),
    "ensemble, calibrated": es.EnsembleSampling(size=12),
    "ensemble, calibrated, stored members": es.EnsembleSampling(size=12, fresh=False),
    "ensemble, fresh members": es.EnsembleSampling(size=12, scale=0.5, fresh=True),
    "ensemble, fresh members, ageing": es.EnsembleSampling(
        size=12, scale=0.5, fresh=True, ageing=0.1
    ),
    "ensemble, fresh members, other scales": es.EnsembleSampling(
        size=12, initial=es.Gaussian(0.5), reward=es.Gaussian(0.3), fresh=True
    ),
    "ensemble, calibrated optimist": es.EnsembleSampling(
        size=12, member=es.OptimisticMember(), reward=es.Uniform()
    ),
    "ensemble, scale calibrated": es.EnsembleSampling(size=12, regularization=0.5),
    "ensemble, intercept": es.EnsembleSampling(size=12, intercept=True),
    "ensemble, intercept, stored members": es.EnsembleSampling(
        size=12, intercept=True, fresh=False
    ),
    "ensemble, intercept, fresh members, fixed scale": es.EnsembleSampling(
        size=12, scale=0.5, intercept=True, fresh=True
    ),
    "ensemble, optimistic intercept": es.EnsembleSampling(
        size=12, member=es.OptimisticMember(), intercept=True
    ),
    "ensemble, intercept, scale calibrated": es.EnsembleSampling(
        size=12, regularization=0.5, intercept=True
    ),
    "ensemble, intercept, fixed scale": es.EnsembleSampling(size=12, scale=0.5, intercept=True),
    "ensemble, logistic": es.EnsembleSampling(size=12, model=es.Logistic()),
    "ensemble, logistic, stored members": es.EnsembleSampling(
        size=12, model=es.Logistic(), fresh=False
    ),
    "ensemble, logistic, fresh members, fixed scale": es.EnsembleSampling(
        size=12, scale=0.5, regularization=0.3, model=es.Logistic(), fresh=True
    ),
    "ensemble, logistic, other laws": es.EnsembleSampling(
        size=12,
        regularization=0.1,
        initial=es.Sphere(0.5),
        reward=es.Rademacher(0.5),
        model=es.Logistic(),
    ),
    "ensemble, exact logistic": es.EnsembleSampling(size=12, scale=0.5, model=es.Logistic("exact")),
    "LinPHE": es.PerturbedHistory(scale=0.5),
    "LinPHE, calibrated": es.PerturbedHistory(),
    "LinPHE, calibrated Rademacher": es.PerturbedHistory(reward=es.Rademacher()),
    "Thompson sampling, calibrated": es.ThompsonSampling(),
    "LinUCB, calibrated": es.LinUCB(),
    "information-directed, calibrated": es.InformationDirected(size=12),
    "information-directed, fresh members": es.InformationDirected(size=12, fresh=True),
    "LinPHE, Rademacher": es.PerturbedHistory(scale=0.5, reward=es.Rademacher(0.5)),
    "LinPHE, uniform": es.PerturbedHistory(
        scale=0.5, initial=es.Sphere(0.5), reward=es.Uniform(0.5)
    ),
    "Thompson sampling": es.ThompsonSampling(scale=0.5),
    "Thompson sampling, adaptive": es.ThompsonSampling(adaptive=True),
    "LinUCB": es.LinUCB(radius=0.5),
    "LinUCB, watched norm": es.LinUCB(form="determinant", norm=None),
    "ensemble, symmetrized": es.SymmetrizedEnsembleSampling(size=6, scale=0.5),
    "ensemble, sharp": es.SharpEnsembleSampling(size=12, gamma=0.3),
    "ensemble, refreshed": es.RefreshedEnsembleSampling(size=12, scale=0.5),
    "Kveton's LinPHE": es.KvetonPHE(),
    "SupLinUCB": es.SupLinUCB(horizon=100, radius=0.5),
    "multiplier bootstrap": es.MultiplierBootstrap(size=8),
    "Ensemble++": es.EnsemblePlusPlus(size=8, scale=0.5),
    "information-directed": es.InformationDirected(size=12, scale=0.5),
    "greedy": es.Greedy(regularization=1.0),
    "greedy, calibrated": es.Greedy(),
    "epsilon-greedy": es.EpsilonGreedy(epsilon=0.3),
    "ensemble, forgetting": es.EnsembleSampling(size=12, scale=0.5, half_life=6),
    "ensemble, forgetting and calibrated": es.EnsembleSampling(size=12, half_life=6),
    "ensemble, forgetting and calibrated, stored members": es.EnsembleSampling(
        size=12, half_life=6, fresh=False
    ),
    "ensemble, forgetting, fresh members": es.EnsembleSampling(
        size=12, scale=0.5, half_life=6, fresh=True
    ),
    "ensemble, forgetting, other laws": es.EnsembleSampling(
        size=12, scale=0.5, initial=es.Sphere(0.5), reward=es.Rademacher(0.5), half_life=2.5
    ),
    "ensemble, logistic, forgetting": es.EnsembleSampling(
        size=12, model=es.Logistic(), half_life=6
    ),
    "ensemble, logistic, forgetting, stored members": es.EnsembleSampling(
        size=12, model=es.Logistic(), half_life=6, fresh=False
    ),
    "ensemble, exact logistic, forgetting": es.EnsembleSampling(
        size=12, model=es.Logistic("exact"), half_life=6
    ),
    "GLM-TSL": es.ThompsonSampling(model=es.Logistic("exact")),
    "Thompson sampling, logistic": es.ThompsonSampling(model=es.Logistic()),
    "GLM-FPL": es.PerturbedHistory(model=es.Logistic("exact")),
    "LinPHE, logistic": es.PerturbedHistory(model=es.Logistic()),
    "EVILL": es.EVILL(),
    "logistic PHE": es.KvetonPHE(model=es.Logistic()),
    "UCB-GLM": es.LinUCB(model=es.Logistic("exact")),
    "LinUCB, logistic": es.LinUCB(model=es.Logistic()),
    "greedy, logistic": es.Greedy(model=es.Logistic()),
    "greedy, exact logistic": es.Greedy(model=es.Logistic("exact")),
    "epsilon-greedy, logistic": es.EpsilonGreedy(0.3, model=es.Logistic()),
    "LinPHE, forgetting": es.PerturbedHistory(scale=0.5, half_life=6),
    "Thompson sampling, forgetting": es.ThompsonSampling(scale=0.5, half_life=6),
    "Thompson sampling, forgetting and calibrated": es.ThompsonSampling(half_life=6),
    "LinUCB, forgetting": es.LinUCB(form="closed", half_life=6),
    "greedy, forgetting": es.Greedy(half_life=6),
    "networks": es.EnsembleSampling(12, model=es.Neural((4, 3), prior=1.0, batch=8, memory=20)),
    "networks, optimistic": es.EnsembleSampling(
        5,
        0.5,
        2.0,
        reward=es.Rademacher(),
        member=es.OptimisticMember(),
        model=es.Neural((4,), "tanh", optimizer="sgd", memory=9),
    ),
}


def module(d: int):  # type: ignore[no-untyped-def]
    import torch

    return torch.nn.Sequential(torch.nn.Linear(d, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))


# `make test` without torch leaves these out: `make test EXTRAS=dev,neural` has them.
MODULES = (
    {
        "networks, torch": es.EnsembleSampling(
            5, model=es.TorchModel(module, prior=1.0, batch=8, memory=20)
        )
    }
    if find_spec("torch")
    else {}
)
ALL_RECIPES = RECIPES | MODULES
ENUMERATED = {  # recipes that do not take all arms
    "LinUCB": ("finite", "changing", "ball"),
    "LinUCB, watched norm": ("finite", "changing", "ball"),
    "LinUCB, calibrated": ("finite", "changing", "ball"),
    "LinUCB, forgetting": ("finite", "changing", "ball"),
    "information-directed, calibrated": ("finite", "changing"),
    "information-directed, fresh members": ("finite", "changing"),
    "epsilon-greedy": ("finite", "changing"),
    "information-directed": ("finite", "changing"),
    "Kveton's LinPHE": ("finite",),
    "logistic PHE": ("finite",),
    "UCB-GLM": ("finite", "changing", "ball"),
    "LinUCB, logistic": ("finite", "changing", "ball"),
    "epsilon-greedy, logistic": ("finite", "changing"),
    "GLM-TSL": ("finite", "changing"),
    "GLM-FPL": ("finite", "changing"),
    "EVILL": ("finite", "oracle"),
    "SupLinUCB": ("finite",),
    "multiplier bootstrap": ("finite",),
    "networks": ("finite", "changing"),
    "networks, optimistic": ("finite", "changing"),
    "networks, torch": ("finite", "changing"),
}
EVERY = [(recipe, arms) for recipe in RECIPES for arms in ENUMERATED.get(recipe, ARMS)]
ALL = [*EVERY, *((recipe, arms) for recipe in MODULES for arms in ENUMERATED[recipe])]
STANDING = ("Kveton's LinPHE", "logistic PHE", "SupLinUCB", "multiplier bootstrap")
MIXING = [
    recipe for recipe in ALL_RECIPES if recipe not in STANDING
]  # take features besides standing arms
FORGETTING = [name for name, recipe in RECIPES.items() if recipe.half_life is not None]
AGEING = [name for name, recipe in RECIPES.items() if getattr(recipe, "ageing_rate", 0.0) > 0.0]
LOGISTIC = [name for name, recipe in RECIPES.items() if isinstance(recipe.model, es.Logistic)]
NETWORKS = [
    name for name, recipe in ALL_RECIPES.items() if isinstance(recipe.model, Trained)
]  # no theta, no V
CERTAIN = [
    name
    for name, recipe in RECIPES.items()
    if isinstance(recipe, es.LinUCB | es.Greedy | es.SupLinUCB)
]  # nothing is random


def best_row(theta: np.ndarray) -> np.ndarray:
    return FEATURES[np.argmax(FEATURES @ theta)]


def start(recipe: str, arms: str, seed: int = 0) -> es.Policy:
    return ALL_RECIPES[recipe].start(ARMS[arms](), seed)


def offered(policy: es.Policy, t: int) -> np.ndarray | None:
    """Arms for a round: those of the policy or, where they change, some of its own."""
    if isinstance(policy.arms, es.ChangingArms):
        return np.random.default_rng(t).standard_normal((4, 3))
    return None


def play(policy: es.Policy, rounds: int, first: int = 0) -> list[es.Decision]:
    """Decide and learn at once; rewards depend on (round, features) only."""
    decisions = []
    for t in range(first, first + rounds):
        decision = policy.decide(offered(policy, t))
        policy.update(decision, reward(policy, t, decision))
        decisions.append(decision)
    return decisions


def reward(policy: es.Policy, t: int, decision: es.Decision) -> float:
    return possible(policy, float(decision.features @ [0.5, -0.2, 0.3] + noise(t)))


@cache
def noise(t: int) -> float:
    """The same for every policy."""
    return float(np.random.default_rng(t).normal(0, 0.2))


def possible(policy: es.Policy, y: float) -> float:
    """A reward that the policy's model can learn.

    Itself, or where rewards lie in [0, 1] what it is squeezed to.
    """
    return (
        y if policy.recipe.model.reward_range[1] == math.inf else 0.5 * (1.0 + y / (1.0 + abs(y)))
    )


def asked(policy: es.Policy) -> list[np.ndarray]:
    """All that one may ask of what was learned."""
    if isinstance(policy.recipe.model, Trained):
        offer = policy.arms.offer(FEATURES)
        return [
            *policy.log(),
            *policy.model.votes(offer),
            policy.model.scores(1, FEATURES),
            policy.propensities(FEATURES),
        ]
    return [*policy.log(), policy.estimates, policy.mean, policy.gram]


def centre(policy: es.Policy) -> np.ndarray:
    """What every observation changes."""
    return (
        policy.model.scores(0, FEATURES)
        if isinstance(policy.recipe.model, Trained)
        else policy.mean
    )


def learned(
    policy: es.Policy, features: np.ndarray, rewards: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a policy's model takes in.

    With an intercept (x, 1), and rewards relative to the first.
    """
    if not policy.recipe.intercept:
        return features, rewards
    return np.hstack([features, np.ones((len(features), 1))]), rewards - rewards[0]


def fingerprint(policy: es.Policy) -> bytes:
    """Every bit of a policy's state."""
    parts = [values.tobytes() for values in policy.model.arrays().values()]
    parts += [column.tobytes() for column in policy.bookkeeping.columns().values()]
    waiting = [
        (d.round, d.arm, d.member, d.features.tobytes(), d.propensity)
        for d in policy.open_decisions
    ]
    return b"|".join([*parts, repr((policy.round, waiting)).encode()])
