"""Beyond the paper: certificates of a policy's own regret, and calibration."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import SOUND, Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import ROUNDING, Trials, each_at_least, generator, identity
from ensample.claims.recorded import replicates
from ensample.claims.regrets import GAP, TIMID, runs_to_decide
from ensample.claims.texts import claim
from ensample.member_rules import OptimisticMember
from ensample.policies import EnsembleSampling, LinUCB, Policy, Recipe, ThompsonSampling
from ensample.policies.certificate import round_bounds
from ensample.problems import LinearProblem, problem
from ensample.problems.problem import unit_rows
from ensample.randomness import RunStream
from ensample.theory import Setting, ucb_bound
from ensample.types import FloatArray

# certificate: a bound on the regret so far that a policy computes from its own log

DELTA = 0.1
LINE = LinearProblem(FiniteArms(np.array([[-1.0], [1.0]])), [1.0], 0.0)
SHOWN = Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1.0)


@dataclass(frozen=True, eq=False)
class CertifiedCase:
    """A recipe at a theorem's constants, and how often all of its certificates should hold."""

    name: str
    recipe: EnsembleSampling | LinUCB
    world: LinearProblem
    probability: float
    times: int = 1  # as many runs as decide if all certificates hold: more where some do not

    @property
    def setting(self) -> Setting:
        assert self.recipe.setting is not None
        return self.recipe.setting


class CertifiedRun(NamedTuple):
    """The regret of each round, and what the certificate adds for it."""

    regret: FloatArray  # [rounds]
    bounds: FloatArray  # [rounds]
    late: FloatArray  # the same if widths were measured by V after the round [rounds]


def certified_cases() -> list[CertifiedCase]:
    """The line, where a certificate is an equality, and the timid problem for all three rules."""
    line = LinUCB.from_theorem(Setting(1, 2, 3, 0.0, 1.0, delta=DELTA))
    setting, chance = Setting(2, 2, 100, 1.0, GAP, delta=DELTA), 1.0 - 3.0 * DELTA
    rule = EnsembleSampling.from_theorem(setting, member=OptimisticMember(), sharp=True)
    uniform = EnsembleSampling.from_theorem(replace(setting, horizon=40), sharp=True)
    return [
        CertifiedCase("LinUCB on a line without noise", line, LINE, 1.0 - DELTA),
        CertifiedCase("LinUCB", LinUCB.from_theorem(setting), TIMID, 1.0 - DELTA, times=3),
        CertifiedCase(f"the optimistic rule (m = {rule.size})", rule, TIMID, chance),
        CertifiedCase(f"the uniform rule (m = {uniform.size})", uniform, TIMID, chance),
    ]


def measure_certificate(scale: Scale, seed: int) -> Judge:
    """Regret over certificate after every number of rounds."""
    cases = certified_cases()
    ratios = []
    for place, case in enumerate(cases):
        runs = certified_runs(case, scale, seed, len(cases), place)
        ratios.append(np.array([largest_ratio(run.regret, run.bounds, case) for run in runs]))
    figure, note = certificate_figure(seed)

    def judge(f: float) -> Outcome:
        worst = each_at_least([kept(*pair, f) for pair in zip(cases, ratios, strict=True)])
        return replace(worst, detail=f"{worst.detail}; {note}", figure=figure)

    return judge


def certified_runs(
    case: CertifiedCase, scale: Scale, seed: int, tests: int, place: int
) -> list[CertifiedRun]:
    runs = case.times * scale.choose(1, 4, 40) * runs_to_decide(case.probability, tests)
    return replicates(partial(certified_run, case, seed), runs, place * 10**6)


def certified_run(case: CertifiedCase, seed: int, part: int) -> CertifiedRun:
    start = int(generator(seed, "certificate", part).integers(1 << 62))
    policy = case.recipe.start(case.world.arms, start)
    regret = play(policy, case.world, case.setting.horizon, seed, part)
    bounds = round_bounds(policy)
    return CertifiedRun(regret, bounds, bounds / np.sqrt(1.0 + square_widths(policy)))


def play(policy: Policy, world: LinearProblem, rounds: int, seed: int, part: int) -> FloatArray:
    """Return the regret of each round: [rounds]."""
    noise, regret = generator(seed, "certificate", part, RunStream.NOISE), np.empty(rounds)
    for t in range(rounds):
        decision = policy.decide()
        regret[t] = world.best_mean() - world.mean(decision.features)
        policy.update(decision, world.reward(decision.features, noise))
    return regret


def square_widths(policy: Policy) -> FloatArray:
    """|X_t|^2 in the norm of V^-1 before the round: [rounds]."""
    X = policy.log().features
    squares = X[:, :, None] * X[:, None, :]
    V = policy.recipe.lam * np.eye(X.shape[1]) + np.cumsum(squares, axis=0) - squares
    return np.asarray(np.einsum("ti,ti->t", X, np.linalg.solve(V, X[:, :, None])[:, :, 0]))


def largest_ratio(regret: FloatArray, bounds: FloatArray, case: CertifiedCase) -> float:
    """Return the largest regret so far over what is certified so far, over all rounds."""
    certified = np.minimum(bounds, 2.0 * case.setting.norm)
    return float((np.cumsum(regret) / np.cumsum(certified)).max())


