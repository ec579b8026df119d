"""The general theorem at its simplest: LinUCB is always optimistic."""

from dataclasses import replace

from ensample.arms import FiniteArms
from ensample.claims.claim import Broken, Claim, Cost, Curve, Figure, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, cell, probability_at_least, weakest
from ensample.policies import Greedy, LinUCB
from ensample.problems import Family, LinearProblem, Problem, problem
from ensample.simulation import Runs, simulate
from ensample.theory import Setting, ucb_bound

__all__ = ["CLAIM"]

ID = "general-theorem-linucb"
# The first arm pays a little, so that a policy without optimism never tries the second.
TWO_ARMS = LinearProblem(FiniteArms([[1.0, 0.0], [0.0, 1.0]]), [0.1, 1.0], 0.05)


def check(scale: Scale, seed: int, optimistic: bool = True) -> Outcome:
    """The share of runs with regret below B(2 beta_T, 1): on two arms where stinginess is fatal, and on random ones."""
    runs, horizon = scale.choose((200, 10_000), (1000, 30_000), (5000, 200_000))
    small = Setting(dim=2, arms=2, horizon=horizon, noise=0.05, norm=1.01**0.5)
    large = Setting(dim=5, arms=30, horizon=horizon // 5, noise=0.3, norm=1.0)
    cases: list[tuple[Setting, Problem | Family]] = [(small, TWO_ARMS), (large, problem("sphere", dim=5, arms=30, noise=0.3))]
    outcomes, results = [], []
    for setting, world in cases:
        ucb = LinUCB.from_theorem(setting)
        guarantee, recipe = ucb.guarantee(setting), ucb if optimistic else Greedy(1.0)
        result = simulate(recipe, world, setting.horizon, runs, seed, cell=cell(ID))
        below = int((result.regret[:, -1] <= guarantee.bound).sum())
        largest = result.regret[:, -1].max() / guarantee.bound
        detail = f"d = {setting.dim}, T = {setting.horizon:,}: largest regret {largest:.3g} of the bound"
        outcomes.append(probability_at_least(below, runs, guarantee.probability, detail, CLAIM_ALARM / len(cases)))
        results.append(result)
    return replace(weakest(outcomes), figure=figure(results[1], large))


def figure(result: Runs, setting: Setting) -> Figure:
    rounds = tuple(float(t) for t in result.checkpoints)
    bound = tuple(ucb_bound(replace(setting, horizon=int(t))) for t in result.checkpoints)
    curves = (Curve("mean regret", rounds, tuple(result.mean.tolist())), Curve("B(2 beta_T, 1)", rounds, bound, bound=True))
    return Figure("LinUCB, d = 5, 30 arms", "rounds", "regret", curves, log_x=True, log_y=True)


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
    check=check,
    broken=Broken("greedy in place of optimistic", lambda scale, seed: check(scale, seed, optimistic=False)),
    note="Printed for lam > 0, proved for lam >= 1 (see elliptical-potential).",
    costs={Scale.QUICK: Cost(1.5), Scale.STANDARD: Cost(20), Scale.PAPER: Cost(600)},
)
