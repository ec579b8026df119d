"""Whether a learned state could be that of a policy with this log.

What follows from the log in one step is compared with it; what only a replay can tell is believed if it is finite.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.calibration import Unknown
from ensample.checks import LARGEST_REWARD
from ensample.errors import SnapshotError
from ensample.kernels.calibration import LEAST as LEAST_STRENGTH
from ensample.kernels.calibration import MOST as MOST_STRENGTH
from ensample.kernels.calibration import first_prior
from ensample.kernels.ridge import Ridge
from ensample.models import GeneralizedLinear, LinearModel
from ensample.models.network_ensemble import NetworkEnsemble
from ensample.policies.decision import UNNUMBERED
from ensample.policies.policy import Policy
from ensample.policies.soundness import ROUNDING, require, standing_features
from ensample.types import BoolArray, FloatArray, IntArray

__all__ = ["check_state"]

LARGEST_STATE = 1e307  # what sums of products and squares of `checks.LARGEST` and `LARGEST_REWARD` come to
STIFF = 1e10  # while V is less than this times its prior, V^-1 is known to several digits however it was computed
SEVERAL = 1e-3  # what is asked of them
LAST_DIGIT = 1e-15  # of a double
LEAST = 1e-300  # below it digits are lost


def check_state(policy: Policy) -> None:
    """Finite numbers, and for every array by its name what is known of it."""
    model = policy.model
    for name, values in model.arrays().items():
        if values.dtype.kind == "f":
            good = np.abs(values) <= LARGEST_STATE  # false for NaN too
            require(f"state.{name}", values, good, f"a finite number of at most {LARGEST_STATE:g}")
    if model.count != policy.version:
        raise SnapshotError.about("state: the number of observations", model.count, f"{policy.version}, as were learned")
    fault = model.fault()
    if fault is not None:
        raise SnapshotError(f"state: {fault}")
    if isinstance(model, NetworkEnsemble):
        check_memory(policy, model)
    if not isinstance(model, LinearModel):
        return
    with np.errstate(all="ignore"):  # what cannot be may overflow on the way to its refusal
        check_ridge(policy, model)
        for name, values in model.arrays().items():
            for good, expected in CHECKS.get(name, no_checks)(policy, values):
                require(f"state.{name}", values, good, expected)


def check_memory(policy: Policy, model: NetworkEnsemble) -> None:
    """What networks learn from: observations of the log, where there is one, with its mean and spread of rewards."""
    if not policy._ledger.keeps_log:
        return
    memory, rewards, log = model.memory, model.state.rewards, policy._ledger.log()
    places = {round: place for place, round in enumerate(log.round.tolist())}
    filled = np.flatnonzero(memory.rounds >= 0)
    known = np.array([round in places for round in memory.rounds[filled].tolist()], np.bool_)
    require("state.memory.rounds", memory.rounds[filled], known, "a round of the log")
    rows = np.array([places[round] for round in memory.rounds[filled].tolist()], np.int64)
    require("state.memory.features", memory.features[filled], memory.features[filled] == log.features[rows], "as in the log")
    require("state.memory.rewards", memory.rewards[filled], memory.rewards[filled] == log.reward[rows], "as in the log")
    if len(log.round):
        size = np.abs(log.reward).max() + LEAST
        good = np.abs(rewards.mean - log.reward.mean()) <= ROUNDING * size
        require("state.rewards.mean", rewards.mean, good, "the mean of the rewards in the log")
        spread = np.square((log.reward - log.reward.mean()) / size).sum()
        good = np.abs(rewards.deviations / size / size - spread) <= ROUNDING * (1.0 + spread)
        require("state.rewards.deviations", rewards.deviations, good, "those of the rewards in the log")
        good = np.array([model.state.kept[0] == log.round[-1]])
        require("state.kept", model.state.kept[:1], good, "the round of the last observation")


def check_ridge(policy: Policy, model: LinearModel) -> None:
    """V = prior + sum x x' and b = sum x y over the log, where there is one, and what follows from them."""
    parts = model.parts
    V, V_low, b, prior = parts.gram, parts.gram_low, parts.target, parts.prior
    if model.unknown is None:
        expect("prior", prior, prior == model.given, "the recipe's regularization")
    else:
        check_scales(policy, model, model.unknown)
    expect("V", V, V == V.T, "a symmetric matrix")
    expect("V's low part", V_low, (V_low == V_low.T) & low_part(V, V_low), "symmetric, and less than V's last digit")
    expect("b's low part", parts.target_low, low_part(b, parts.target_low), "less than b's last digit")
    if model.rate > 0.0:
        expect("rate", parts.rate[:, :1], parts.rate[:, :1] == model.rate, "log 2 / the recipe's half_life")
        expect("sum x_i^2", parts.lengths, parts.lengths >= 0.0, "a sum of squares")
    if model.weighted:
        check_range(policy)
    known = policy._ledger.keeps_log and not model.weighted
    expected = np.diag(prior) + gram_of_log(policy) if known else V
    width = np.sqrt(np.abs(np.diag(expected)))
    expect("V", V, np.abs(V - expected) <= ROUNDING * np.outer(width, width), "its prior + sum x x' over the log")
    expect("V", V, np.abs(V) <= (1.0 + ROUNDING) * np.outer(width, width), "a positive definite matrix")
    expect("V", np.diag(V), np.diag(V) >= prior * (1.0 - LAST_DIGIT), "at least its prior on the diagonal")
    size = float(np.linalg.norm(b / width))
    if known:
        rewards = learned_rewards(policy)
        size = math.sqrt(rewards.size) * float(np.abs(rewards).max(initial=0.0))  # >= |y|, and no square of it to underflow
        expect("b", b, np.abs(b - target_of_log(policy)) <= ROUNDING * width * size, "sum x y over the log")
        squares, total = parts.squares[:1, 0], (shares_of_log(policy) * np.square(rewards)).sum()
        expect("sum y^2's low part", parts.squares[1, :1], low_part(squares, parts.squares[1, :1]), "less than its last digit")
        expect("sum y^2", squares, np.abs(squares - total) <= ROUNDING * total, "sum y^2 over the log")
    check_solution(parts, size)


