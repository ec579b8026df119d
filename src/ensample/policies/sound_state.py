"""Whether a learned state could be that of a policy with this log.

What follows from the log in one step is compared with it; what only a replay can tell is believed if it is finite.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.errors import SnapshotError
from ensample.kernels.ridge import COUNT, INFORMATION, MEAN, TARGET, TARGET_LOW
from ensample.policies.policy import UNNUMBERED, Policy
from ensample.policies.soundness import ROUNDING, require, standing_features
from ensample.types import BoolArray, FloatArray, IntArray

__all__ = ["check_state"]

LARGEST_STATE = 1e220  # what sums of products of `checks.LARGEST` come to
STIFF = 1e10  # while |V| / lam is less, V^-1 is known to several digits however it was computed
SEVERAL = 1e-3  # what is asked of them
LAST_DIGIT = 1e-15  # of a double
LEAST = 1e-300  # below it digits are lost


def check_state(policy: Policy) -> None:
    """Finite numbers, and for every array by its name what is known of it."""
    for name, values in policy._arrays().items():
        if values.dtype.kind == "f":
            good = np.abs(values) <= LARGEST_STATE  # false for NaN too
            require(f"state.{name}", values, good, f"a finite number of at most {LARGEST_STATE:g}")
    check_ridge(policy)
    for name, values in policy._arrays().items():
        for good, expected in CHECKS.get(name, no_checks)(policy, values):
            require(f"state.{name}", values, good, expected)


def check_ridge(policy: Policy) -> None:
    """V = lam I + sum x x' and b = sum x y over the log, and what follows from them."""
    state, d = policy._ridge.state, policy.arms.dim
    V, V_low, inverse, vectors = state[:d], state[d : 2 * d], state[2 * d : 3 * d], state[3 * d :]  # as `kernels.ridge.parts`
    b, b_low, mean, count, information = (vectors[row] for row in (TARGET, TARGET_LOW, MEAN, COUNT, INFORMATION))
    expect("the number of observations", count[:1], count[:1] == policy.version, "as many as in the log")
    expected = gram_of_log(policy)
    width = np.sqrt(np.diag(expected))
    expect("V", V, V == V.T, "a symmetric matrix")
    expect("V", V, np.abs(V - expected) <= ROUNDING * np.outer(width, width), "lam I + sum x x' over the log")
    expect("V's low part", V_low, (V_low == V_low.T) & low_part(V, V_low), "symmetric, and less than V's last digit")
    rewards = np.array(policy._log_columns()["rewards"])
    size = math.sqrt(rewards.size) * float(np.abs(rewards).max(initial=0.0))  # >= |y|, and no square of it to underflow
    expect("b", b, np.abs(b - target_of_log(policy)) <= ROUNDING * width * size, "sum x y over the log")
    expect("b's low part", b_low, low_part(b, b_low), "less than b's last digit")
    check_solution(policy.recipe.regularization, V, b, size, inverse, mean, information[:1])


def check_solution(
    lam: float, V: FloatArray, b: FloatArray, size: float, inverse: FloatArray, mean: FloatArray, information: FloatArray
) -> None:
    """V^-1, theta_hat and log(det V / lam^d), unless V is so ill-conditioned that rounding may have decided them."""
    expect("log(det V / lam^d)", information, information >= -ROUNDING, "a number >= 0")
    if np.trace(V) > STIFF * lam:
        return
    try:
        fresh = np.linalg.inv(V)
    except np.linalg.LinAlgError:
        raise SnapshotError.about("state.ridge: V", V, "a positive definite matrix") from None
    width, growth = np.sqrt(np.diag(fresh)), np.linalg.slogdet(V / lam)[1]
    expect("V^-1", inverse, np.abs(inverse - fresh) <= SEVERAL * np.outer(width, width), "the inverse of V")
    expect("theta_hat", mean, np.abs(mean - fresh @ b) <= SEVERAL * width * size, "V^-1 b")
    expect("log(det V / lam^d)", information, np.abs(information - growth) <= SEVERAL * (1.0 + growth), f"{growth:.6g}")


