"""The general theorem at its simplest: LinUCB is always optimistic."""

from collections.abc import Sequence
from dataclasses import replace

from ensample.arms import FiniteArms
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
from ensample.claims.evidence import CLAIM_ALARM, cell, probability_at_least, weakest
from ensample.policies import Greedy, LinUCB, Recipe
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.simulation import Runs, simulate
from ensample.theory import Setting, radius, ucb_bound

ID = "general-theorem-linucb"
# The first arm pays a little, so that a policy without optimism never tries the second.
TWO_ARMS = LinearProblem(FiniteArms([[1.0, 0.0], [0.0, 1.0]]), [0.1, 1.0], 0.05)
# Of two arms that promise the same the first is played: in a single round it costs 2S, a sixth of the bound.
LINE = LinearProblem(FiniteArms([[-1.0], [1.0]]), [1.0], 0.0)


def measure(scale: Scale, seed: int) -> Judge:
    """The share of runs with regret below B(2 beta_T, 1): on two arms where stinginess is fatal, random ones, and a line."""
    cases = settings(scale)
    results = [
        played(LinUCB.from_theorem(setting), setting, world, scale, seed)
        for setting, world in cases
    ]
    drawn = figure(results[1], cases[1][0])
    return lambda f: replace(judged([setting for setting, _ in cases], results, f), figure=drawn)


def settings(scale: Scale) -> list[tuple[Setting, Problem | Family]]:
    horizon = scale.choose(10_000, 30_000, 200_000)
    small = Setting(dim=2, arms=2, horizon=horizon, noise=0.05, norm=1.01**0.5)
    large = Setting(dim=5, arms=30, horizon=horizon // 5, noise=0.3, norm=1.0)
    single = Setting(dim=1, arms=2, horizon=1, noise=0.0, norm=1.0)
    return [
        (small, TWO_ARMS),
        (large, problem("sphere", dim=5, arms=30, noise=0.3)),
        (single, LINE),
    ]


def played(
    recipe: Recipe, setting: Setting, world: Problem | Family, scale: Scale, seed: int
) -> Runs:
    return simulate(
        recipe, world, setting.horizon, scale.choose(200, 1000, 5000), seed, cell=cell(ID)
    )


def judged(settings: Sequence[Setting], results: Sequence[Runs], f: float) -> Outcome:
    """P(R(T) <= B(2 beta_T, 1) / f) >= 1 - 2 delta."""
    outcomes = []
    for setting, result in zip(settings, results, strict=True):
        guarantee, regret = LinUCB.from_theorem(setting).guarantee(setting), result.regret[:, -1]
        bound = guarantee.bound / f
        detail = f"d = {setting.dim}, T = {setting.horizon:,}: largest regret {regret.max() / bound:.3g} of the bound"
        below, alarm = int((regret <= bound).sum()), CLAIM_ALARM / len(results)
        outcomes.append(
            probability_at_least(below, regret.size, guarantee.probability, detail, alarm)
        )
    return weakest(outcomes)


def narrow(scale: Scale, seed: int) -> Judge:
    """On the two arms, with a smaller radius of confidence."""
    setting, world = settings(scale)[0]

    def judge(f: float) -> Outcome:
        return judged(
            [setting],
            [
                played(
                    LinUCB(radius(setting) / f, setting.regularization), setting, world, scale, seed
                )
            ],
            1.0,
        )

    return judge


def figure(result: Runs, setting: Setting) -> Figure:
    rounds = tuple(float(t) for t in result.checkpoints)
    bound = tuple(ucb_bound(replace(setting, horizon=int(t))) for t in result.checkpoints)
    curves = (
        Curve("mean regret", rounds, tuple(result.mean.tolist())),
        Curve("B(2 beta_T, 1)", rounds, bound, bound=True),
    )
    return Figure("LinUCB, d = 5, 30 arms", "rounds", "regret", curves, log_x=True, log_y=True)


def greedy(scale: Scale, seed: int) -> Outcome:
    setting, world = settings(scale)[0]
    return judged([setting], [played(Greedy(1.0), setting, world, scale, seed)], 1.0)


CLAIM = Claim(
    id=ID,
    title="The general theorem for LinUCB",
    statement="with probability 1 - 2 delta, LinUCB's regret is at most the general bound with gamma = 2 beta_T, p = 1",
    latex=r"R(T) \le \gamma\Big(1+\frac2p\Big)\sqrt{2dT\log\Big(1+\frac{T}{d\lambda}\Big)}"
    r"+\frac{\gamma}{p}\sqrt{\frac{2T}{\lambda}\log\frac1\delta},\quad \gamma = 2\beta_T,\ p = 1",
    reference="thm:general",
    section=Section.GENERAL,
    assumptions=("|x| <= 1, |theta*| <= S", "sigma-subGaussian noise", "lam >= 1"),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("the bound divided by f", measure),
        Fault("the radius of confidence divided by f", narrow),
    ),
    broken=Broken("greedy in place of optimistic", greedy),
    note="Printed for lam > 0, proved for lam >= 1 (see elliptical-potential). Over many rounds the bound is far above the "
    "regret; over a single one on a line, whose worse arm is played first, it is six times the regret.",
    costs={Scale.QUICK: Cost(1.5), Scale.STANDARD: Cost(20), Scale.PAPER: Cost(600)},
)
