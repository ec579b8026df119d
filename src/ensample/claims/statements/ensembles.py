"""Ways to keep an ensemble that have the same law: lazy members, and fresh members."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.claim import Judge, Measure, Outcome, Scale
from ensample.claims.evidence import CLAIM_ALARM, cell, generator, same_law, weakest
from ensample.claims.texts import claim
from ensample.models import Model
from ensample.perturbations import Gaussian
from ensample.policies import EnsembleSampling, PerturbedHistory
from ensample.problems import LinearProblem
from ensample.simulation import simulate
from ensample.statistics import ks_distance
from ensample.types import FloatArray


def mixture(sound: FloatArray, broken: FloatArray, f: float) -> FloatArray:
    """Return one part in f of the `sound` runs and the rest of the `broken` ones."""
    kept = round(len(sound) / f)
    return np.vstack([sound[:kept], broken[kept:]])


def compare(pairs: dict[str, tuple[FloatArray, FloatArray]], tolerance: float) -> Outcome:
    """Each column of two samples [runs, columns] has the same law, for each named pair."""
    found = []
    for name, (one, other) in pairs.items():
        runs, columns = one.shape
        distance = max(ks_distance(one[:, n], other[:, n]) for n in range(columns))
        alarm = CLAIM_ALARM / (columns * len(pairs))
        found.append(same_law(distance, [runs, runs], tolerance, name, alarm))
    return weakest(found)


# lazy-members: lazy evaluation has the joint law of all members kept

ARMS = FiniteArms(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]]))
WORLD = LinearProblem(ARMS, [0.55, 0.45], 0.5)
SIZES, ROUNDS, SCALE = (2, 10), 50, 0.7


def measure_lazy(scale: Scale, seed: int) -> Judge:
    """Runs whose members are updated only when they act, and runs that keep them all.

    With few members and many rounds a member acts many times, each time on what it has learned
    while others acted: the laws agree only if the joint law of all members over all rounds does.
    """
    recipes = [EnsembleSampling(size, SCALE) for size in SIZES]
    without_initial = [EnsembleSampling(size, SCALE, initial=Gaussian(0.0)) for size in SIZES]
    eager, lazy = (
        [play_world(recipe, evaluation, scale, seed) for recipe in recipes]
        for evaluation in ("eager", "lazy")
    )
    broken = [play_world(recipe, "lazy", scale, seed) for recipe in without_initial]

    def judge(f: float) -> Outcome:
        pairs = {}
        for size, *samples in zip(SIZES, eager, lazy, broken, strict=True):
            pairs[f"m = {size}"] = samples[0], mixture(samples[1], samples[2], f)
        return compare(pairs, scale.choose(0.2, 0.06, 0.02))

    return judge


def play_world(recipe: EnsembleSampling, evaluation: str, scale: Scale, seed: int) -> FloatArray:
    """Return the regret half-way and at the end, and the pulls of each arm: [runs, 6]."""
    runs = scale.choose(3000, 50_000, 500_000)
    place = cell(f"lazy-members {evaluation} {recipe.size}")
    found = simulate(recipe, WORLD, ROUNDS, runs, seed, evaluation, checkpoints=2, cell=place)
    assert found.pulls is not None
    return np.hstack([found.regret, found.pulls])


def strengthen(scale: Scale, seed: int) -> Judge:
    """Two lazy members with stronger perturbations."""
    eager = play_world(EnsembleSampling(SIZES[0], SCALE), "eager", scale, seed)

    def judge(f: float) -> Outcome:
        lazy = play_world(EnsembleSampling(SIZES[0], f * SCALE), "lazy", scale, seed)
        return compare({f"m = {SIZES[0]}": (eager, lazy)}, scale.choose(0.2, 0.06, 0.02))

    return judge


claim("lazy-members", measure_lazy, strengthen, broken=100.0)

# fresh-members: an ensemble drawn anew each round plays as LinPHE, also with late rewards

PAIR, THETA, NOISE = FiniteArms(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([0.5, 0.3]), 0.5
FRESH_SIZES, FRESH_ROUNDS = (1, 10, 100), 40


class Twin(NamedTuple):
    """A broken ensemble, whose members keep their draws.

    A member is drawn anew when the reward of its own decision arrives, or never.
    """

    redrawn: bool


ON_ARRIVAL, NEVER = Twin(redrawn=True), Twin(redrawn=False)


def late(arm: int, surplus: float) -> int:
    """Return the rounds until a reward arrives: many for the second arm, more if it is low."""
    return (0 if surplus > 0.0 else 2) if arm == 0 else (12 if surplus > 0.0 else 30)


def prompt(arm: int, surplus: float) -> int:
    return 0


DELAYS: dict[str, Callable[[int, float], int]] = {"prompt": prompt, "late": late}


def count_plays(
    size: int | None, delay: Callable[[int, float], int], twin: Twin | None, rng: Generator
) -> tuple[int, int]:
    """Count the plays of the second arm in each half of a run.

    LinPHE plays if `size` is None, else a fresh ensemble, or a broken one.
    """
    fresh = EnsembleSampling(size or 1, SCALE, fresh=True)
    recipe = PerturbedHistory(SCALE) if size is None else fresh
    policy = recipe.start(PAIR, seed=int(rng.integers(1 << 53)), log=None)
    drawn_at = np.arange(size or 1)  # the round whose draws each stored member has
    waiting: list[list[tuple[int, int, float]]] = [[] for _ in range(FRESH_ROUNDS + 40)]
    played = np.zeros(FRESH_ROUNDS, np.int64)
    for t in range(FRESH_ROUNDS):
        member = 0 if twin is None else int(rng.integers(drawn_at.size))
        stored = None if twin is None else int(drawn_at[member])
        arm = policy.decide().arm if stored is None else arm_of_round(policy.model, stored)
        assert arm is not None
        played[t] = arm
        surplus = NOISE * rng.standard_normal()
        waiting[t + delay(arm, surplus)].append((member, arm, THETA[arm] + surplus))
        for member, arm, y in waiting[t]:
            policy.update(PAIR.features[arm], y)
            if twin is not None and twin.redrawn:
                drawn_at[member] = drawn_at.max() + 1
    half = FRESH_ROUNDS // 2
    return int(played[:half].sum()), int(played[half:].sum())


def arm_of_round(model: Model, round: int) -> int | None:
    """Return the arm of a member that has the draws of a round."""
    return model.at(round).best(0, PAIR)[0]


@cache
def sample(size: int | None, delay: str, twin: Twin | None, scale: Scale, seed: int) -> FloatArray:
    """Return the plays of independent runs: [runs, 2]."""
    runs = scale.choose(400, 6000, 60_000)
    place = [None, *FRESH_SIZES].index(size) + 10 * list(DELAYS).index(delay)
    part = 1 + place + 100 * [None, ON_ARRIVAL, NEVER].index(twin)
    rng = generator(seed, "fresh-members", part)
    return np.array([count_plays(size, DELAYS[delay], twin, rng) for _ in range(runs)], float)


def measure_fresh(twin: Twin, delay: str, sizes: tuple[int, ...]) -> Measure:
    """Return the measure in which runs of a broken ensemble replace some, for one kind of delay."""

    def measure(scale: Scale, seed: int) -> Judge:
        keys = [(size, kind) for size in FRESH_SIZES for kind in DELAYS]
        linphe = {kind: sample(None, kind, None, scale, seed) for kind in DELAYS}
        fresh = {key: sample(*key, None, scale, seed) for key in keys}
        broken = {size: sample(size, delay, twin, scale, seed) for size in sizes}

        def judge(f: float) -> Outcome:
            pairs = {}
            for size, kind in keys:
                plays = fresh[size, kind]
                if kind == delay and size in sizes:
                    plays = mixture(plays, broken[size], f)
                pairs[f"m = {size}, {kind} rewards"] = linphe[kind], plays
            return compare(pairs, scale.choose(0.5, 0.12, 0.04))

        return judge

    return measure


redrawn = measure_fresh(ON_ARRIVAL, "late", (1, 10))
never_redrawn = measure_fresh(NEVER, "prompt", (1,))


def both_twins(scale: Scale, seed: int) -> Outcome:
    """Return the outcome of the twin that is nearer to holding."""
    outcomes = [measure(scale, seed)(100.0) for measure in (redrawn, never_redrawn)]
    return max(outcomes, key=lambda outcome: outcome.margin)


claim("fresh-members", redrawn, never_redrawn, broken=both_twins)
