"""The Proposition behind Theorem 1: in every round, a fixed share of the members is optimistic."""

from dataclasses import replace
from functools import partial

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.histories import draw_stacks
from ensample.claims.watched import Round, replicates, watch
from ensample.perturbations import P_N
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, ensemble_size, perturbation_radius, radius

__all__ = ["CLAIM"]

ID = "optimism-share"
BOUND = P_N / 4.0
SMALLER = (1, 3, 10, 30, 100, 300)
SHOWN = Setting(dim=3, arms=5, horizon=60, noise=1.0, norm=1.0, delta=0.2)


def check(scale: Scale, seed: int, strength: float = 1.0) -> Outcome:
    """Whether the least share, over all histories of a small problem or all rounds of a run, is at least p_N / 4."""
    runs = scale.choose(70, 300, 3000)
    delta = scale.choose(0.2, 0.05, 0.01)
    small = Setting(2, 3, scale.choose(8, 14, 25), 1.0, 1.0, 1.0, delta)
    played = [
        Setting(2, 4, scale.choose(30, 100, 1000), 1.0, 1.0, 1.0, delta),
        Setting(5, 3, scale.choose(30, 150, 1000), 0.0, 1.0, 2.0, delta),  # more dimensions than arms, no noise
    ]
    outcomes = [judged("all histories", small, replicates(partial(least_of_all, small, strength, seed), runs), delta)]
    for place, setting in enumerate(played, 1):
        least = replicates(partial(least_in_run, setting, ensemble_size(setting), strength, seed), runs, first=place * 10**6)
        outcomes.append(judged(f"rounds of a run, d = {setting.dim}, K = {setting.arms}", setting, least, delta))
    worst = weakest(outcomes)
    return replace(worst, detail=f"{worst.detail}; {below(scale, seed)}", figure=figure(seed))


def judged(name: str, setting: Setting, least: list[float], delta: float) -> Outcome:
    successes = sum(share >= BOUND for share in least)
    detail = f"{name} (m = {ensemble_size(setting):,}, T = {setting.horizon}): least share {min(least):.4f}"
    return probability_at_least(successes, len(least), 1.0 - delta, detail, CLAIM_ALARM / 3)


def drawn_problem(setting: Setting, seed: int, part: int) -> LinearProblem:
    family = problem("sphere", dim=setting.dim, arms=setting.arms, noise=setting.noise)
    drawn = family.draw(generator(seed, ID, part, RunStream.PROBLEM))
    assert isinstance(drawn, LinearProblem)
    return drawn


def least_of_all(setting: Setting, strength: float, seed: int, part: int) -> float:
    """The least share over every vector of pull counts: no rule, noise or adversary can find a smaller one."""
    stacks = draw_stacks(
        drawn_problem(setting, seed, part),
        setting.regularization,
        setting.horizon,
        ensemble_size(setting),
        generator(seed, ID, part),
    )
    gamma = perturbation_radius(setting) / radius(setting)  # everything at scale 1
    return min(
        float(((strength * reach >= 1.0) & (strength * norms <= gamma)).mean(axis=1).min())
        for reach, norms in stacks.look_at_all()
    )


def share(look: Round, setting: Setting) -> float:
    """I_t, with beta_T for beta_{t-1}: as the appendix has it, and harder."""
    optimistic = (look.reach >= radius(setting)) & (look.norms <= perturbation_radius(setting))
    return float(optimistic.mean())


def shares(setting: Setting, recipe: EnsembleSampling, seed: int, part: int) -> list[float]:
    looks = watch(recipe, drawn_problem(setting, seed, part), setting.horizon, seed, ID, part)
    return [share(look, setting) for look in looks]


def least_in_run(setting: Setting, size: int, strength: float, seed: int, part: int) -> float:
    """The least share over the rounds of a run of the library at the theorem's constants, all members kept."""
    return min(shares(setting, weakened(setting, size, strength), seed, part))


def weakened(setting: Setting, size: int, strength: float = 1.0) -> EnsembleSampling:
    """The theorem's recipe, with another size and perturbations multiplied by `strength`."""
    recipe = EnsembleSampling.from_theorem(setting)
    return EnsembleSampling(size, strength * recipe.unit_scale, recipe.lam)


def below(scale: Scale, seed: int) -> str:
    """What smaller ensembles give: the share of runs that fall below p_N / 4 in some round."""
    runs = scale.choose(20, 200, 2000)
    told = []
    for place, size in enumerate(SMALLER, 10):
        least = replicates(partial(least_in_run, SHOWN, size, 1.0, seed), runs, first=place * 10**6)
        told.append(f"m = {size}: {np.mean([share < BOUND for share in least]):.0%}")
    return f"runs of {SHOWN.horizon} rounds below p_N/4 in some round: {', '.join(told)}"


def figure(seed: int) -> Figure:
    """The share over the rounds of one run for each of several sizes, against p_N / 4."""
    rounds = tuple(float(t) for t in range(1, SHOWN.horizon + 1))
    prescribed = ensemble_size(SHOWN)
    curves = [
        Curve(f"m = {size:,}", rounds, tuple(shares(SHOWN, weakened(SHOWN, size), seed, 10**8 + size)))
        for size in (10, 100, prescribed)
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
    check=check,
    broken=Broken(
        "perturbations at a third of the scale: a member reaches beta_T with probability 0.0013",
        lambda scale, seed: check(scale, seed, strength=1.0 / 3.0),
    ),
    note="The proof's union bound covers every vector of pull counts, whoever chose the arms. On a small problem the check "
    "looks at all of them; elsewhere it keeps all m members of a run. The least share is near p_N itself, four times what is "
    "claimed: the union bound is far from tight, and some hundred members do in practice.",
    costs={Scale.QUICK: Cost(2.5, 200), Scale.STANDARD: Cost(45, 300), Scale.PAPER: Cost(4000, 1000)},
)
