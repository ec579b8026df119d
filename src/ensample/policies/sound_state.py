"""Whether a learned state could be that of a policy with this log.

What follows from the log in one step is compared with it; what only a replay can tell is believed if it is finite.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.errors import SnapshotError
from ensample.policies.policy import UNNUMBERED, Policy
from ensample.policies.soundness import ROUNDING, require, standing_features
from ensample.types import BoolArray, FloatArray, IntArray

__all__ = ["check_state"]

LARGEST_STATE = 1e220  # what sums of products of `checks.LARGEST` come to


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
    """V = lam I + sum x x' over the log, hence V^-1 <= I / lam and det V >= lam^d."""
    ridge, count, lam = policy._ridge, policy.version, policy.recipe.regularization
    if ridge.count != count:
        raise SnapshotError.about("state.ridge: the number of observations", ridge.count, f"{count}, as in the log")
    V, expected = policy.gram, gram_of_log(policy)
    width = np.sqrt(np.diag(expected))
    require("state.ridge: V", V, V == V.T, "a symmetric matrix")
    require("state.ridge: V", V, np.abs(V - expected) <= ROUNDING * np.outer(width, width), "lam I + sum x x' over the log")
    require("state.ridge: V^-1", ridge.inverse, np.abs(ridge.inverse) <= 2.0 / lam, "at most 1 / lam, because V >= lam I")
    if ridge.information < -ROUNDING:
        raise SnapshotError.about("state.ridge: log(det V / lam^d)", ridge.information, "a number >= 0")


def gram_of_log(policy: Policy) -> FloatArray:
    """lam I + sum x x': [d, d]."""
    features, others = standing_features(policy), policy._other_features()
    prior = policy.recipe.regularization * np.eye(policy.arms.dim)
    return np.asarray(prior + (features.T * pulls_of_log(policy)) @ features + others.T @ others)


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
