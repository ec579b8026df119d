"""The optimistic member rule: some member is optimistic, all stay close, and the regret follows."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import Trials, each_at_least, generator
from ensample.claims.histories import Stacks, draw_problem, draw_stacks, failure_figure
from ensample.claims.recorded import replicates, watch
from ensample.claims.regrets import Case, bound_against_regret, judge, play
from ensample.claims.texts import claim, twin
from ensample.member_rules import OptimisticMember
from ensample.perturbations import P_N
from ensample.policies import EnsembleSampling
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.theory import (
    Setting,
    optimistic_radius,
    optimistic_size,
    radius,
    sharp_optimistic_size,
)
from ensample.types import FloatArray

OneRun = Callable[[Setting, int, int], float]
"""Measures one run of a setting from (seed, part)."""


def optimistic(setting: Setting, size: int | None = None) -> EnsembleSampling:
    """Return the rule at its own constants, or with another number of members."""
    recipe = EnsembleSampling.from_theorem(setting, member=OptimisticMember())
    return recipe if size is None else replace(recipe, size=size)


# optimistic-existence: in every round some member is optimistic

EXISTENCE = "optimistic-existence"


def measure_existence(scale: Scale, seed: int) -> Judge:
    """The least max_j U'Z^j / (beta_T |U|) in all histories, under attack and in runs."""
    delta, runs = scale.choose(0.2, 0.05, 0.01), scale.choose(120, 600, 6000)
    longer = scale.choose(1, 2, 3)
    found = [
        (f"all histories{name}", setting, reaches[:, -1])
        for name, setting, reaches in small_problems(scale, seed)
    ]
    single = Setting(1, 1, 4, 1.0, 1.0, 1e-3, delta)
    reach = reach_of_one_arm(single, seed, min(100 * runs, 300_000))
    found.append(("all histories of one arm, lam = 0.001", single, reach))
    attacked = Setting(3, 6, 20 * longer, 1.0, 1.0, 1.0, delta)
    noisy = Setting(2, 5, 30 * longer, 1.0, 1.0, 1.0, delta)
    wide = Setting(6, 3, 30 * longer, 0.0, 1.0, 1.0, delta)
    attacks: list[tuple[str, Setting, OneRun]] = [
        ("an adversary who sees all", attacked, least_found),
        ("runs", noisy, least_in_run),
        ("runs without noise, d > K", wide, least_in_run),
    ]
    for place, (name, setting, least) in enumerate(attacks, 5):
        reaches = replicates(partial(least, setting, seed), runs, place * 10**6)
        found.append((name, setting, np.array(reaches)))
    drawn = existence_figure(found[0][1], scale, seed)
    return lambda f: replace(existence_outcome(found, f), figure=drawn)


Reaches = tuple[str, Setting, FloatArray]
"""A name, the setting, and the least farthest reach of each run."""


def existence_outcome(found: list[Reaches], f: float) -> Outcome:
    """P(the farthest reach is at least f beta_T in all histories) >= 1 - delta."""
    trials = []
    for name, setting, reach in found:
        size = sharp_optimistic_size(setting)
        sizes = f"d = {setting.dim}, K = {setting.arms}, T = {setting.horizon}, m = {size}"
        detail = f"{name} ({sizes}): reach at least {reach.min():.3g} beta_T"
        kept = int((reach >= f).sum())
        trials.append(Trials(kept, reach.size, 1.0 - setting.delta, detail))
    return each_at_least(trials)


def small_problems(scale: Scale, seed: int) -> list[Reaches]:
    """Problems whose histories can all be checked: the reaches of the first 1 to m members.

    Of the last problem, three arms at a time almost coincide.
    """
    delta, longer, count = scale.choose((0.2, 1, 350), (0.05, 2, 2400), (0.01, 3, 24_000))
    listed = (
        ("", Setting(2, 2, 20 * longer, 1.0, 1.0, 1.0, delta), 1, count),
        (", d > K", Setting(5, 2, 16 * longer, 1.0, 1.0, 3.0, delta), 1, count),
        (", near-copies", Setting(2, 3, 8 * longer, 1.0, 1.0, 1.0, delta), 3, 3 * count),
    )
    return [
        (name, setting, reach_of_all_histories(setting, copies, runs, seed, place * 10**6))
        for place, (name, setting, copies, runs) in enumerate(listed, 1)
    ]


