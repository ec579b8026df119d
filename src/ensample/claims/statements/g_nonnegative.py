"""The lemma that lets Markov's inequality in: no estimate within gamma promises less than the most pessimistic one."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_least, generator
from ensample.problems.families import unit_rows
from ensample.types import FloatArray

ID = "g-nonnegative"
DIM, ARMS, STEPS = 3, 6, 400


class Ellipsoid(NamedTuple):
    """Estimates within gamma of theta*, with V = LL', and the pessimism in them."""

    means: FloatArray  # x'theta* [K]
    whitened: FloatArray  # L^-1 x: |y|_{V^-1} is the length of L^-1 y [K, d]
    gamma: float
    toward: FloatArray  # where the most pessimistic estimate lies, a unit vector in whitened coordinates [d]
    lowest: float  # what it promises, from the dual: at most J(theta^-)


def measure(scale: Scale, seed: int) -> Judge:
    """The least J(theta) - J(theta^-) over theta within gamma of theta*, random ones and the most pessimistic found.

    J(theta^-) = min over the ellipsoid of max_x x'theta is found from the other side, as the largest value of
    y'theta* - gamma |y|_{V^-1} over mixtures y of arms: for every mixture it is at most J(theta), which is the lemma.
    With a fault, theta is f gamma away.
    """
    rng = generator(seed, ID)
    found, directions = (
        [drawn(rng) for _ in range(scale.choose(60, 1000, 10_000))],
        unit_rows(rng, 200, DIM),
    )

    def judge(f: float) -> Outcome:
        gaps = [least_gap(ellipsoid, directions, f) for ellipsoid in found]
        detail = f"{len(found):,} ellipsoids, 200 random points and the most pessimistic of each"
        return always_at_least(round(min(gaps), 9), 0.0, 201 * len(found), detail)

    return judge


def drawn(rng: Generator) -> Ellipsoid:
    X, theta = unit_rows(rng, ARMS, DIM), unit_rows(rng, 1, DIM)[0]
    root = np.linalg.cholesky(np.eye(DIM) + X.T @ np.diag(rng.integers(0, 20, ARMS)) @ X)
    means, whitened, gamma = X @ theta, np.linalg.solve(root, X.T).T, float(rng.uniform(0.2, 5.0))
    mixture = most_pessimistic(means, whitened, gamma)
    y = mixture @ whitened
    length = float(np.linalg.norm(y))
    return Ellipsoid(means, whitened, gamma, -y / length, float(mixture @ means) - gamma * length)


def least_gap(ellipsoid: Ellipsoid, directions: FloatArray, f: float) -> float:
    """The least J(theta* + f gamma u) - J(theta^-) over unit vectors u."""
    points = f * ellipsoid.gamma * np.vstack([directions, ellipsoid.toward])
    promises = (ellipsoid.means + points @ ellipsoid.whitened.T).max(axis=1)
    return float(promises.min() - ellipsoid.lowest)


def most_pessimistic(means: FloatArray, whitened: FloatArray, gamma: float) -> FloatArray:
    """Weights of the mixture with the largest y'theta* - gamma |y|, by exponentiated gradient steps: [K]."""
    weights = np.full(means.size, 1.0 / means.size)
    best, value = weights, -np.inf
    for step in range(STEPS):
        y = weights @ whitened
        length = float(np.linalg.norm(y)) + 1e-300
        now = float(weights @ means) - gamma * length
        best, value = (weights, now) if now > value else (best, value)
        gradient = means - gamma * whitened @ y / length
        weights = weights * np.exp(
            (gradient - gradient.max()) / (1.0 + gamma) * 4.0 / (1.0 + step) ** 0.5
        )
        weights /= weights.sum()
    return best


CLAIM = Claim(
    id=ID,
    title="No estimate within gamma promises less than the worst",
    statement="every estimate within gamma of theta* promises at least what the most pessimistic of them does",
    latex=r"J(\theta) = \max_x x^\top\theta,\ \|\theta - \theta^*\|_V \le \gamma\ \Rightarrow\ J(\theta) - J(\theta^-) \ge 0,"
    r"\quad\theta^- = \arg\min_{\|\theta-\theta^*\|_V \le \gamma} J(\theta)",
    reference="lma:g is nonnegative",
    section=Section.GENERAL,
    assumptions=("the minimum is over the same ellipsoid in which the estimates lie",),
    kind=Kind.INEQUALITY,
    faults=(Fault("the distance of the estimates from theta* multiplied by f", measure),),
    broken=Broken("estimates at twice the distance", 2.0),
    note="X_t^- in the paper is the arm that theta^- likes. The minimum is computed from its dual, a maximum over "
    "mixtures of arms, so that the check does not assume what it tests.",
    costs={Scale.QUICK: Cost(0.6), Scale.STANDARD: Cost(8), Scale.PAPER: Cost(80)},
)
