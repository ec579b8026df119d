"""The Proposition for perturbations that are not Gaussian: a share of 0.01/4 of the members is optimistic."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

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
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.histories import draw_stacks
from ensample.claims.optimistic import drawn_problem
from ensample.claims.watched import replicates
from ensample.perturbations import InitialLaw, Perturbation, Rademacher, Sphere, Uniform
from ensample.theory import Setting, perturbation_radius, radius, sharp_size
from ensample.types import FloatArray

ID = "optimism-share-other-laws"
LAWS: tuple[tuple[InitialLaw, Perturbation], ...] = (
    (Rademacher(), Rademacher()),
    (Sphere(), Rademacher()),
    (Uniform(), Uniform()),
)
BOUND = 0.01 / 4.0
TIMES = 3.0  # of beta_T, the scale of laws that are not Gaussian


def measure(
    scale: Scale,
    seed: int,
    strength: float = 1.0,
    laws: Sequence[tuple[InitialLaw, Perturbation]] = LAWS,
) -> Judge:
    """The least share that an adversary finds, for each pair of laws of the initial vector and the rewards."""
    setting = Setting(
        2, 3, scale.choose(40, 100, 400), 1.0, 1.0, 1.0, scale.choose(0.1, 0.05, 0.02)
    )
    runs = scale.choose(150, 600, 2000)
    found = {
        f"{type(initial).__name__} and {type(reward).__name__}": shares(
            setting, initial, reward, place, runs, seed, strength
        )
        for place, (initial, reward) in enumerate(laws)
    }
    size = sharp_size(setting, None, Rademacher())

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, least in found.items():
            detail, kept = f"{name}: least share {least.min():.4f}", int((least >= f * BOUND).sum())
            outcomes.append(
                probability_at_least(
                    kept, runs, 1.0 - setting.delta, detail, CLAIM_ALARM / len(found)
                )
            )
        worst = weakest(outcomes)
        return replace(
            worst, detail=f"K = {setting.arms}, T = {setting.horizon}, m = {size:,}; {worst.detail}"
        )

    return judge


def shares(
    setting: Setting,
    initial: InitialLaw,
    reward: Perturbation,
    place: int,
    runs: int,
    seed: int,
    strength: float,
) -> FloatArray:
    """The least share of members with U'Z >= beta_T |U| and |theta~|_V <= gamma~, perturbations at 3 beta_T: [runs]."""
    size = sharp_size(setting, None, reward)
    gamma = perturbation_radius(setting, reward) / (
        TIMES * radius(setting)
    )  # everything at scale 1

    def one(part: int) -> float:
        rng, world = generator(seed, ID, part), drawn_problem(setting, seed, ID, part)
        stacks = draw_stacks(
            world, setting.regularization, setting.horizon, size, rng, reward, initial
        )
        return float(stacks.least_shares_found(1.0 / (TIMES * strength), gamma / strength, 5)[-1])

    return np.array(replicates(one, runs, first=place * 10**6))


def weaken(scale: Scale, seed: int) -> Judge:
    """The same with weaker signs."""
    return lambda f: measure(scale, seed, 1.0 / f, LAWS[:1])(SOUND)


CLAIM = Claim(
    id=ID,
    title="A share of the members is optimistic, for other laws",
    statement="with other laws at 3 beta_T, at least 0.01/4 of the members are optimistic and concentrated in all rounds",
    latex=r"\mathbb{P}\Big(\forall t:\ \tfrac1m \#\{j: U_{t-1}^\top\mathbf{Z}_t^j \ge \beta_T\|U_{t-1}\|_2,\ "
    r"\|\tilde\theta_{t-1}^j\|_{V_{t-1}} \le \tilde\gamma_T\} \ge \tfrac{0.01}{4}\Big) \ge 1-\delta",
    reference="appx:beyond gaussian",
    section=Section.LAWS,
    assumptions=(
        "i.i.d., symmetric, 1-subGaussian, variance at least 1/2, times 3 beta_T; also W on a sphere",
        "m from Chernoff's inequality with 0.01 for p_N",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("the share 0.01/4 multiplied by f", measure, 1000.0),
        Fault("the perturbations divided by f", weaken, 20.0),
    ),
    broken=Broken(
        "signs at a twentieth of the scale", lambda scale, seed: weaken(scale, seed)(20.0)
    ),
    note="0.01 holds for every admissible law, and these laws are far better: about a third of the members reach beta_T "
    "when they are scaled to three times that.",
    costs={
        Scale.QUICK: Cost(1.5, 200),
        Scale.STANDARD: Cost(30, 400),
        Scale.PAPER: Cost(400, 1000),
    },
)
