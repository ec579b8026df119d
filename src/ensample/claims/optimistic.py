"""What the claims about the optimistic member rule share: its recipe, and problems chosen to be hard on it."""

import math

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.evidence import generator
from ensample.members import OptimisticMember
from ensample.perturbations import P_N
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.randomness import RunStream
from ensample.theory import Setting


def optimistic(setting: Setting, size: int | None = None) -> EnsembleSampling:
    """The rule at its own constants, or with another number of members."""
    recipe = EnsembleSampling.from_theorem(setting, member=OptimisticMember())
    return (
        recipe
        if size is None
        else EnsembleSampling(size, recipe.scale, recipe.regularization, member=recipe.member)
    )


def size_without_union(setting: Setting) -> int:
    """Members enough for one of them to be optimistic at a single history: log(1/delta) / log(1/(1 - p_N))."""
    return math.ceil(math.log(setting.delta) / math.log1p(-P_N))


def drawn_problem(
    setting: Setting, seed: int, claim: str, part: int, copies: int = 1
) -> LinearProblem:
    """Arms of norm 1 and a parameter of norm S in random directions; with `copies`, as many arms at a time almost coincide."""
    rng = generator(seed, claim, part, RunStream.PROBLEM)
    assert setting.arms is not None
    features = np.tile(rng.standard_normal((-(-setting.arms // copies), setting.dim)), (copies, 1))[
        : setting.arms
    ]
    features += 1e-3 * rng.standard_normal(features.shape)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(setting.dim)
    return LinearProblem(
        FiniteArms(features), setting.norm * theta / np.linalg.norm(theta), setting.noise
    )