def expect(part: str, values: FloatArray, good: BoolArray, expected: str) -> None:
    require(f"state.ridge: {part}", values, good, expected)


def low_part(high: FloatArray, low: FloatArray) -> BoolArray:
    """Whether the pair is one that `kernels.exact` makes."""
    return np.asarray(np.abs(low) <= LAST_DIGIT * np.abs(high) + LEAST)


def gram_of_log(policy: Policy) -> FloatArray:
    """lam I + sum x x': [d, d]. By einsum, because threads of a matrix product wait for busy processors, for seconds."""
    features, others = standing_features(policy), policy._other_features()
    numbered = np.einsum("k,ki,kj->ij", pulls_of_log(policy), features, features)
    prior = policy.recipe.regularization * np.eye(policy.arms.dim)
    return np.asarray(prior + numbered + np.einsum("ni,nj->ij", others, others))


def target_of_log(policy: Policy) -> FloatArray:
    """sum x y: [d]."""
    features, columns = standing_features(policy), policy._log_columns()
    arms, rewards = np.array(columns["arms"], np.int64), np.array(columns["rewards"], np.float64)
    numbered = arms != UNNUMBERED
    sums = np.bincount(arms[numbered], rewards[numbered], len(features))
    return np.asarray(sums @ features + rewards[~numbered] @ policy._other_features())


def pulls_of_log(policy: Policy) -> IntArray:
    """How often each standing arm is in the log: [K]."""
    arms = np.array(policy._log_columns()["arms"], np.int64)
    return np.bincount(arms[arms != UNNUMBERED], minlength=len(standing_features(policy)))


Findings = Iterator[tuple[BoolArray, str]]
"""For every entry of an array whether it is good, and what was expected."""


def no_checks(policy: Policy, values: NDArray[Any]) -> Findings:
    yield from ()


def check_pulls(policy: Policy, pulls: NDArray[Any]) -> Findings:
    """PerturbedHistory, KvetonPHE."""
    yield pulls == pulls_of_log(policy), "how often the arm is in the log"


def check_root(policy: Policy, root: NDArray[Any]) -> Findings:
    """PerturbedHistory, ThompsonSampling, RefreshedEnsembleSampling."""
    yield (root == 0.0) | np.triu(np.ones(root.shape, np.bool_)), "0 below the diagonal"


def check_rewards(policy: Policy, moments: NDArray[Any]) -> Findings:
    """ThompsonSampling: number, mean and sum of squared deviations."""
    count, mean, squares = moments
    rewards = np.array(policy._log_columns()["rewards"])
    largest = np.abs(rewards).max(initial=0.0) * (1.0 + ROUNDING)
    good = (count == len(rewards), abs(mean) <= largest, 0.0 <= squares <= 4.0 * len(rewards) * largest**2)
    yield np.array(good), "the number, mean and spread of the rewards in the log"


def check_largest(policy: Policy, largest: NDArray[Any]) -> Findings:
    """LinUCB: the largest |theta_hat| so far."""
    yield largest >= 0.0, "a norm"


def check_last(policy: Policy, last: NDArray[Any]) -> Findings:
    """RefreshedEnsembleSampling: log(det V / lam^d) at the last refresh, and its number."""
    known, number = last
    reached = policy._ridge.information * (1.0 + ROUNDING) + ROUNDING
    good = (-ROUNDING <= known <= reached, 0.0 <= number <= policy.version and number == np.floor(number))
    yield np.array(good), "a refresh that can have been: (log(det V / lam^d), number)"


CHECKS: dict[str, Callable[[Policy, NDArray[Any]], Findings]] = {
    "pulls": check_pulls,
    "factor": check_root,
    "root": check_root,
    "rewards": check_rewards,
    "largest": check_largest,
    "last": check_last,
}
