"""Shares of optimistic members: the Proposition, for other laws, and with a sharper size."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import Trials, each_at_least, generator
from ensample.claims.histories import draw_problem, draw_stacks, failure_figure
from ensample.claims.recorded import replicates, watch
from ensample.claims.texts import claim, twin
from ensample.perturbations import P_N, InitialLaw, Perturbation, Rademacher, Sphere, Uniform
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, ensemble_size, perturbation_radius, radius, sharp_size
from ensample.types import FloatArray

LEAST_SHARE = P_N / 4.0

# optimism-share: in every round, a share p_N / 4 of the members is optimistic

SMALLER = (1, 3, 10, 30, 100, 300)
SHOWN = Setting(dim=3, arms=5, horizon=60, noise=1.0, norm=1.0, delta=0.2)


def measure_share(scale: Scale, seed: int) -> Judge:
    """The least share over all histories of a small problem and over all rounds of runs."""
    small, *large = settings(scale)
    everything = shares_of_settings(small, scale, seed)
    found = {"all histories": (small, everything[:, -1])}
    for place, setting in enumerate(large, 1):
        least = replicates(partial(least_in_run, setting, seed), len(everything), place * 10**6)
        found[f"rounds of a run, d = {setting.dim}, K = {setting.arms}"] = setting, np.array(least)
    drawn, note = share_figure(seed), smaller_ensembles(everything, small)

    def judge(f: float) -> Outcome:
        trials = []
        for name, (setting, least) in found.items():
            size = f"m = {ensemble_size(setting):,}, T = {setting.horizon}"
            detail = f"{name} ({size}): least share {least.min():.4f}"
            kept = int((least >= f * LEAST_SHARE).sum())
            trials.append(Trials(kept, least.size, 1.0 - setting.delta, detail))
        worst = each_at_least(trials)
        return replace(worst, detail=f"{worst.detail}; {note}", figure=drawn)

    return judge


def settings(scale: Scale) -> tuple[Setting, ...]:
    """The first is small enough to check all of its histories; the last has d > K and no noise."""
    delta = scale.choose(0.2, 0.05, 0.01)
    return (
        Setting(2, 3, scale.choose(8, 14, 25), 1.0, 1.0, 1.0, delta),
        Setting(2, 4, scale.choose(30, 100, 1000), 1.0, 1.0, 1.0, delta),
        Setting(5, 3, scale.choose(30, 150, 1000), 0.0, 1.0, 2.0, delta),
    )


def shares_of_settings(setting: Setting, scale: Scale, seed: int) -> FloatArray:
    runs = scale.choose(70, 300, 3000)
    return shares_of_all_histories(setting, ensemble_size(setting), runs, seed, "optimism-share")


@lru_cache(1)  # smaller ensembles are judged on the same draws
def shares_of_all_histories(
    setting: Setting, size: int, runs: int, seed: int, claim: str
) -> FloatArray:
    """The least share over every vector of pull counts, for 1 to `size` members: [runs, size].

    No rule, noise or adversary can find a smaller one.
    """
    gamma = perturbation_radius(setting) / radius(setting)  # everything at scale 1

    def one(part: int) -> FloatArray:
        world, rng = draw_sphere(setting, seed, claim, part), generator(seed, claim, part)
        return draw_stacks(world, setting, size, rng).least_shares(1.0, gamma)

    return np.array(replicates(one, runs))


def smaller_ensembles(least: FloatArray, setting: Setting) -> str:
    """Say how often ensembles of fewer members have some history with less than the share."""
    sizes = [size for size in SMALLER if size <= least.shape[1]]
    below = [(least[:, size - 1] < LEAST_SHARE).mean() for size in sizes]
    listed = ", ".join(f"m = {size}: {share:.0%}" for size, share in zip(sizes, below, strict=True))
    return f"ensembles below p_N/4 in some history of {setting.horizon} rounds: {listed}"


def draw_sphere(setting: Setting, seed: int, claim: str, part: int) -> LinearProblem:
    family = problem("sphere", dim=setting.dim, arms=setting.arms, noise=setting.noise)
    drawn = family.draw(generator(seed, claim, part, RunStream.PROBLEM))
    assert isinstance(drawn, LinearProblem)
    return drawn


def shares_in_run(setting: Setting, size: int, seed: int, part: int) -> list[float]:
    """I_t in every round at the theorem's scale, with beta_T for beta_{t-1}, which is harder."""
    theorem = EnsembleSampling.from_theorem(setting)
    recipe = EnsembleSampling(size, theorem.unit_scale, theorem.lam)
    world = draw_sphere(setting, seed, "optimism-share", part)
    looks = watch(recipe, world, setting.horizon, seed, "optimism-share", part)
    beta, gamma = radius(setting), perturbation_radius(setting)
    return [float(((look.reach >= beta) & (look.norms <= gamma)).mean()) for look in looks]


