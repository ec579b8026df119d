"""The Corollary: the regret of LinPHE on infinitely many arms, the unit ball."""

from itertools import product

import numpy as np

from ensample.arms import UnitBall
from ensample.claims.claim import Broken, Claim, Cost, Fault, Kind, Scale, Section
from ensample.claims.evidence import generator
from ensample.claims.regrets import Case
from ensample.claims.rounds import Rounds, sum_and_rounds
from ensample.claims.statements.corollary_finite import case
from ensample.perturbations import P_N
from ensample.policies import PerturbedHistory
from ensample.problems import LinearProblem, RademacherNoise, problem
from ensample.randomness import RunStream
from ensample.theory import Setting, estimator_radius

ID = "corollary-linphe-infinite"
ROUNDS = Setting(dim=2, arms=None, horizon=40, noise=0.2, norm=1.0, delta=0.1)
GOOD = 1.0 - 2.0 * ROUNDS.delta
BALL = LinearProblem(UnitBall(2), np.array([1.0, 0.0]), 0.2)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)  # for integrals against N(0, 1)
PLANE = np.array(list(product(NODES, repeat=2)))
MASS = np.prod(np.array(list(product(WEIGHTS / WEIGHTS.sum(), repeat=2))), axis=1)


def cases(scale: Scale) -> list[Case]:
    """The ball in five dimensions and in two; and where time allows the interval [-1, 1], where the bound says something."""
    longest = scale.choose(2000, 50_000, 500_000)
    ball = problem("ball", dim=5, noise=1.0)
    listed = [
        case("ball", Setting(5, None, horizon, 1.0, 1.0), ball, True)
        for horizon in (100, longest // 5, longest)
    ]
    signs = problem("ball", dim=2, noise=RademacherNoise(0.5))
    listed.append(
        case("ball, noise of two values", Setting(2, None, longest, 0.5, 1.0, 3.0), signs)
    )
    if (
        scale is not Scale.QUICK
    ):  # without noise: the least horizon at which the bound is not vacuous
        interval = LinearProblem(UnitBall(1), np.ones(1), 0.0)
        listed.append(
            case(
                "interval without noise",
                Setting(1, None, 1_500_000, 0.0, 1.0, delta=1 / 6),
                interval,
            )
        )
    return listed


def ratio(strength: float, seed: int, part: int) -> float:
    """regret_t / (gamma |X_t| + (2 gamma/p) E|X_t|), p = p_N / 2, by quadrature over N(theta_hat, beta^2 V^-1)."""
    beta, gamma, p = (
        strength * PerturbedHistory.from_theorem(ROUNDS).unit_scale,
        estimator_radius(ROUNDS),
        P_N / 2.0,
    )
    policy = PerturbedHistory(beta).start(
        BALL.arms, int(generator(seed, ID, part).integers(1 << 62))
    )
    noise, largest = generator(seed, ID, part, RunStream.NOISE), 0.0
    for _ in range(ROUNDS.horizon):
        inverse = np.linalg.inv(policy.gram)
        thetas = policy.mean + beta * PLANE @ np.linalg.cholesky(inverse).T
        favourites = thetas / np.linalg.norm(thetas, axis=1, keepdims=True)
        expected = float(MASS @ np.sqrt(((favourites @ inverse) * favourites).sum(axis=1)))
        x = policy.decide().features
        width = float(np.sqrt(x @ inverse @ x))
        largest = max(largest, (1.0 - BALL.mean(x)) / (gamma * width + 2.0 * gamma / p * expected))
        policy.update(x, BALL.reward(x, noise))
    return largest


IN_ROUNDS = Rounds(ratio, GOOD)

CLAIM = Claim(
    id=ID,
    title="The Corollary for LinPHE, infinitely many arms",
    statement="LinPHE has regret at most B(gamma_T, p_N/2), but for probability 3 delta: the unit ball",
    latex=r"\mathcal{X} = \{x: \|x\|_2 \le 1\}:\quad \mathbb{P}\big(R(T) \le B(\gamma_T, p_N/2)\big) \ge 1-3\delta",
    reference="cor:phe",
    section=Section.HISTORY,
    assumptions=(
        "arms of norm <= 1, |theta*| <= S",
        "sigma-subGaussian noise",
        "lam >= 1, Gaussian laws at beta_T",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault(
            "the bounds divided by f",
            sum_and_rounds(ID, cases, IN_ROUNDS, "LinPHE on the unit ball, d = 5"),
            1e5,
        ),
    ),
    broken=Broken("a thousandth of the bounds", 1e3),
    note="Fresh perturbations need no union over histories, hence no count of arms. As for finitely many arms the bound "
    "is far above the regret, on the sum and in every round, where it is computed exactly. On the ball no arm is "
    "short, so that weak perturbations do not show; on finitely many arms they do.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(12), Scale.PAPER: Cost(200)},
)