def shrink(scale: Scale, seed: int, without_union: bool = False) -> Judge:
    """All histories with m / f members, or with enough for a single history."""
    listed = small_problems(scale, seed)

    def members(setting: Setting, f: float) -> int:
        if without_union:  # log(1/delta) / log(1/(1 - p_N))
            return math.ceil(math.log(setting.delta) / math.log1p(-P_N))
        return max(1, round(sharp_optimistic_size(setting) / f))

    def judge(f: float) -> Outcome:
        fewer = [
            (f"all histories{name}", setting, reaches[:, members(setting, f) - 1])
            for name, setting, reaches in listed
        ]
        return existence_outcome(fewer, 1.0)

    return judge


def stacks(setting: Setting, size: int, seed: int, part: int, copies: int = 1) -> Stacks:
    world = draw_problem(setting, seed, EXISTENCE, part, copies)
    return draw_stacks(world, setting, size, generator(seed, EXISTENCE, part))


@lru_cache(4)  # smaller ensembles are judged on the same draws
def reach_of_all_histories(
    setting: Setting, copies: int, runs: int, seed: int, first: int
) -> FloatArray:
    """The least farthest reach over every vector of pull counts, of 1 to m members: [runs, m]."""

    def one(part: int) -> FloatArray:
        return stacks(setting, sharp_optimistic_size(setting), seed, part, copies).least_reaches()

    return np.array(replicates(one, runs, first))


def reach_of_one_arm(setting: Setting, seed: int, count: int) -> FloatArray:
    """The same for many ensembles at once: with one arm in one dimension all problems are alike."""
    size, least = sharp_optimistic_size(setting), np.full(count, np.inf)
    for reaches, _ in stacks(setting, size * count, seed, 0).look_at_all():
        farthest = reaches.reshape(len(reaches), count, size).max(axis=2)
        least = np.minimum(least, farthest.min(axis=0))
    return least


def least_found(setting: Setting, seed: int, part: int) -> float:
    """The least reach found by a greedy adversary who knows all perturbations, also later ones."""
    drawn = stacks(setting, sharp_optimistic_size(setting), seed, part)
    step = np.eye(len(drawn.arms), dtype=np.int64)
    counts = np.zeros_like(step[0])
    least = float(drawn.look(counts[None])[0].max())
    for _ in range(setting.horizon - 1):
        reaches = drawn.look(counts + step)[0].max(axis=1)
        counts = counts + step[reaches.argmin()]
        least = min(least, float(reaches.min()))
    return least


def least_in_run(setting: Setting, seed: int, part: int) -> float:
    """The least reach over the rounds of a run of the library with the optimistic rule."""
    recipe = optimistic(setting, sharp_optimistic_size(setting))
    world = draw_problem(setting, seed, EXISTENCE, part)
    looks = watch(recipe, world, setting.horizon, seed, EXISTENCE, part)
    return min(float(look.reach.max()) for look in looks) / radius(setting)


def existence_figure(setting: Setting, scale: Scale, seed: int) -> Figure:
    """How often some history has no optimistic member, over the number of members."""
    reaches = reach_of_all_histories(setting, 1, scale.choose(100, 600, 6000), seed, 10**8)
    failures = (reaches < 1.0).mean(axis=0)
    title = f"Some history without an optimistic member, m = {failures.size}"
    return failure_figure(title, failures, setting)


claim(EXISTENCE, measure_existence, shrink, broken=twin(shrink, without_union=True))

