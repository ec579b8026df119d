"""Calibration: what unit the rewards are counted in does not matter."""

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import generator, identity
from ensample.policies import EnsembleSampling, LinUCB, Recipe, ThompsonSampling
from ensample.problems.families import unit_rows
from ensample.randomness import RunStream

ID = "calibration-equivariance"
RECIPES: tuple[Recipe, ...] = (EnsembleSampling(), ThompsonSampling(), LinUCB())
UNITS = (2.0**-20, 2.0**3, 2.0**40)  # powers of two: multiplying by them rounds nothing
DIM, ARMS = 4, 12


def measure(scale: Scale, seed: int) -> Judge:
    """Rounds in which a policy plays another arm once all rewards are multiplied by a constant; only some with a fault."""
    return lambda f: judged(RECIPES, scale, seed, f)


def judged(recipes: tuple[Recipe, ...], scale: Scale, seed: int, f: float) -> Outcome:
    rounds, repeats = scale.choose((120, 2), (500, 10), (2000, 50))
    different = total = 0
    for part in range(repeats):
        for recipe in recipes:
            plain = played(recipe, rounds, seed, part, 1.0, 1.0)
            for unit in UNITS:
                different += sum(
                    a != b
                    for a, b in zip(plain, played(recipe, rounds, seed, part, unit, f), strict=True)
                )
                total += rounds
    return identity(different, 0.0, total, f"{different:,} of {total:,} rounds play another arm")


def played(
    recipe: Recipe, rounds: int, seed: int, part: int, unit: float, f: float
) -> list[int | None]:
    """Arms played when rewards are paid in `unit`s, the first reward multiplied by f."""
    rng = generator(seed, ID, part, RunStream.PROBLEM)
    arms, theta = unit_rows(rng, ARMS, DIM), 5.0 * unit_rows(rng, 1, DIM)[0]
    noise = generator(seed, ID, part, RunStream.NOISE).standard_normal(rounds)
    policy = recipe.start(FiniteArms(arms), seed)
    chosen: list[int | None] = []
    for t in range(rounds):
        decision = policy.decide()
        policy.update(
            decision, (f if t == 0 else 1.0) * unit * (float(decision.features @ theta) + noise[t])
        )
        chosen.append(decision.arm)
    return chosen


def uncalibrated(scale: Scale, seed: int) -> Outcome:
    return judged((EnsembleSampling(scale=1.0, regularization=1.0),), scale, seed, 1.0)


CLAIM = Claim(
    id=ID,
    title="Calibrated policies do not care for units",
    statement="multiplying all rewards by a constant changes no decision of a policy that learns its scales",
    latex=r"Y_t \mapsto c\,Y_t\ \Rightarrow\ X_t \mapsto X_t,\quad c = 2^k",
    reference="not in the paper; scales learned from the rewards by type-II maximum likelihood",
    section=Section.BEYOND,
    assumptions=(
        "scale and regularization learned from the rewards",
        "c a power of two, so that rounding is the same",
    ),
    kind=Kind.IDENTITY,
    faults=(Fault("the first reward multiplied by f", measure),),
    broken=Broken("perturbations of scale 1, whatever the rewards", uncalibrated),
    note="Theorem 1 has to be told the size of the noise and of the parameter. A policy that learns its scales from the "
    "rewards has no guarantee, but nothing to be told, and is the same in dollars and in cents.",
    costs={Scale.QUICK: Cost(0.5), Scale.STANDARD: Cost(12), Scale.PAPER: Cost(300)},
)
