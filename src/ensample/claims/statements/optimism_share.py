"""The Proposition behind Theorem 1: in every round, a fixed share of the members is optimistic."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from ensample.claims.claim import (
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.histories import draw_stacks
from ensample.claims.watched import replicates, watch
from ensample.perturbations import P_N
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, ensemble_size, perturbation_radius, radius
from ensample.types import FloatArray

ID = "optimism-share"
BOUND = P_N / 4.0
SMALLER = (1, 3, 10, 30, 100, 300)
SHOWN = Setting(dim=3, arms=5, horizon=60, noise=1.0, norm=1.0, delta=0.2)


def measure(scale: Scale, seed: int) -> Judge:
    """Whether the least share, over all histories of a small problem or all rounds of a run, is at least p_N / 4."""
    small, *played = settings(scale)
    everything = of_all_histories(
        small, ensemble_size(small), scale.choose(70, 300, 3000), seed, ID
    )
    found = {"all histories": (small, everything[:, -1])}
    for place, setting in enumerate(played, 1):
        one = partial(least_in_run, setting, seed)
        least = replicates(one, len(everything), first=place * 10**6)
        found[f"rounds of a run, d = {setting.dim}, K = {setting.arms}"] = setting, np.array(least)
    drawn, told = figure(seed), smaller(everything, small, SMALLER)

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, (setting, least) in found.items():
            detail = f"{name} (m = {ensemble_size(setting):,}, T = {setting.horizon}): least share {least.min():.4f}"
            kept, alarm = int((least >= f * BOUND).sum()), CLAIM_ALARM / len(found)
            outcomes.append(
                probability_at_least(kept, least.size, 1.0 - setting.delta, detail, alarm)
            )
        worst = weakest(outcomes)
        return replace(worst, detail=f"{worst.detail}; {told}", figure=drawn)

    return judge


def settings(scale: Scale) -> tuple[Setting, ...]:
    """The first is small enough to look at all of its histories."""
    delta = scale.choose(0.2, 0.05, 0.01)
    return (
        Setting(2, 3, scale.choose(8, 14, 25), 1.0, 1.0, 1.0, delta),
        Setting(2, 4, scale.choose(30, 100, 1000), 1.0, 1.0, 1.0, delta),
        Setting(
            5, 3, scale.choose(30, 150, 1000), 0.0, 1.0, 2.0, delta
        ),  # more dimensions than arms, no noise
    )


@lru_cache(1)  # what is asked of fewer members is asked of the same draws
def of_all_histories(setting: Setting, size: int, runs: int, seed: int, claim: str) -> FloatArray:
    """The least share over every vector of pull counts, for ensembles of 1 to `size` members: [runs, size].

    No rule, noise or adversary can find a smaller one.
    """
    gamma = perturbation_radius(setting) / radius(setting)  # everything at scale 1

    def one(part: int) -> FloatArray:
        world, rng = drawn_problem(setting, seed, claim, part), generator(seed, claim, part)
        return draw_stacks(world, setting.regularization, setting.horizon, size, rng).least_shares(
            1.0, gamma
        )

    return np.array(replicates(one, runs))


def smaller(least: FloatArray, setting: Setting, sizes: tuple[int, ...]) -> str:
    """How often ensembles of fewer members have some history with less than the share."""
    told = [
        f"m = {size}: {(least[:, size - 1] < BOUND).mean():.0%}"
        for size in sizes
        if size <= least.shape[1]
    ]
    return f"ensembles below p_N/4 in some history of {setting.horizon} rounds: {', '.join(told)}"


def drawn_problem(setting: Setting, seed: int, claim: str, part: int) -> LinearProblem:
    family = problem("sphere", dim=setting.dim, arms=setting.arms, noise=setting.noise)
    drawn = family.draw(generator(seed, claim, part, RunStream.PROBLEM))
    assert isinstance(drawn, LinearProblem)
    return drawn


def shares(setting: Setting, size: int, seed: int, part: int) -> list[float]:
    """I_t in every round of a run at the theorem's scale, with beta_T for beta_{t-1}: as the appendix has it, and harder."""
    theorem = EnsembleSampling.from_theorem(setting)
    recipe = EnsembleSampling(size, theorem.unit_scale, theorem.lam)
    looks = watch(recipe, drawn_problem(setting, seed, ID, part), setting.horizon, seed, ID, part)
    beta, gamma = radius(setting), perturbation_radius(setting)
    return [float(((look.reach >= beta) & (look.norms <= gamma)).mean()) for look in looks]


def least_in_run(setting: Setting, seed: int, part: int) -> float:
    """The least share over the rounds of a run of the library at the theorem's constants, all members kept."""
    return min(shares(setting, ensemble_size(setting), seed, part))


def shrink(scale: Scale, seed: int) -> Judge:
    """All histories, with fewer members."""
    setting = settings(scale)[0]
    prescribed = ensemble_size(setting)
    least = of_all_histories(setting, prescribed, scale.choose(70, 300, 3000), seed, ID)

    def judge(f: float) -> Outcome:
        size = max(1, round(prescribed / f))
        kept = int((least[:, size - 1] >= BOUND).sum())
        return probability_at_least(kept, len(least), 1.0 - setting.delta, f"m = {size:,}")

    return judge


def figure(seed: int) -> Figure:
    """The share over the rounds of one run for each of several sizes, against p_N / 4."""
    rounds = tuple(float(t) for t in range(1, SHOWN.horizon + 1))
    curves = [
        Curve(f"m = {size:,}", rounds, tuple(shares(SHOWN, size, seed, 10**8 + size)))
        for size in (10, 100, ensemble_size(SHOWN))
    ]
    for label, value in (("p_N", P_N), ("p_N / 4", BOUND)):
        curves.append(Curve(label, (rounds[0], rounds[-1]), (value, value), bound=True))
    return Figure("Share of optimistic members", "round", "share", tuple(curves))


CLAIM = Claim(
    id=ID,
    title="A share of the members is optimistic in every round",
    statement="with the prescribed m, at least p_N/4 of the members are optimistic and concentrated in all rounds",
    latex=r"\mathbb{P}\Big(\forall t:\ \tfrac1m \#\{j: U_{t-1}^\top\mathbf{Z}_t^j \ge \beta_T\|U_{t-1}\|_2,\ "
    r"\|\tilde\theta_{t-1}^j\|_{V_{t-1}} \le \tilde\gamma_T\} \ge \tfrac{p_N}{4}\Big) \ge 1-\delta",
    reference="prop:optimism",
    section=Section.OPTIMISM,
    assumptions=(
        "finitely many arms",
        "Gaussian laws of Theorem 1",
        "m = (8/p_N^2) (K log T + log 1/delta)",
        "delta/T <= p_N/2",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("the share p_N/4 multiplied by f", measure),
        Fault("m divided by f", shrink, 1000.0),
    ),
    broken=Broken("an ensemble 300 times smaller", lambda scale, seed: shrink(scale, seed)(300.0)),
    note="The proof's union bound covers every vector of pull counts, whoever chose the arms. On a small problem the check "
    "looks at all of them; elsewhere it keeps all m members of a run. The least share is near p_N itself, four times what is "
    "claimed: the union bound is far from tight, and some hundred members do in practice.",
    costs={Scale.QUICK: Cost(2, 200), Scale.STANDARD: Cost(40, 300), Scale.PAPER: Cost(4000, 1000)},
)
