"""LinPHE: it is ensemble sampling with one member a round, and Thompson sampling."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms, FiniteArms
from ensample.claims.claim import Judge, Outcome, Scale
from ensample.claims.evidence import CLAIM_ALARM, cell, generator, identity, same_law, weakest
from ensample.claims.recorded import History, record
from ensample.claims.texts import claim, twin
from ensample.member_rules import RoundRobin
from ensample.perturbations import (
    CenteredBinomial,
    Gaussian,
    InitialLaw,
    Perturbation,
    Rademacher,
    Uniform,
)
from ensample.policies import EnsembleSampling, PerturbedHistory, ThompsonSampling
from ensample.problems import problem
from ensample.problems.problem import unit_rows
from ensample.simulation import simulate
from ensample.statistics import ks_distance, ks_distance_to, normal_cdf
from ensample.types import FloatArray, Shape

# linphe-is-ensemble: LinPHE is ensemble sampling with one member a round

LAWS = (Gaussian(2.0), Rademacher(2.0), Uniform(2.0), CenteredBinomial(4, 2.0))
DIM, ARMS = 3, 10


@dataclass(frozen=True)
class Stored(Perturbation):
    """A law that returns stored rows or columns one after the other, and zeros beyond their end."""

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
    """A law that returns stored initial vectors, so many a call."""

    vectors: list[FloatArray] = field(repr=False)
    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw_vectors(self, rng: Generator, size: int, dim: int) -> FloatArray:
        return np.array([self.vectors.pop(0) for _ in range(size)])


def measure_coupled(scale: Scale, seed: int, shift: int = 0) -> Judge:
    """Rounds in which coupled runs play different arms; and the regret of independent runs."""
    rounds, repeats = scale.choose((100, 1), (300, 5), (1000, 10))
    in_law = law_of_regret(scale, seed)

    def judge(f: float) -> Outcome:
        different, runs = 0, len(LAWS) * repeats
        for n, law in enumerate(LAWS * repeats):
            rng = generator(seed, "linphe-is-ensemble", n)
            ours, theirs = coupled_arms(law, rounds, rng, shift, f)
            different += sum(a != b for a, b in zip(ours, theirs, strict=True))
        detail = f"{different:,} of {rounds * runs:,} coupled rounds differ"
        return weakest([identity(different, 0.0, rounds * runs, detail), in_law])

    return judge


def coupled_arms(
    law: Perturbation, rounds: int, rng: Generator, shift: int, f: float
) -> tuple[list[int], list[int]]:
    """Return the arms of Algorithm 1 with member t in round t, and of Algorithm 2.

    They share perturbations: m = T, W_t = W^(t) and Z_{t,i} = f Z_i^(t).
    """
    X = unit_rows(rng, ARMS, DIM)
    rewards = X @ unit_rows(rng, 1, DIM)[0] + rng.standard_normal((rounds, ARMS))  # of each arm
    W, Z = law.draw_vectors(rng, rounds, DIM), law.draw(rng, (rounds, rounds))
    columns = [f * np.roll(Z, shift, axis=0)[:, t] for t in range(1, rounds)]  # round 0 has no past
    members, vectors = Stored(list(Z)), StoredVectors(list(W))
    ensemble = EnsembleSampling(rounds, initial=vectors, reward=members, member=RoundRobin())
    history = PerturbedHistory(initial=StoredVectors(list(W)), reward=Stored(columns))
    # With features of the round, LinPHE perturbs every reward by itself, as it is defined.
    standing, changing = ensemble.start(FiniteArms(X), 0), history.start(ChangingArms(DIM), 0)
    played: tuple[list[int], list[int]] = [], []
    for t in range(rounds):
        for policy, offer, arms in ((standing, None, played[0]), (changing, X, played[1])):
            decision = policy.decide(offer)
            assert decision.arm is not None
            policy.update(decision, rewards[t, decision.arm])
            arms.append(decision.arm)
    return played


def law_of_regret(scale: Scale, seed: int) -> Outcome:
    """Compare independent runs of both in the simulator."""
    runs, tolerance = scale.choose((2000, 0.2), (40_000, 0.05), (400_000, 0.02))
    rounds, world = 30, problem("sphere", dim=DIM, arms=ARMS, noise=1.0)
    recipes = EnsembleSampling(rounds, 1.0, member=RoundRobin()), PerturbedHistory(1.0)
    regrets = []
    for n, recipe in enumerate(recipes):
        place = cell(f"linphe-is-ensemble-{n}")
        found = simulate(recipe, world, rounds, runs, seed, checkpoints=1, cell=place)
        regrets.append(found.regret[:, -1])
    return same_law(ks_distance(*regrets), [runs, runs], tolerance, "law of the regret")


claim("linphe-is-ensemble", measure_coupled, broken=twin(measure_coupled, shift=1))

# linphe-is-thompson: with Gaussian laws LinPHE is linear Thompson sampling

LAM, BETA, ROUNDS = 4.0, 0.7, 20
CHUNK = 100_000


def measure_thompson(scale: Scale, seed: int, rooted: bool = True) -> Judge:
    """LinPHE's definition with fresh W and Z, against N(theta_hat, beta^2 V^-1) and the policy."""
    draws, decisions = scale.choose((100_000, 10_000), (1_000_000, 50_000), (10_000_000, 200_000))
    tolerance, coarse = scale.choose((0.03, 0.12), (0.01, 0.05), (0.003, 0.025))
    history = record(seed, "linphe-is-thompson", rounds=ROUNDS, lam=LAM, scale=BETA)
    rng, V = generator(seed, "linphe-is-thompson", 1), history.V[-1]
    theta = np.vstack([draw_models(history, rng, rooted) for _ in range(draws // CHUNK)])
    narrow = np.linalg.eigh(V)[1][:, 0]
    directions = {"a coordinate": np.eye(4)[0], "x*": history.best, "the least seen": narrow}
    scores = {}
    for name, u in directions.items():
        width = BETA * math.sqrt(u @ np.linalg.solve(V, u))
        scores[name] = np.sort((theta - history.theta_hat[-1]) @ u / width)
    arms = np.argmax(theta[:decisions] @ history.arms.T, axis=1).astype(np.float64)
    between = ks_distance(arms, thompson_arms(history, decisions, int(rng.integers(1 << 62))))

    def judge(f: float) -> Outcome:
        outcomes, alarm = [], CLAIM_ALARM / 4
        for name, score in scores.items():
            distance = ks_distance_to(normal_cdf(f * score))
            outcomes.append(same_law(distance, [draws], tolerance, name, alarm))
        name = "arms of the library's policy"
        outcomes.append(same_law(between, [decisions] * 2, coarse, name, alarm))
        return weakest(outcomes)

    return judge


def draw_models(history: History, rng: Generator, rooted: bool) -> FloatArray:
    """theta_t = V^-1 (W_t + sum_i X_i (Y_i + Z_{t,i})), as Algorithm 2 defines it: [CHUNK, d]."""
    scale = (math.sqrt(LAM) if rooted else 1.0) * BETA
    W = scale * rng.standard_normal((CHUNK, history.theta.size))
    targets = history.Y + BETA * rng.standard_normal((CHUNK, ROUNDS))
    return np.asarray(np.linalg.solve(history.V[-1], (W + targets @ history.X).T).T)


def thompson_arms(history: History, count: int, seed: int) -> FloatArray:
    """Return what Thompson sampling plays after the same history, drawn again and again."""
    policy = ThompsonSampling(BETA, LAM).start(FiniteArms(history.arms), seed)
    policy.update_many(list(history.X), history.Y)
    return np.array([policy.decide().arm for _ in range(count)], np.float64)


claim("linphe-is-thompson", measure_thompson, broken=twin(measure_thompson, rooted=False))
