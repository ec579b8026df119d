"""The optimistic member rule, first step: in every round some member is optimistic."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.histories import Stacks, draw_stacks
from ensample.claims.optimistic import drawn_problem, optimistic, size_without_union
from ensample.claims.watched import replicates, watch
from ensample.theory import Setting, optimistic_size, radius
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "optimistic-existence"


def check(scale: Scale, seed: int, size: Callable[[Setting], int] = optimistic_size) -> Outcome:
    """Whether the farthest reach max_j U'Z^j / (beta_T |U|) stays at least 1: in all histories, under attack, in runs."""
    delta, runs = scale.choose(0.2, 0.05, 0.01), scale.choose(80, 600, 6000)
    longer = scale.choose(1, 2, 3)
    attacks: list[tuple[str, Setting, Callable[[Setting, int, int, int], float], int]] = [
        ("all histories", Setting(2, 2, 20 * longer, 1.0, 1.0, 1.0, delta), least_of_all, 4 * runs),
        ("all histories, d > K", Setting(5, 2, 16 * longer, 1.0, 1.0, 3.0, delta), least_of_all, 4 * runs),
        (
            "all histories, near-copies",
            Setting(2, 3, 8 * longer, 1.0, 1.0, 1.0, delta),
            partial(least_of_all, copies=3),
            4 * runs,
        ),
        ("an adversary who sees all", Setting(3, 6, 20 * longer, 1.0, 1.0, 1.0, delta), least_found, runs),
        ("runs", Setting(2, 5, 30 * longer, 1.0, 1.0, 1.0, delta), least_in_run, runs),
        ("runs without noise, d > K", Setting(6, 3, 30 * longer, 0.0, 1.0, 1.0, delta), least_in_run, runs),
    ]
    single = Setting(1, 1, 4, 1.0, 1.0, 1e-3, delta)
    found = [
        (
            "all histories of one arm, lam = 0.001",
            single,
            least_of_one_arm(single, size(single), seed, min(100 * runs, 300_000)),
        )
    ]
    for place, (name, setting, least, count) in enumerate(attacks, 1):
        one = partial(least, setting, size(setting), seed)
        reaches = replicates(one, count, first=place * 10**6)
        found.append((name, setting, np.array(reaches)))
    outcomes = []
    for name, setting, reach in found:
        detail = f"{name} (d = {setting.dim}, K = {setting.arms}, T = {setting.horizon}, m = {size(setting)}): "
        detail += f"reach at least {reach.min():.3g} beta_T"
        kept = int((reach >= 1.0).sum())
        outcomes.append(probability_at_least(kept, reach.size, 1.0 - delta, detail, CLAIM_ALARM / len(found)))
    return replace(weakest(outcomes), figure=figure(scale, seed))


def stacks(setting: Setting, size: int, seed: int, part: int, copies: int = 1) -> Stacks:
    world = drawn_problem(setting, seed, ID, part, copies)
    return draw_stacks(world, setting.regularization, setting.horizon, size, generator(seed, ID, part))


def least_of_all(setting: Setting, size: int, seed: int, part: int, copies: int = 1) -> float:
    """The least farthest reach over every vector of pull counts: no attack can do worse."""
    looks = stacks(setting, size, seed, part, copies).look_at_all()
    return min(float(reach.max(axis=1).min()) for reach, _ in looks)


def least_of_one_arm(setting: Setting, size: int, seed: int, count: int) -> FloatArray:
    """The same for many ensembles at once, which is possible where all problems are alike: one arm, one dimension."""
    side_by_side = stacks(setting, size * count, seed, 0).look_at_all()
    least = [reach.reshape(len(reach), count, size).max(axis=2).min(axis=0) for reach, _ in side_by_side]
    return np.asarray(np.min(least, axis=0))


def least_found(setting: Setting, size: int, seed: int, part: int) -> float:
    """The least that a greedy adversary finds who knows every perturbation, those to come included, and chooses the arms."""
    drawn = stacks(setting, size, seed, part)
    step = np.eye(len(drawn.arms), dtype=np.int64)
    counts = np.zeros_like(step[0])
    least = float(drawn.look(counts[None])[0].max())
    for _ in range(setting.horizon - 1):
        reaches = drawn.look(counts + step)[0].max(axis=1)
        counts = counts + step[reaches.argmin()]
        least = min(least, float(reaches.min()))
    return least


def least_in_run(setting: Setting, size: int, seed: int, part: int) -> float:
    """The least over the rounds of a run of the library with the optimistic rule."""
    looks = watch(optimistic(setting, size), drawn_problem(setting, seed, ID, part), setting.horizon, seed, ID, part)
    return min(float(look.reach.max()) for look in looks) / radius(setting)


def figure(scale: Scale, seed: int) -> Figure:
    """How often some history has no optimistic member, over the number of members."""
    setting, runs = Setting(2, 2, 20, 1.0, 1.0, delta=0.2), scale.choose(60, 600, 6000)
    prescribed = optimistic_size(setting)
    sizes = sorted({1, prescribed // 8, prescribed // 4, prescribed // 2, 3 * prescribed // 4, prescribed})
    failures = []
    for size in sizes:
        reaches = replicates(partial(least_of_all, setting, size, seed), runs, first=10**8)
        failures.append(float(np.mean([reach < 1.0 for reach in reaches])))
    x = tuple(float(size) for size in sizes)
    curves = (
        Curve("measured", x, tuple(failures)),
        Curve("delta, at the prescribed m", x, (setting.delta,) * len(x), bound=True),
    )
    return Figure(f"Some history without an optimistic member, m = {prescribed}", "members", "probability", curves)


CLAIM = Claim(
    id=ID,
    title="Some member is optimistic in every round",
    statement="with 5.79 (K log T + log 1/delta) members, one of them is optimistic in every round, whatever the history",
    latex=r"m \ge \frac{K\log T + \log(1/\delta)}{\log(1/(1-p_N))}:\quad"
    r"\mathbb{P}\big(\forall t\ \exists j:\ U_{t-1}^\top\mathbf{Z}_t^j \ge \beta_T\|U_{t-1}\|_2\big) \ge 1-\delta",
    reference="not in the paper: derived from fact:gaussian and prop:optimism",
    section=Section.BEYOND,
    assumptions=("finitely many arms", "Gaussian laws of Theorem 1", "perturbations independent of the noise"),
    kind=Kind.PROBABILITY,
    check=check,
    broken=Broken(
        "the union over histories left out: log(1/delta) / log(1/(1 - p_N)) members",
        lambda scale, seed: check(scale, seed, size=size_without_union),
    ),
    note="Ours, so attacked harder than the rest: every vector of pull counts of small problems is looked at, which no "
    "algorithm, noise or adversary can surpass, and an adversary with knowledge of the future chooses arms in larger ones. "
    "With one arm and little regularization histories are nearly independent and the union bound nearly tight: there it stands "
    "with little to spare. 55 times fewer members than Theorem 1 asks for.",
    costs={Scale.QUICK: Cost(1.2), Scale.STANDARD: Cost(20), Scale.PAPER: Cost(1000, 1500)},
)
