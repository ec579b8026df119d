"""The optimism lemma: a perturbation large enough in one direction makes the round optimistic."""

import math

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_least, generator
from ensample.claims.recorded import History, record
from ensample.problems.families import unit_rows
from ensample.types import FloatArray

ID = "optimism-lemma"


def measure(scale: Scale, seed: int) -> Judge:
    """The least X_t'theta_t - x*'theta* over all members and rounds where the premise holds, with the least c allowed.

    Two sources: runs, and instances in which Cauchy-Schwarz is tight (theta_hat - theta* along -V^-1 x*).
    """
    runs, instances = scale.choose(4, 40, 400), scale.choose(2000, 50_000, 500_000)
    histories = [record(seed, ID, part, noise=1.0, scale=1.0, rounds=200) for part in range(runs)]

    def judge(f: float) -> Outcome:
        parts = [gains_in_run(history, 1.0 / f) for history in histories]
        parts.append(tight_gains(seed, instances, 1.0 / f))
        gains = np.concatenate(parts)
        detail = f"{gains.size - parts[-1].size:,} optimistic members in runs, {parts[-1].size:,} tight instances"
        return always_at_least(float(gains.min()), 0.0, gains.size, detail)

    return judge


def gains_in_run(history: History, share: float) -> FloatArray:
    """max_x x'theta^j - x*'theta* for the members with U'Z^j >= c |U|, c = share |theta_hat - theta*|_V, in every round."""
    gains = []
    for t in range(len(history.X)):
        error = history.theta_hat[t] - history.theta
        c = share * math.sqrt(error @ history.V[t] @ error)
        width = math.sqrt(history.best @ np.linalg.solve(history.V[t], history.best))
        premise = history.theta_tilde[t] @ history.best >= c * width
        promises = (history.estimates[t] @ history.arms.T).max(axis=1)
        gains.append(promises[premise] - history.best @ history.theta)
    return np.concatenate(gains)


def tight_gains(seed: int, count: int, share: float) -> FloatArray:
    """theta~ just meets the premise, the ridge error is as bad as its length c = 1 allows, and x* is the only arm."""
    rng, dim = generator(seed, ID, 1_000_000), 3
    X = unit_rows(rng, 4 * count, dim).reshape(count, 4, dim)
    V = np.eye(dim) + np.swapaxes(X, 1, 2) @ X
    best, theta = unit_rows(rng, count, dim), unit_rows(rng, count, dim)
    direction = np.linalg.solve(V, best[:, :, None])[:, :, 0]  # V^-1 x*
    width = np.sqrt((best * direction).sum(axis=1))
    theta_hat = theta - direction / width[:, None]  # |theta_hat - theta*|_V = 1
    theta_tilde = (share / width)[:, None] * direction  # x*'theta~ = share |x*|_{V^-1}
    return np.asarray((best * (theta_hat + theta_tilde - theta)).sum(axis=1))


CLAIM = Claim(
    id=ID,
    title="One direction suffices for optimism",
    statement="if U'Z >= c |U| and the ridge error is at most c, the round promises at least the best mean",
    latex=r"U_{t-1}^\top\mathbf{Z}_t \ge c\|U_{t-1}\|_2,\ \|\theta^*-\hat\theta_{t-1}\|_{V_{t-1}} \le c"
    r"\ \Rightarrow\ X_t^\top\theta_t \ge x^{*\top}\theta^*",
    reference="lma:optimism lemma",
    section=Section.OPTIMISM,
    assumptions=("X_t maximises x'theta_t", "x* maximises x'theta*"),
    kind=Kind.INEQUALITY,
    faults=(Fault("the reach c of the perturbation divided by f", measure),),
    broken=Broken("the perturbation reaches half of c only", 2.0),
    note="c may be chosen after the fact: the check takes the ridge error itself, the least that the lemma allows.",
    costs={Scale.QUICK: Cost(0.3), Scale.STANDARD: Cost(3), Scale.PAPER: Cost(60, 500)},
)
