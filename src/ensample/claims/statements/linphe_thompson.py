"""With Gaussian laws LinPHE is linear Thompson sampling."""

import math

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import CLAIM_ALARM, generator, same_law, weakest
from ensample.claims.recorded import History, record
from ensample.policies import ThompsonSampling
from ensample.statistics import ks_distance, ks_distance_to, normal_cdf
from ensample.types import FloatArray

ID = "linphe-is-thompson"
LAM, BETA, ROUNDS = 4.0, 0.7, 20
CHUNK = 100_000


def measure(scale: Scale, seed: int, rooted: bool = True) -> Judge:
    """LinPHE's definition, with fresh W and Z for every draw, against N(theta_hat, beta^2 V^-1) and the library's policy."""
    draws, decisions = scale.choose((100_000, 10_000), (1_000_000, 50_000), (10_000_000, 200_000))
    tolerance, coarse = scale.choose((0.03, 0.12), (0.01, 0.05), (0.003, 0.025))
    history = record(seed, ID, rounds=ROUNDS, lam=LAM, scale=BETA)
    rng = generator(seed, ID, 1)
    theta = np.vstack([models(history, rng, CHUNK, rooted) for _ in range(draws // CHUNK)])
    directions = {
        "a coordinate": np.eye(4)[0],
        "x*": history.best,
        "the least seen": np.linalg.eigh(history.V[-1])[1][:, 0],
    }
    widths = {
        name: BETA * math.sqrt(u @ np.linalg.solve(history.V[-1], u))
        for name, u in directions.items()
    }
    scores = {
        name: np.sort((theta - history.theta_hat[-1]) @ u / widths[name])
        for name, u in directions.items()
    }
    arms = np.argmax(theta[:decisions] @ history.arms.T, axis=1).astype(np.float64)
    distance = ks_distance(arms, thompson_arms(history, decisions, int(rng.integers(1 << 62))))

    def judge(f: float) -> Outcome:
        outcomes = [
            same_law(
                ks_distance_to(normal_cdf(f * score)), [draws], tolerance, name, CLAIM_ALARM / 4
            )
            for name, score in scores.items()
        ]
        outcomes.append(
            same_law(
                distance, [decisions] * 2, coarse, "arms of the library's policy", CLAIM_ALARM / 4
            )
        )
        return weakest(outcomes)

    return judge


def models(history: History, rng: np.random.Generator, count: int, rooted: bool) -> FloatArray:
    """theta_t = V^-1 (W_t + sum_i X_i (Y_i + Z_{t,i})), as Algorithm 2 defines it: [count, d]."""
    W = (
        (math.sqrt(LAM) if rooted else 1.0)
        * BETA
        * rng.standard_normal((count, history.theta.size))
    )
    targets = history.Y + BETA * rng.standard_normal((count, ROUNDS))
    return np.asarray(np.linalg.solve(history.V[-1], (W + targets @ history.X).T).T)


def thompson_arms(history: History, count: int, seed: int) -> FloatArray:
    """What Thompson sampling plays after the same history, drawn again and again."""
    policy = ThompsonSampling(BETA, LAM).start(FiniteArms(history.arms), seed)
    policy.update_many(list(history.X), history.Y)
    return np.array([policy.decide().arm for _ in range(count)], np.float64)


CLAIM = Claim(
    id=ID,
    title="Gaussian LinPHE is Thompson sampling",
    statement="with Theorem 1's Gaussian laws, LinPHE's model is N(theta_hat, beta^2 V^-1) given the history",
    latex=r"\theta_t \mid \mathcal{F}_{t-1} \sim \mathcal{N}\big(\hat\theta_{t-1},\ \beta_T^2 V_{t-1}^{-1}\big)",
    reference="alg:phe",
    section=Section.HISTORY,
    assumptions=("W ~ N(0, lam beta^2 I)", "Z ~ N(0, beta^2)"),
    kind=Kind.PROBABILITY,
    faults=(Fault("the standard deviation beta divided by f", measure),),
    broken=Broken(
        "W ~ N(0, beta^2 I): the factor lam forgotten",
        lambda scale, seed: measure(scale, seed, rooted=False)(SOUND),
    ),
    note="A fact that the paper does not use. A round can then be drawn in O(d^2) in place of O(t d), which is what the "
    "library does.",
    costs={Scale.QUICK: Cost(1, 200), Scale.STANDARD: Cost(10, 400), Scale.PAPER: Cost(100, 3000)},
)
