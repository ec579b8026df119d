"""The certificate: a bound on the regret so far that a policy computes from its own log."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import (
    SOUND,
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
from ensample.claims.evidence import CLAIM_ALARM, ROUNDING, generator, probability_at_least, weakest
from ensample.claims.regrets import runs_to_decide
from ensample.claims.rounds import GAP, timid
from ensample.claims.watched import replicates
from ensample.members import OptimisticMember
from ensample.policies import EnsembleSampling, LinUCB, Policy
from ensample.policies.certificate import round_bounds
from ensample.problems import LinearProblem, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, ucb_bound
from ensample.types import FloatArray

ID = "certificate"
DELTA = 0.1
LINE = LinearProblem(FiniteArms(np.array([[-1.0], [1.0]])), [1.0], 0.0)
SHOWN = Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1.0)


@dataclass(frozen=True, eq=False)
class CertifiedCase:
    """A recipe at a theorem's constants, and how often all of its certificates are to hold."""

    name: str
    recipe: EnsembleSampling | LinUCB
    world: LinearProblem
    probability: float
    times: int = 1  # as many runs as decide if all certificates hold: more where some do not


class Run(NamedTuple):
    """Round by round: the regret, and what the certificate adds for it."""

    regret: FloatArray  # [rounds]
    bounds: FloatArray  # [rounds]
    late: FloatArray  # the same if widths were measured by V after the round [rounds]


def cases() -> list[CertifiedCase]:
    """The line, where a certificate is an equality, and the problem on which timidity shows, for all three rules."""
    line = LinUCB.from_theorem(Setting(1, 2, 3, 0.0, 1.0, delta=DELTA))
    setting = Setting(2, 2, 100, 1.0, GAP, delta=DELTA)
    rule = EnsembleSampling.from_theorem(setting, member=OptimisticMember(), sharp=True)
    uniform = EnsembleSampling.from_theorem(replace(setting, horizon=40), sharp=True)
    return [
        CertifiedCase("LinUCB on a line without noise", line, LINE, 1.0 - DELTA),
        CertifiedCase("LinUCB", LinUCB.from_theorem(setting), timid(1e-5), 1.0 - DELTA, times=3),
        CertifiedCase(
            f"the optimistic rule (m = {rule.size})", rule, timid(1e-5), 1.0 - 3.0 * DELTA
        ),
        CertifiedCase(
            f"the uniform rule (m = {uniform.size})", uniform, timid(1e-5), 1.0 - 3.0 * DELTA
        ),
    ]


def measure(scale: Scale, seed: int) -> Judge:
    """Regret over certificate after every number of rounds."""
    listed = cases()
    found = [played(case, scale, seed, len(listed), place) for place, case in enumerate(listed)]
    ratios = [
        np.array([largest(run.regret, run.bounds, case) for run in runs])
        for case, runs in zip(listed, found, strict=True)
    ]
    drawn, told = shown(seed)

    def judge(f: float) -> Outcome:
        worst = weakest(
            [
                judged(case, ratio, f, len(listed))
                for case, ratio in zip(listed, ratios, strict=True)
            ]
        )
        return replace(worst, detail=f"{worst.detail}; {told}", figure=drawn)

    return judge


def played(case: CertifiedCase, scale: Scale, seed: int, tests: int, place: int) -> list[Run]:
    runs = case.times * scale.choose(1, 4, 40) * runs_to_decide(case.probability, tests)
    return replicates(partial(one, case, seed), runs, first=place * 10**6)


def one(case: CertifiedCase, seed: int, part: int) -> Run:
    assert case.recipe.setting is not None
    policy = case.recipe.start(case.world.arms, int(generator(seed, ID, part).integers(1 << 62)))
    regret = play(policy, case.world, case.recipe.setting.horizon, seed, part)
    bounds = round_bounds(policy)
    return Run(regret, bounds, bounds / np.sqrt(1.0 + square_widths(policy)))


def play(policy: Policy, world: LinearProblem, rounds: int, seed: int, part: int) -> FloatArray:
    """The regret of each round: [rounds]."""
    noise, regret = generator(seed, ID, part, RunStream.NOISE), np.empty(rounds)
    for t in range(rounds):
        decision = policy.decide()
        regret[t] = world.best_mean() - world.mean(decision.features)
        policy.update(decision, world.reward(decision.features, noise))
    return regret


def square_widths(policy: Policy) -> FloatArray:
    """|X_t|^2 in the norm of V^-1 before the round: [rounds]."""
    X = policy.log().features
    V = (
        policy.recipe.lam * np.eye(X.shape[1])
        + np.cumsum(X[:, :, None] * X[:, None, :], axis=0)
        - X[:, :, None] * X[:, None, :]
    )
    return np.asarray(np.einsum("ti,ti->t", X, np.linalg.solve(V, X[:, :, None])[:, :, 0]))


