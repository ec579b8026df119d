"""LinPHE is ensemble sampling with one member a round."""

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms, FiniteArms
from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import cell, generator, identity, same_law, weakest
from ensample.members import RoundRobin
from ensample.perturbations import (
    CenteredBinomial,
    Gaussian,
    InitialLaw,
    Perturbation,
    Rademacher,
    Uniform,
)
from ensample.policies import EnsembleSampling, PerturbedHistory
from ensample.problems import problem
from ensample.problems.families import unit_rows
from ensample.simulation import simulate
from ensample.statistics import ks_distance
from ensample.types import FloatArray, Shape

ID = "linphe-is-ensemble"
LAWS = (Gaussian(2.0), Rademacher(2.0), Uniform(2.0), CenteredBinomial(4, 2.0))
DIM, ARMS = 3, 10


@dataclass(frozen=True)
class Stored(Perturbation):
    """Gives stored numbers back: `lists` of rows or columns, one after the other, and zeros beyond their end."""

    lists: list[FloatArray] = field(repr=False)
    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng: Generator, shape: Shape) -> FloatArray:
        if isinstance(shape, int):
            return self.lists.pop(0)[:shape].copy()
        rows = [self.lists.pop(0) if self.lists else np.zeros(shape[1]) for _ in range(shape[0])]
        return np.array(rows)


@dataclass(frozen=True)
class StoredVectors(InitialLaw):
    """Stored initial vectors, as many a call as are asked for."""

    vectors: list[FloatArray] = field(repr=False)
    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        return np.array([self.vectors.pop(0) for _ in range(size)])


def measure(scale: Scale, seed: int, shift: int = 0) -> Judge:
    """Rounds in which two coupled runs play different arms; and the law of the regret of independent runs."""
    rounds, repeats = scale.choose((100, 1), (300, 5), (1000, 10))
    in_law = law_of_regret(scale, seed)

    def judge(f: float) -> Outcome:
        pairs = [
            coupled_arms(law, rounds, generator(seed, ID, n), shift, f)
            for n, law in enumerate(LAWS * repeats)
        ]
        different = sum(a != b for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True))
        total = rounds * len(pairs)
        return weakest(
            [
                identity(
                    different, 0.0, total, f"{different:,} of {total:,} coupled rounds differ"
                ),
                in_law,
            ]
        )

    return judge


def coupled_arms(
    law: Perturbation, rounds: int, rng: Generator, shift: int, f: float
) -> tuple[list[int], list[int]]:
    """Arms of Algorithm 1 with m = T, member t in round t, and of Algorithm 2 with W_t = W^(t), Z_{t,i} = f Z_i^(t)."""
    X = unit_rows(rng, ARMS, DIM)
    rewards = X @ unit_rows(rng, 1, DIM)[0] + rng.standard_normal(
        (rounds, ARMS)
    )  # what each arm would pay in each round
    W, Z = law.draw_vectors(rng, rounds, DIM), law.draw(rng, (rounds, rounds))
    theirs = f * np.roll(Z, shift, axis=0)
    ensemble = EnsembleSampling(
        rounds, initial=StoredVectors(list(W)), reward=Stored(list(Z)), member=RoundRobin()
    )
    columns = [theirs[:, t] for t in range(1, rounds)]  # round 0 has no history to perturb
    history = PerturbedHistory(initial=StoredVectors(list(W)), reward=Stored(columns))
    standing, moving = (
        ensemble.start(FiniteArms(X), seed=0),
        history.start(ChangingArms(DIM), seed=0),
    )
    ours: list[int] = []
    others: list[int] = []
    for t in range(rounds):
        for policy, played in ((standing, ours), (moving, others)):
            # As features of the round, LinPHE perturbs every reward by itself, as it is defined.
            decision = policy.decide(None if policy is standing else X)
            assert decision.arm is not None
            policy.update(decision, rewards[t, decision.arm])
            played.append(decision.arm)
    return ours, others


def law_of_regret(scale: Scale, seed: int) -> Outcome:
    """Independent runs of both, by the kernels that simulations use."""
    runs, tolerance = scale.choose((2000, 0.2), (40_000, 0.05), (400_000, 0.02))
    rounds, world = 30, problem("sphere", dim=DIM, arms=ARMS, noise=1.0)
    recipes = EnsembleSampling(rounds, 1.0, member=RoundRobin()), PerturbedHistory(1.0)
    regrets = [
        simulate(recipe, world, rounds, runs, seed, checkpoints=1, cell=cell(f"{ID}-{n}")).regret[
            :, -1
        ]
        for n, recipe in enumerate(recipes)
    ]
    return same_law(ks_distance(*regrets), [runs, runs], tolerance, "law of the regret")


CLAIM = Claim(
    id=ID,
    title="LinPHE is ensemble sampling with T members",
    statement="ensemble sampling with m = T and member t in round t plays as LinPHE, arm for arm and in law",
    latex=r"m = T,\ \mathcal{J}_t \equiv t,\ W_t = W^{(t)},\ Z_{t,i} = Z_i^{(t)}\ \Rightarrow\ \text{the same run}",
    reference="prop:enssamp is phe",
    section=Section.HISTORY,
    assumptions=("the same laws P_I and P_R",),
    kind=Kind.IDENTITY,
    faults=(Fault("the reward perturbations of LinPHE multiplied by f", measure),),
    broken=Broken(
        "perturbations shifted by one round",
        lambda scale, seed: measure(scale, seed, shift=1)(SOUND),
    ),
    note="So more than T members are never useful.",
    costs={Scale.QUICK: Cost(2), Scale.STANDARD: Cost(60), Scale.PAPER: Cost(900, 200)},
)
