"""An ensemble that is drawn anew each round plays as LinPHE, whatever its size and however late rewards are."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, same_law, weakest
from ensample.models import Model
from ensample.policies import EnsembleSampling, PerturbedHistory
from ensample.statistics import ks_distance
from ensample.types import FloatArray

ID = "fresh-members"
ARMS, THETA = FiniteArms(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([0.5, 0.3])
NOISE, SCALE, SIZES, ROUNDS = 0.5, 0.7, (1, 10, 100), 40


class Twin(NamedTuple):
    """A broken ensemble: its members keep their draws, and one is drawn anew when the reward of its own decision arrives."""

    redrawn: bool  # or never


ON_ARRIVAL, NEVER = Twin(redrawn=True), Twin(redrawn=False)


def delay_of(arm: int, surplus: float) -> int:
    """Return the rounds until a reward arrives: many for the second arm, and more if the reward is low."""
    return (0 if surplus > 0.0 else 2) if arm == 0 else (12 if surplus > 0.0 else 30)


def prompt(arm: int, surplus: float) -> int:
    return 0


DELAYS = {"prompt": prompt, "late": delay_of}


def plays(
    size: int | None, delay: Callable[[int, float], int], twin: Twin | None, rng: Generator
) -> tuple[int, int]:
    """Count the plays of the second arm in each half of one run: by LinPHE if `size` is None, else by a fresh ensemble."""
    recipe = PerturbedHistory(SCALE) if size is None else EnsembleSampling(size, SCALE, fresh=True)
    policy = recipe.start(ARMS, seed=int(rng.integers(1 << 53)), log=None)
    drawn_at = np.arange(size or 1)  # of each stored member, the round of which it has the draws
    waiting: list[list[tuple[int, int, float]]] = [[] for _ in range(ROUNDS + 40)]
    played = np.zeros(ROUNDS, np.int64)
    for t in range(ROUNDS):
        member = 0 if twin is None else int(rng.integers(drawn_at.size))
        arm = (
            policy.decide().arm if twin is None else stored_arm(policy.model, int(drawn_at[member]))
        )
        assert arm is not None
        played[t] = arm
        surplus = NOISE * rng.standard_normal()
        waiting[t + delay(arm, surplus)].append((member, arm, THETA[arm] + surplus))
        for member, arm, y in waiting[t]:
            policy.update(ARMS.features[arm], y)
            if twin is not None and twin.redrawn:
                drawn_at[member] = drawn_at.max() + 1
    half = ROUNDS // 2
    return int(played[:half].sum()), int(played[half:].sum())


def stored_arm(model: Model, round: int) -> int | None:
    """Return the arm of a member that has the draws of a round."""
    return model.at(round).best(0, ARMS)[0]


@cache
def sample(size: int | None, delay: str, twin: Twin | None, scale: Scale, seed: int) -> FloatArray:
    """Return `plays` of independent runs: [runs, 2]."""
    runs = scale.choose(400, 6000, 60_000)
    part = (
        1
        + [None, *SIZES].index(size)
        + 10 * list(DELAYS).index(delay)
        + 100 * [None, ON_ARRIVAL, NEVER].index(twin)
    )
    rng = generator(seed, ID, part)
    return np.array([plays(size, DELAYS[delay], twin, rng) for _ in range(runs)], float)


def judge_with(twin: Twin, delay: str, sizes: tuple[int, ...]) -> Callable[[Scale, int], Judge]:
    """Return the check in which runs of a broken ensemble replace some, for these sizes and one kind of delay."""

    def measure(scale: Scale, seed: int) -> Judge:
        linphe = {kind: sample(None, kind, None, scale, seed) for kind in DELAYS}
        fresh = {
            (size, kind): sample(size, kind, None, scale, seed) for size in SIZES for kind in DELAYS
        }
        broken = {(size, delay): sample(size, delay, twin, scale, seed) for size in sizes}

        def judge(f: float) -> Outcome:
            mixed = {
                key: mixture(fresh[key], broken[key], f) if key in broken else fresh[key]
                for key in fresh
            }
            return compared(linphe, mixed, scale)

        return judge

    return measure


def mixture(sound: FloatArray, broken: FloatArray, f: float) -> FloatArray:
    """Return one part in f of the `sound` runs and the rest of the `broken` ones."""
    kept = round(len(sound) / f)
    return np.vstack([sound[:kept], broken[kept:]])


def compared(
    linphe: dict[str, FloatArray], ensembles: dict[tuple[int, str], FloatArray], scale: Scale
) -> Outcome:
    tolerance, found = scale.choose(0.5, 0.12, 0.04), []
    for (size, kind), counts in ensembles.items():
        runs = len(counts)
        distance = max(ks_distance(linphe[kind][:, half], counts[:, half]) for half in (0, 1))
        alarm = CLAIM_ALARM / (2 * len(ensembles))
        found.append(
            same_law(distance, [runs, runs], tolerance, f"m = {size}, {kind} rewards", alarm)
        )
    return weakest(found)


REDRAWN = Fault(
    "in all but one in f of the runs of 1 or 10 members, a stored member is drawn anew when its own reward arrives",
    judge_with(ON_ARRIVAL, "late", (1, 10)),
)
STORED = Fault(
    "in all but one in f of the runs of one member, it is never drawn anew",
    judge_with(NEVER, "prompt", (1,)),
)


def both_twins(scale: Scale, seed: int) -> Outcome:
    """Return the outcome of the twin that is nearer to holding."""
    return max(
        (fault.measure(scale, seed)(100.0) for fault in (REDRAWN, STORED)),
        key=lambda outcome: outcome.margin,
    )


CLAIM = Claim(
    id=ID,
    title="A fresh ensemble is LinPHE, of any size",
    statement="an ensemble that is drawn anew each round plays as LinPHE in law, for all sizes, also with late rewards",
    latex=r"\tilde\theta_t^1, \dots, \tilde\theta_t^m \mid \mathcal{F}_{t-1}\ \text{i.i.d.},\ \mathcal{J}_t \equiv 1"
    r"\ \Rightarrow\ X_t \overset{d}{=} X_t^{\text{LinPHE}}",
    reference="prop:enssamp is phe",
    section=Section.HISTORY,
    assumptions=("Gaussian perturbations at a given scale",),
    kind=Kind.PROBABILITY,
    faults=(REDRAWN, STORED),
    broken=Broken(
        "stored members, drawn anew when their own rewards arrive; and stored members that never are",
        both_twins,
    ),
    note="Members that are drawn anew when their own reward arrives are not fresh: if the rewards of one arm are late, the "
    "members that like it are the ones that stay. This tests delays and freshness, not the size: the first member acts, and "
    "has the same draws for every size.",
    costs={Scale.QUICK: Cost(4), Scale.STANDARD: Cost(60), Scale.PAPER: Cost(600)},
)
