"""The general theorem, round by round: optimism with probability p is worth a factor 2/p."""

import math

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_most, generator
from ensample.claims.watched import watch
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.problems.families import unit_rows
from ensample.randomness import RunStream
from ensample.types import FloatArray

ID = "general-theorem-rounds"


def measure(scale: Scale, seed: int) -> Judge:
    """The largest regret over its bound, with the least gamma and the largest p that the round allows.

    In rounds of runs with small ensembles, and in rounds made for it (see `made`). With a fault, 2/p is divided by f.
    """
    runs, instances = scale.choose((20, 400), (200, 20_000), (2000, 200_000))
    terms = np.vstack([*(in_run(seed, part) for part in range(runs)), made(seed, instances)])

    def judge(f: float) -> Outcome:
        regret, played, expected = terms.T
        ratios = regret / (played + expected / f)
        detail = f"{len(terms) - instances:,} rounds of runs, at most {ratios[:-instances].max():.2g} of the bound; "
        return always_at_most(
            float(ratios.max()), 1.0, len(terms), f"{detail}{instances:,} made for it"
        )

    return judge


def in_run(seed: int, part: int) -> FloatArray:
    """(regret, gamma |X_t|, (2 gamma/p) mean_j |x^j|) of the rounds in which some member is optimistic: [rounds, 3]."""
    family = problem("sphere", dim=3, arms=6, noise=1.0)
    world = family.draw(generator(seed, ID, part, RunStream.PROBLEM))
    assert isinstance(world, LinearProblem)
    rows = []
    for look in watch(EnsembleSampling(12, 1.0), world, 30, seed, ID, part):
        optimistic, gamma = look.promises >= world.best_mean(), float(look.errors.max())
        if optimistic.any():
            bound = 2.0 * gamma / float(optimistic.mean()) * float(look.widths.mean())
            rows.append((look.regret, gamma * look.width, bound))
    return np.array(rows).reshape(-1, 3)


def made(seed: int, count: int) -> FloatArray:
    """The same in rounds where Markov's inequality is tight: one of m members is optimistic, just so, and likes x*.

    The others like the arm 0, and are no farther from theta* than that takes: theta* - (x*'theta* / |x*|^2) V^-1 x*, with the
    norm of V^-1, and a little more.
    """
    rng = generator(seed, ID, 10**6)
    rows = []
    for _ in range(count):
        members, X = int(rng.integers(2, 50)), unit_rows(rng, 6, 3)
        V, best = np.eye(3) + X[1:].T @ X[1:], X[0]
        direction = np.linalg.solve(V, best)
        theta = rng.uniform(0.1, 1.0) * best
        gap, square = float(best @ theta), float(best @ direction)
        estimates = np.tile(theta - (1.0 + 1e-9) * gap / square * direction, (members, 1))
        estimates[0] = (1.0 + 1e-9) * theta
        likes = estimates @ best > 0.0  # else the arm 0, of width 0
        gamma = math.sqrt(max(float(error @ V @ error) for error in estimates - theta))
        optimistic = np.where(likes, estimates @ best, 0.0) >= gap
        expected = float(likes.mean()) * math.sqrt(square)
        rows.append((gap, 0.0, 2.0 * gamma / float(optimistic.mean()) * expected))
    return np.array(rows)


CLAIM = Claim(
    id=ID,
    title="The general theorem in a round",
    statement="if estimates are within gamma, optimistic with chance p, regret <= gamma |X_t| + (2 gamma/p) E|X_t|",
    latex=r"x^{*\top}\theta^* - X_t^\top\theta^* \le \gamma\|X_t\|_{V_{t-1}^{-1}} + \frac{2\gamma}{p}"
    r"\,\mathbb{E}\big[\|X_t\|_{V_{t-1}^{-1}} \mid \mathcal{F}_{t-1}\big]",
    reference="thm:general",
    section=Section.GENERAL,
    assumptions=(
        "|theta_t - theta*| <= gamma in the norm of V",
        "x*'theta* <= X_t'theta_t with probability p given the past",
    ),
    kind=Kind.INEQUALITY,
    faults=(Fault("the factor 2/p divided by f", measure),),
    broken=Broken(
        "2/p without the 1/p, at p = 1/10", lambda scale, seed: measure(scale, seed)(10.0)
    ),
    note="This is where Markov's inequality enters, and what every bound with p < 1 rests on: the sum over the rounds follows "
    "from it by Cauchy-Schwarz, the elliptical potential and Azuma's inequality. In the rounds made for it, one of m members "
    "likes the best arm and the others like an arm of length 0: then it is within a factor 2 of an equality.",
    costs={Scale.QUICK: Cost(0.3), Scale.STANDARD: Cost(2), Scale.PAPER: Cost(20)},
)