def least_in_run(setting: Setting, seed: int, part: int) -> float:
    return min(shares_in_run(setting, ensemble_size(setting), seed, part))


def shrink(scale: Scale, seed: int) -> Judge:
    """All histories, with fewer members."""
    setting = settings(scale)[0]
    least = shares_of_settings(setting, scale, seed)

    def judge(f: float) -> Outcome:
        size = max(1, round(ensemble_size(setting) / f))
        kept = int((least[:, size - 1] >= LEAST_SHARE).sum())
        return each_at_least([Trials(kept, len(least), 1.0 - setting.delta, f"m = {size:,}")])

    return judge


def share_figure(seed: int) -> Figure:
    """The share over the rounds of one run for each of several sizes, against p_N / 4."""
    curves, rounds = [], range(1, SHOWN.horizon + 1)
    for size in (10, 100, ensemble_size(SHOWN)):
        shares = shares_in_run(SHOWN, size, seed, 10**8 + size)
        curves.append(curve(f"m = {size:,}", rounds, shares))
    for label, value in (("p_N", P_N), ("p_N / 4", LEAST_SHARE)):
        curves.append(curve(label, (1, SHOWN.horizon), (value, value), bound=True))
    return Figure("Share of optimistic members", "round", "share", tuple(curves))


claim("optimism-share", measure_share, shrink, broken=twin(shrink, f=300.0))

# optimism-share-other-laws: a share of 0.01 / 4 for perturbations that are not Gaussian

Pair = tuple[InitialLaw, Perturbation]
PAIRS: tuple[Pair, ...] = (
    (Rademacher(), Rademacher()),
    (Sphere(), Rademacher()),
    (Uniform(), Uniform()),
)
TIMES = 3.0  # of beta_T, the scale of laws that are not Gaussian


def measure_other_laws(
    scale: Scale, seed: int, strength: float = 1.0, pairs: tuple[Pair, ...] = PAIRS
) -> Judge:
    """The least share that an adversary finds, for each pair of laws of W and Z."""
    horizon, delta = scale.choose((40, 0.1), (100, 0.05), (400, 0.02))
    setting = Setting(2, 3, horizon, 1.0, 1.0, 1.0, delta)
    runs = scale.choose(150, 600, 2000)
    found = {}
    for place, pair in enumerate(pairs):
        name = " and ".join(type(law).__name__ for law in pair)
        one = partial(least_found, setting, pair, strength, seed)
        found[name] = np.array(replicates(one, runs, place * 10**6))
    size = sharp_size(setting, None, Rademacher())

    def judge(f: float) -> Outcome:
        trials = []
        for name, least in found.items():
            kept, detail = int((least >= f * 0.01 / 4.0).sum()), f"least share {least.min():.4f}"
            trials.append(Trials(kept, runs, 1.0 - delta, f"{name}: {detail}"))
        worst = each_at_least(trials)
        problem = f"K = {setting.arms}, T = {setting.horizon}, m = {size:,}"
        return replace(worst, detail=f"{problem}; {worst.detail}")

    return judge