# optimistic-concentration: all members stay close in all rounds

CONCENTRATION = "optimistic-concentration"


def measure_concentration(scale: Scale, seed: int) -> Judge:
    """The largest |theta~^j|_V of all members and rounds, against gamma_opt - beta_T."""
    delta, runs = scale.choose(0.2, 0.05, 0.02), scale.choose(75, 400, 1500)
    longer = scale.choose(1, 5, 20)
    attacks: list[tuple[str, Setting, OneRun]] = [
        ("an adversary", Setting(3, 10, 100 * longer, 1.0, 1.0, 1.0, delta), pushed),
        ("an adversary, lam = 4", Setting(1, 2, 200 * longer, 1.0, 1.0, 4.0, delta), pushed),
        ("runs", Setting(2, 5, 40 * longer, 1.0, 1.0, 1.0, delta), largest_in_run),
        (
            "runs without noise, d > K",
            Setting(6, 3, 40 * longer, 0.0, 1.0, 1.0, delta),
            largest_in_run,
        ),
    ]
    found = {}
    for place, (name, setting, largest) in enumerate(attacks):
        norms = replicates(partial(largest, setting, seed), runs, place * 10**6)
        sizes = f"d = {setting.dim}, T = {setting.horizon}, m = {optimistic_size(setting)}"
        found[f"{name} ({sizes})"] = np.array(norms) / relative_radius(setting)
    drawn = concentration_figure(attacks[0][1], seed)

    def judge(f: float) -> Outcome:
        trials = []
        for name, ratios in found.items():
            kept = int((f * ratios <= 1.0).sum())
            detail = f"{name}: at most {f * ratios.max():.2f} of the radius"
            trials.append(Trials(kept, runs, 1.0 - delta, detail))
        return replace(each_at_least(trials), figure=drawn)

    return judge


def relative_radius(setting: Setting) -> float:
    """(gamma_opt - beta_T) / beta_T: how far theta~ may be from 0 at scale 1."""
    return optimistic_radius(setting) / radius(setting) - 1.0


def largest_in_run(setting: Setting, seed: int, part: int) -> float:
    """max_t max_j |theta~^j|_V / beta_T in a run of the library with the optimistic rule."""
    world = draw_problem(setting, seed, CONCENTRATION, part)
    looks = watch(optimistic(setting), world, setting.horizon, seed, CONCENTRATION, part)
    return max(float(look.norms.max()) for look in looks) / radius(setting)


def pushed(setting: Setting, seed: int, part: int) -> float:
    return max(pushed_norms(setting, seed, part))


def pushed_norms(setting: Setting, seed: int, part: int) -> list[float]:
    """max_j |theta~^j|_V at scale 1, round by round, when an adversary chooses the arms.

    The adversary sees all perturbations so far and plays the arm after which the largest norm is
    expected to grow most: E |theta~|_V^2 changes by (l - (x'theta~)^2) / (1 + l), l = |x|^2_{V^-1}.
    """
    world = draw_problem(setting, seed, CONCENTRATION, part)
    rng = generator(seed, CONCENTRATION, part)
    assert isinstance(world.arms, FiniteArms)
    arms, lam, size = world.arms.features, setting.regularization, optimistic_size(setting)
    V = lam * np.eye(setting.dim)
    S = math.sqrt(lam) * rng.standard_normal((setting.dim, size))
    norms = []
    for _ in range(setting.horizon):
        inverse = np.linalg.inv(V)
        theta_tilde = inverse @ S
        squares = (S * theta_tilde).sum(axis=0)
        norms.append(math.sqrt(squares.max()))
        leverage = ((arms @ inverse) * arms).sum(axis=1)
        growth = (leverage - (arms @ theta_tilde[:, squares.argmax()]) ** 2) / (1.0 + leverage)
        x = arms[growth.argmax()]
        V += np.outer(x, x)
        S += np.outer(x, rng.standard_normal(size))
    return norms