def check_range(policy: Policy) -> None:
    """Rewards of the log that the model cannot have learned."""
    link, rewards = policy.recipe.model, np.array(policy._ledger.rewards)
    if isinstance(link, GeneralizedLinear):
        require("log.rewards", rewards, (rewards >= link.low) & (rewards <= link.high), f"a reward of {link!r}")


def check_scales(policy: Policy, model: LinearModel, unknown: Unknown) -> None:
    """What was learned of the scales, and the prior that follows from it."""
    known, n = model.known, policy.version
    strength, asked, sizes = known.strength[:1], known.asked[:1], known.sizes
    ranges = {"noise": LARGEST_STATE, "spread": LARGEST_STATE, "effective": float(model.dim)}
    for name, most in ranges.items():
        value = getattr(known, name)[:1]
        require(f"state.scales: {name}", value, (value >= 0.0) & (value <= most), f"a number from 0 to {most:g}")
    require("state.scales: asked", asked, (asked >= 0.0) & (asked <= n) & (asked == np.floor(asked)), f"0 to {n}")
    possible = (strength == unknown.lam) if unknown.lam else (strength >= LEAST_STRENGTH) & (strength <= MOST_STRENGTH)
    require("state.scales: strength", strength, possible, "the recipe's regularization, or one that can be learned")
    given = sizes >= 0.0 if unknown.sizes is None else sizes == unknown.sizes
    require("state.scales: sizes", sizes, given, "the root mean squares of the features")
    prior, wanted = model.parts.prior, first_prior(sizes, float(strength[0]), unknown.intercept)
    expect("prior", prior, np.abs(prior - wanted) <= ROUNDING * wanted, "what follows from the scales")


def check_solution(parts: Ridge, size: float) -> None:
    """V^-1, theta_hat and log(det V / det prior), unless V is so ill-conditioned that rounding may have decided them."""
    V, inverse, information, prior = parts.gram, parts.inverse, parts.information[:1], parts.prior
    spread = np.sqrt(np.abs(np.diag(inverse)))
    expect("V^-1", inverse, np.abs(inverse - inverse.T) <= ROUNDING * np.outer(spread, spread), "a symmetric matrix")
    expect("log(det V / lam^d)", information, information >= -ROUNDING, "a number >= 0")
    if (np.diag(V) / prior).sum() > STIFF or prior.max() > STIFF * prior.min():
        return
    try:
        fresh = np.linalg.inv(V)
    except np.linalg.LinAlgError:
        raise SnapshotError.about("state.ridge: V", V, "a positive definite matrix") from None
    width, growth = np.sqrt(np.diag(fresh)), np.linalg.slogdet(V / np.sqrt(np.outer(prior, prior)))[1]
    expect("V^-1", inverse, np.abs(inverse - fresh) <= SEVERAL * np.outer(width, width), "the inverse of V")
    expect("theta_hat", parts.mean, np.abs(parts.mean - fresh @ parts.target) <= SEVERAL * width * size, "V^-1 b")
    expect("log(det V / lam^d)", information, np.abs(information - growth) <= SEVERAL * (1.0 + growth), f"{growth:.6g}")


def expect(part: str, values: FloatArray, good: BoolArray, expected: str) -> None:
    require(f"state.ridge: {part}", values, good, expected)


def low_part(high: FloatArray, low: FloatArray) -> BoolArray:
    """Whether the pair is one that `kernels.exact` makes."""
    return np.asarray(np.abs(low) <= LAST_DIGIT * np.abs(high) + LEAST)