def least_found(setting: Setting, pair: Pair, strength: float, seed: int, part: int) -> float:
    """The least share with U'Z >= beta_T |U| and |theta~|_V <= gamma~, laws at 3 beta_T."""
    id, (initial, reward) = "optimism-share-other-laws", pair
    size = sharp_size(setting, None, reward)
    gamma = perturbation_radius(setting, reward) / (TIMES * radius(setting))  # all at scale 1
    rng, world = generator(seed, id, part), draw_problem(setting, seed, id, part)
    stacks = draw_stacks(world, setting, size, rng, reward, initial)
    return float(stacks.least_shares_found(1.0 / (TIMES * strength), gamma / strength, 5)[-1])


def weaken(scale: Scale, seed: int) -> Judge:
    """Signs, divided by f."""
    return lambda f: measure_other_laws(scale, seed, 1.0 / f, PAIRS[:1])(1.0)


claim("optimism-share-other-laws", measure_other_laws, weaken, broken=twin(weaken, f=20.0))

# sharp-size: Chernoff's inequality for Hoeffding's, and as many histories as there are

STEPS = 12  # of the adversary


def measure_sharp_size(scale: Scale, seed: int) -> Judge:
    """How often the least share is p_N / 4 at m / f, over all histories or against an adversary."""
    delta, runs = scale.choose(0.2, 0.05, 0.02), scale.choose(100, 800, 3000)
    small = [
        Setting(2, 2, scale.choose(20, 40, 60), 1.0, 1.0, 1.0, delta),
        Setting(3, 3, scale.choose(8, 14, 20), 1.0, 1.0, 2.0, delta),
    ]
    found = []
    for n, setting in enumerate(small):
        size, id = sharp_size(setting), f"sharp-size {n}"
        found.append((setting, shares_of_all_histories(setting, size, runs, seed, id)))
    sizes = scale.choose((3, 10, 100), (5, 20, 10_000), (5, 20, 10_000))
    large = Setting(*sizes, 1.0, 1.0, 1.0, delta)
    attacks = replicates(partial(under_attack, large, seed), scale.choose(runs, 320, 3000))
    found.append((large, np.array(attacks)))
    setting, least = found[0]
    title = f"Some history below p_N / 4, m = {least.shape[1]}"
    drawn = failure_figure(title, (least < LEAST_SHARE).mean(axis=0), setting)
    halves = [(least[:, least.shape[1] // 2 - 1] < LEAST_SHARE).mean() for _, least in found]
    half = ", ".join(f"{share:.1%}" for share in halves)

    def judge(f: float) -> Outcome:
        worst = each_at_least([with_fewer(setting, least, f) for setting, least in found])
        detail = f"{worst.detail}; with half of them {half} of the ensembles fall below"
        return replace(worst, detail=detail, figure=drawn)

    return judge


def with_fewer(setting: Setting, least: FloatArray, f: float) -> Trials:
    """Count the runs in which m / f members keep the share."""
    size = max(1, round(least.shape[1] / f))
    share, paper = least[:, size - 1], ensemble_size(setting)
    detail = (
        f"d = {setting.dim}, K = {setting.arms}, T = {setting.horizon}: {size} members where the "
        f"paper has {paper:,}, least share {share.min():.4f}"
    )
    return Trials(int((share >= LEAST_SHARE).sum()), share.size, 1.0 - setting.delta, detail)


def under_attack(setting: Setting, seed: int, part: int) -> FloatArray:
    """The least share of the first n members found by an adversary who knows everything: [m]."""
    world = draw_problem(setting, seed, "sharp-size", part)
    rng = generator(seed, "sharp-size", part)
    every = (setting.horizon - 1) // STEPS
    stacks = draw_stacks(world, setting, sharp_size(setting), rng, every=every)
    gamma = perturbation_radius(setting) / radius(setting)
    return stacks.least_shares_found(1.0, gamma, STEPS)


claim("sharp-size", measure_sharp_size, broken=10.0)