def largest(regret: FloatArray, bounds: FloatArray, case: CertifiedCase) -> float:
    """The largest regret so far over what is certified so far, over all rounds."""
    assert case.recipe.setting is not None
    certified = np.minimum(bounds, 2.0 * case.recipe.setting.norm)
    return float((np.cumsum(regret) / np.cumsum(certified)).max())


def judged(case: CertifiedCase, ratios: FloatArray, f: float, tests: int) -> Outcome:
    """P(regret <= certificate / f after every round) >= probability."""
    detail = f"{case.name}: regret at most {ratios.max():.3g} of what is certified"
    kept = int((f * ratios <= 1.0 + ROUNDING).sum())
    return probability_at_least(kept, ratios.size, case.probability, detail, CLAIM_ALARM / tests)


def louder(scale: Scale, seed: int) -> Judge:
    """LinUCB where rewards are noisier than its setting says."""
    case = cases()[1]

    def judge(f: float) -> Outcome:
        noisy = replace(case, world=LinearProblem(case.world.arms, case.world.theta, f))
        ratios = [largest(run.regret, run.bounds, case) for run in played(noisy, scale, seed, 1, 1)]
        return judged(case, np.array(ratios), SOUND, 1)

    return judge


def measured_late(scale: Scale, seed: int) -> Outcome:
    """The line, with widths measured by what the round itself has taught."""
    case = cases()[0]
    runs = played(case, scale, seed, 1, 0)
    return judged(case, np.array([largest(run.regret, run.late, case) for run in runs]), SOUND, 1)


def shown(seed: int) -> tuple[Figure, str]:
    """A run of LinUCB: its regret, its certificate, and the bound that is known before the first round."""
    world = problem("sphere", dim=5, arms=20, noise=0.3).draw(
        generator(seed, ID, 0, RunStream.PROBLEM)
    )
    assert isinstance(world, LinearProblem)
    run = one(CertifiedCase("", LinUCB.from_theorem(SHOWN), world, 0.0), seed, 10**8)
    certified, advance = np.cumsum(np.minimum(run.bounds, 2.0)), ucb_bound(SHOWN)
    at = np.unique(np.geomspace(1, SHOWN.horizon, 40).astype(int))
    x = tuple(at.astype(float).tolist())
    curves = (
        Curve(
            "known in advance",
            x,
            tuple(ucb_bound(replace(SHOWN, horizon=int(t))) for t in at),
            bound=True,
        ),
        Curve("2S a round, always true", x, tuple((2.0 * at).tolist()), bound=True),
        Curve("certificate", x, tuple(certified[at - 1].tolist())),
        Curve("regret", x, tuple(np.maximum(np.cumsum(run.regret)[at - 1], 1e-2).tolist())),
    )
    told = f"shown: {certified[-1]:,.0f} is certified after {SHOWN.horizon:,} rounds, {advance:,.0f} known in advance"
    return Figure(
        "LinUCB, d = 5, 20 arms", "rounds", "regret", curves, log_x=True, log_y=True
    ), told


CLAIM = Claim(
    id=ID,
    title="A policy's certificate",
    statement="the regret after every round is at most what policy.certificate() adds up from the log until then",
    latex=r"\mathbb{P}\Big(\forall n:\ R(n) \le \sum_{t \le n} \min\big(2S,\ c_t\|X_t\|_{V_{t-1}^{-1}}\big)\Big) \ge 1-\delta,"
    r"\quad c_t = \beta_{t-1} + \sigma\sqrt{\log\tfrac{\det V_{t-1}}{\lambda^d} + 2\log\tfrac1\delta} + \sqrt\lambda S",
    reference="not in the paper; the steps of Theorem 2 in a round, at the V and the arms that were met",
    section=Section.BEYOND,
    assumptions=(
        "LinUCB, as in the formula; the optimistic and the uniform rule have radii of their own, with probability 1 - 3 delta",
        "constants of a theorem; every reward is learned before the next decision",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("the certificate divided by f", measure),
        Fault("the noise of the rewards multiplied by f", louder),
    ),
    broken=Broken("widths measured by V after the round", measured_late),
    note="A bound that is known in advance must assume the worst of all sequences of arms; this one knows them. On a line "
    "without noise whose worse arm is played first it is an equality. With two arms of which one teaches nothing, LinUCB under "
    "rewards noisier than it was told exceeds its certificate. For the uniform rule the factor 2/p makes it vacuous at such "
    "horizons: it certifies 2S a round.",
    costs={Scale.QUICK: Cost(4), Scale.STANDARD: Cost(16), Scale.PAPER: Cost(160)},
)