def concentration_figure(setting: Setting, seed: int) -> Figure:
    """The largest norm of all members over the rounds of one adversarial history."""
    norms, bound = pushed_norms(setting, seed, 10**8), (relative_radius(setting),) * 2
    curves = (
        curve("largest of all members", range(1, len(norms) + 1), norms),
        curve("radius, for all rounds", (1, len(norms)), bound, bound=True),
    )
    title = f"Perturbation norms, m = {optimistic_size(setting)}"
    return Figure(title, "round", "norm / beta_T", curves)


claim(CONCENTRATION, measure_concentration, broken=3.0)

# optimistic-regret: the regret of the rule

DELTA = 0.1
WITHOUT = 1e6  # a fault so large that nothing is left of the perturbations
# The first arm is longer, so that it is met first; a policy must still be able to try the second.
UNEVEN = LinearProblem(FiniteArms([[1.0, 0.0], [0.0, 0.8]]), [0.2, 0.979], 0.0)
LINE = LinearProblem(FiniteArms([[-1.0], [1.0]]), [1.0], 0.0)
SINGLE = 400  # runs of a single round, of which half go wrong

Listed = tuple[str, Setting, Problem | Family]


def measure_regret(scale: Scale, seed: int) -> Judge:
    """Regret at the rule's own constants against gamma_opt sqrt(2 d T log(1 + T/(d lam)))."""
    cases = [case(*listed) for listed in regret_problems(scale)]
    regrets = play("optimistic-regret", cases, seed)
    drawn = bound_against_regret("The optimistic rule, d = 2, K = 5", cases, regrets)
    return lambda f: replace(judge(cases, regrets, f), figure=drawn)


def regret_problems(scale: Scale) -> list[Listed]:
    longest, uneven = scale.choose((6000, 16_000), (40_000, 40_000), (400_000, 400_000))
    loud = LinearProblem(FiniteArms(np.eye(2)), [0.7, 0.6], 0.1)
    sphere = problem("sphere", dim=2, arms=5, noise=0.1)
    copies = problem("adversarial-duplicates", dim=2, arms=12, centres=3, noise=0.1)
    horizons = 100, longest // 8, longest
    return [
        *(("sphere", Setting(2, 5, T, 0.1, 1.0, delta=DELTA), sphere) for T in horizons),
        ("two arms without noise", Setting(2, 2, uneven, 0.0, 1.0, delta=DELTA), UNEVEN),
        ("a single round", Setting(1, 2, 1, 0.0, 1.0, delta=DELTA), LINE),
        ("two arms", Setting(2, 2, longest, 0.1, 1.0, 2.0, DELTA), loud),
        ("near-copies", Setting(2, 12, longest // 4, 0.1, 1.0, delta=DELTA), copies),
    ]


def case(name: str, setting: Setting, world: Problem | Family, strength: float = 1.0) -> Case:
    """The rule with perturbations times `strength`, against the bound at full strength."""
    recipe = optimistic(setting)
    guarantee = recipe.guarantee(setting)
    if strength != 1.0:
        scale = strength * recipe.unit_scale
        recipe = EnsembleSampling(recipe.size, scale, recipe.lam, member=recipe.member)
    runs, label = SINGLE if setting.horizon == 1 else 0, f"{name} (m = {recipe.size})"
    return Case(label, recipe, world, setting, guarantee, name == "sphere", runs)


def weaken(scale: Scale, seed: int) -> Judge:
    """The two arms without noise, with perturbations divided by f."""
    chosen = [listed for listed in regret_problems(scale) if listed[0] == "two arms without noise"]

    def weakened(f: float) -> Outcome:
        cases = [case(*listed, 1.0 / f if f < WITHOUT else 0.0) for listed in chosen]
        return judge(cases, play("optimistic-regret", cases, seed), 1.0)

    return weakened


claim("optimistic-regret", measure_regret, weaken, broken=twin(weaken, f=WITHOUT))
