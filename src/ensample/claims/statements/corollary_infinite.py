"""The Corollary: the regret of LinPHE on infinitely many arms, the unit ball."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from ensample.arms import UnitBall
from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.regrets import bound_against_regret, judge, play, runs_to_decide
from ensample.claims.statements.corollary_finite import case
from ensample.claims.watched import replicates
from ensample.perturbations import P_N
from ensample.policies import PerturbedHistory
from ensample.problems import LinearProblem, RademacherNoise, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, estimator_radius
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "corollary-linphe-infinite"
ROUNDS = Setting(dim=2, arms=None, horizon=40, noise=0.2, norm=1.0, delta=0.1)
GOOD = 1.0 - 2.0 * ROUNDS.delta
BALL = LinearProblem(UnitBall(2), np.array([1.0, 0.0]), 0.2)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)  # for integrals against N(0, 1)
PLANE = np.array(list(product(NODES, repeat=2)))
MASS = np.prod(np.array(list(product(WEIGHTS / WEIGHTS.sum(), repeat=2))), axis=1)


def measure(scale: Scale, seed: int) -> Judge:
    """Regret of LinPHE on the unit ball at the Corollary's constants against B(gamma_T, p_N / 2), and round by round."""
    longest = scale.choose(2000, 50_000, 500_000)
    ball = problem("ball", dim=5, noise=1.0)
    cases = [case("ball", Setting(5, None, horizon, 1.0, 1.0), ball, True) for horizon in (100, longest // 5, longest)]
    signs = problem("ball", dim=2, noise=RademacherNoise(0.5))
    cases.append(case("ball, noise of two values", Setting(2, None, longest, 0.5, 1.0, 3.0), signs))
    if scale is not Scale.QUICK:  # the interval [-1, 1] without noise: the least horizon at which the bound is not vacuous
        interval = LinearProblem(UnitBall(1), np.ones(1), 0.0)
        cases.append(case("interval without noise", Setting(1, None, 1_500_000, 0.0, 1.0, delta=1 / 6), interval))
    tests = len(cases) + 1
    regrets, ratios = play(ID, cases, seed, tests), in_rounds(scale, seed, tests)
    drawn = bound_against_regret("LinPHE on the unit ball, d = 5", cases, regrets)

    def judged(f: float) -> Outcome:
        return replace(weakest([judge(cases, regrets, f, tests), of_rounds(ratios, f, tests)]), figure=drawn)

    return judged


def in_rounds(scale: Scale, seed: int, tests: int) -> FloatArray:
    """The largest regret of a round over its bound in each run: [runs]."""
    runs = scale.choose(1, 4, 40) * runs_to_decide(GOOD, tests)
    return np.array(replicates(partial(largest_ratio, seed), runs))


def largest_ratio(seed: int, part: int) -> float:
    """regret_t / (gamma |X_t| + (2 gamma/p) E|X_t|), p = p_N / 2, by quadrature over N(theta_hat, beta^2 V^-1)."""
    recipe = PerturbedHistory.from_theorem(ROUNDS)
    gamma, p = estimator_radius(ROUNDS), P_N / 2.0
    policy = PerturbedHistory(recipe.unit_scale).start(BALL.arms, int(generator(seed, ID, part).integers(1 << 62)))
    noise, largest = generator(seed, ID, part, RunStream.NOISE), 0.0
    for _ in range(ROUNDS.horizon):
        inverse = np.linalg.inv(policy.gram)
        thetas = policy.mean + recipe.unit_scale * PLANE @ np.linalg.cholesky(inverse).T
        favourites = thetas / np.linalg.norm(thetas, axis=1, keepdims=True)
        expected = float(MASS @ np.sqrt(((favourites @ inverse) * favourites).sum(axis=1)))
        x = policy.decide().features
        width = float(np.sqrt(x @ inverse @ x))
        largest = max(largest, (1.0 - BALL.mean(x)) / (gamma * width + 2.0 * gamma / p * expected))
        policy.update(x, BALL.reward(x, noise))
    return largest


def of_rounds(ratios: FloatArray, f: float, tests: int) -> Outcome:
    detail = f"regret of a round at most {f * ratios.max():.2g} of its bound in {ratios.size} runs"
    kept = int((f * ratios <= 1.0).sum())
    return probability_at_least(kept, ratios.size, GOOD, detail, CLAIM_ALARM / tests)


CLAIM = Claim(
    id=ID,
    title="The Corollary for LinPHE, infinitely many arms",
    statement="LinPHE has regret at most B(gamma_T, p_N/2), but for probability 3 delta: the unit ball",
    latex=r"\mathcal{X} = \{x: \|x\|_2 \le 1\}:\quad \mathbb{P}\big(R(T) \le B(\gamma_T, p_N/2)\big) \ge 1-3\delta",
    reference="cor:phe",
    section=Section.HISTORY,
    assumptions=("arms of norm <= 1, |theta*| <= S", "sigma-subGaussian noise", "lam >= 1, Gaussian laws at beta_T"),
    kind=Kind.PROBABILITY,
    faults=(Fault("the bounds divided by f", measure, 1e5),),
    broken=Broken("a thousandth of the bounds", 1e3),
    note="Fresh perturbations need no union over histories, hence no count of arms. As for finitely many arms the bound "
    "is far above the regret, on the sum and in every round, where it is computed exactly. On the ball no arm is "
    "short, so that weak perturbations do not show; on finitely many arms they do.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(12), Scale.PAPER: Cost(200)},
)