def gram_of_log(policy: Policy) -> FloatArray:
    """sum x x': [d, d]. By einsum, because threads of a matrix product wait for busy processors, for seconds."""
    if policy.recipe.half_life is not None:
        X = policy._ledger.log().features
        return np.asarray(np.einsum("n,ni,nj->ij", shares_of_log(policy), X, X))
    features, others = learned_features(policy)
    numbered = np.einsum("k,ki,kj->ij", pulls_of_log(policy), features, features)
    return np.asarray(numbered + np.einsum("ni,nj->ij", others, others))


def target_of_log(policy: Policy) -> FloatArray:
    """sum x y: [d]."""
    if policy.recipe.half_life is not None:
        log = policy._ledger.log()
        return np.asarray(np.einsum("n,ni->i", shares_of_log(policy) * log.reward, log.features))
    features, others = learned_features(policy)
    arms, rewards = np.array(policy._ledger.arms, np.int64), learned_rewards(policy)
    numbered = arms != UNNUMBERED
    sums = np.bincount(arms[numbered], rewards[numbered], len(features))
    return np.asarray(sums @ features + rewards[~numbered] @ others)


def learned_features(policy: Policy) -> tuple[FloatArray, FloatArray]:
    """Of standing arms [K, d] and of others in the log [n, d], with the constant where there is an intercept."""
    features, others = standing_features(policy), policy._ledger.other_features()
    if not policy.recipe.intercept:
        return features, others
    return np.hstack([features, np.ones((len(features), 1))]), np.hstack([others, np.ones((len(others), 1))])


def learned_rewards(policy: Policy) -> FloatArray:
    """Of the log, relative to the first where there is an intercept: [n]."""
    rewards = np.array(policy._ledger.rewards, np.float64)
    return rewards - rewards[:1] if policy.recipe.intercept else rewards


def shares_of_log(policy: Policy) -> FloatArray:
    """What each observation in the log still counts for, g^(n - 1 - i): [n]."""
    return np.asarray(np.exp(-policy.recipe.rate * np.arange(policy.version)[::-1]))


def pulls_of_log(policy: Policy) -> IntArray:
    """How often each standing arm is in the log: [K]."""
    arms = np.array(policy._ledger.arms, np.int64)
    return np.bincount(arms[arms != UNNUMBERED], minlength=len(standing_features(policy)))


Findings = Iterator[tuple[BoolArray, str]]
"""For every entry of an array whether it is good, and what was expected."""


def no_checks(policy: Policy, values: NDArray[Any]) -> Findings:
    yield from ()


def check_pulls(policy: Policy, pulls: NDArray[Any]) -> Findings:
    """PerturbedHistory, KvetonPHE."""
    yield (pulls >= 0) & (pulls <= policy.version), "how often the arm was played"
    if policy._ledger.keeps_log:
        yield pulls == pulls_of_log(policy), "how often the arm is in the log"


def check_root(policy: Policy, root: NDArray[Any]) -> Findings:
    """PerturbedHistory, ThompsonSampling, RefreshedEnsembleSampling."""
    yield (root == 0.0) | np.triu(np.ones(root.shape, np.bool_)), "0 below the diagonal"


def check_rewards(policy: Policy, moments: NDArray[Any]) -> Findings:
    """ThompsonSampling: number, mean and sum of squared deviations."""
    count, mean, squares = moments
    rewards = np.array(policy._ledger.rewards)
    largest = np.abs(rewards).max(initial=0.0) * (1.0 + ROUNDING) if policy._ledger.keeps_log else LARGEST_REWARD
    good = (count == policy.version, abs(mean) <= largest, 0.0 <= squares <= 4.0 * policy.version * largest**2)
    yield np.array(good), "the number, mean and spread of the rewards in the log"


def check_largest(policy: Policy, largest: NDArray[Any]) -> Findings:
    """LinUCB: the largest |theta_hat| so far."""
    yield largest >= 0.0, "a norm"


def check_origin(policy: Policy, origin: NDArray[Any]) -> Findings:
    """EnsembleSampling(intercept=True): the first reward."""
    yield (origin == 0.0) | (policy.version > 0), "0 before the first reward"
    if policy._ledger.keeps_log:
        yield origin == np.array(policy._ledger.rewards[:1] or [0.0]), "the first reward of the log"
    yield np.abs(origin) <= LARGEST_REWARD, f"a reward of at most {LARGEST_REWARD:g}"


def check_last(policy: Policy, last: NDArray[Any]) -> Findings:
    """RefreshedEnsembleSampling: log(det V / lam^d) at the last refresh, and its number."""
    known, number = last
    model = policy.model
    assert isinstance(model, LinearModel)
    reached = model.information * (1.0 + ROUNDING) + ROUNDING
    good = (-ROUNDING <= known <= reached, 0.0 <= number <= policy.version and number == np.floor(number))
    yield np.array(good), "a refresh that can have been: (log(det V / lam^d), number)"


CHECKS: dict[str, Callable[[Policy, NDArray[Any]], Findings]] = {
    "pulls": check_pulls,
    "root": check_root,
    "rewards": check_rewards,
    "largest": check_largest,
    "last": check_last,
    "origin": check_origin,
}