def kept(case: CertifiedCase, ratios: FloatArray, f: float) -> Trials:
    """Count the runs with regret <= certificate / f after every round."""
    detail = f"{case.name}: regret at most {ratios.max():.3g} of what is certified"
    below = int((f * ratios <= 1.0 + ROUNDING).sum())
    return Trials(below, ratios.size, case.probability, detail)


def louder(scale: Scale, seed: int) -> Judge:
    """LinUCB where rewards are noisier than its setting says."""
    case = certified_cases()[1]

    def judge(f: float) -> Outcome:
        noisy = replace(case, world=LinearProblem(case.world.arms, case.world.theta, f))
        runs = certified_runs(noisy, scale, seed, 1, 1)
        ratios = np.array([largest_ratio(run.regret, run.bounds, case) for run in runs])
        return each_at_least([kept(case, ratios, SOUND)])

    return judge


def measure_late(scale: Scale, seed: int) -> Outcome:
    """The line, with widths measured by what the round itself has taught."""
    case = certified_cases()[0]
    runs = certified_runs(case, scale, seed, 1, 0)
    ratios = np.array([largest_ratio(run.regret, run.late, case) for run in runs])
    return each_at_least([kept(case, ratios, SOUND)])


def certificate_figure(seed: int) -> tuple[Figure, str]:
    """A run of LinUCB: its regret, its certificate, and the bound known before the first round."""
    rng = generator(seed, "certificate", 0, RunStream.PROBLEM)
    world = problem("sphere", dim=5, arms=20, noise=0.3).draw(rng)
    assert isinstance(world, LinearProblem)
    case = CertifiedCase("", LinUCB.from_theorem(SHOWN), world, 0.0)
    run, rounds = certified_run(case, seed, 10**8), SHOWN.horizon
    certified, advance = np.cumsum(np.minimum(run.bounds, 2.0)), ucb_bound(SHOWN)
    at = np.unique(np.geomspace(1, rounds, 40).astype(int))
    known = [ucb_bound(replace(SHOWN, horizon=int(t))) for t in at]
    regret = np.maximum(np.cumsum(run.regret)[at - 1], 1e-2)
    curves = (
        curve("known in advance", at, known, bound=True),
        curve("2S a round, always true", at, 2.0 * at, bound=True),
        curve("certificate", at, certified[at - 1]),
        curve("regret", at, regret),
    )
    known_before = f"{advance:,.0f} known in advance"
    note = f"{certified[-1]:,.0f} is certified after {rounds:,} rounds, {known_before}"
    title = "LinUCB, d = 5, 20 arms"
    return Figure(title, "rounds", "regret", curves, log_x=True, log_y=True), f"shown: {note}"


claim("certificate", measure_certificate, louder, broken=measure_late)

# calibration-equivariance: the unit in which rewards are counted does not matter

RECIPES: tuple[Recipe, ...] = (EnsembleSampling(), ThompsonSampling(), LinUCB())
UNITS = (2.0**-20, 2.0**3, 2.0**40)  # powers of two: multiplying by them rounds nothing


def measure_units(scale: Scale, seed: int, recipes: tuple[Recipe, ...] = RECIPES) -> Judge:
    """Rounds in which a policy plays another arm once all rewards are multiplied by a constant."""
    rounds, repeats = scale.choose((120, 2), (500, 10), (2000, 50))
    total = rounds * repeats * len(recipes) * len(UNITS)

    def judge(f: float) -> Outcome:
        different = 0
        for part in range(repeats):
            for recipe in recipes:
                plain = arms_played(recipe, rounds, seed, part)
                for unit in UNITS:
                    scaled = arms_played(recipe, rounds, seed, part, unit, f)
                    different += sum(a != b for a, b in zip(plain, scaled, strict=True))
        detail = f"{different:,} of {total:,} rounds play another arm"
        return identity(different, 0.0, total, detail)

    return judge


def arms_played(
    recipe: Recipe, rounds: int, seed: int, part: int, unit: float = 1.0, f: float = 1.0
) -> list[int | None]:
    """Return the arms played when rewards are paid in `unit`s, the first reward multiplied by f."""
    rng = generator(seed, "calibration-equivariance", part, RunStream.PROBLEM)
    arms, theta = unit_rows(rng, 12, 4), 5.0 * unit_rows(rng, 1, 4)[0]
    noises = generator(seed, "calibration-equivariance", part, RunStream.NOISE)
    policy = recipe.start(FiniteArms(arms), seed)
    chosen: list[int | None] = []
    for t, noise in enumerate(noises.standard_normal(rounds)):
        decision = policy.decide()
        reward = float(decision.features @ theta) + noise
        policy.update(decision, (f if t == 0 else 1.0) * unit * reward)
        chosen.append(decision.arm)
    return chosen


def uncalibrated(scale: Scale, seed: int) -> Outcome:
    return measure_units(scale, seed, (EnsembleSampling(scale=1.0, regularization=1.0),))(SOUND)


claim("calibration-equivariance", measure_units, broken=uncalibrated)
