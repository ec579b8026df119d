"""What is known of every array of an ensemble of networks. Weights only a replay can train again: they are believed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.models.network_ensemble import EARLY, MOST, NetworkEnsemble
from ensample.models.units import typical_sizes
from ensample.policies.policy import Policy
from ensample.policies.soundness import ROUNDING, standing_features
from ensample.types import BoolArray, FloatArray, IntArray

LEAST = 1e-300  # below it digits are lost

Findings = Iterator[tuple[BoolArray, str]]


def networks(policy: Policy) -> NetworkEnsemble:
    assert isinstance(policy.model, NetworkEnsemble)
    return policy.model


def check_weights(policy: Policy, weights: NDArray[Any]) -> Findings:
    """Weights, and the optimiser's two moments of their gradients: the second is a mean of squares."""
    yield np.vstack([np.ones(weights[:2].shape, np.bool_), weights[2:] >= 0.0]), "a mean of squares"
    if policy.version == 0:
        yield (
            np.vstack([np.ones(weights[:1].shape, np.bool_), weights[1:] == 0.0]),
            "0 before the first observation",
        )


def check_sizes(policy: Policy, sizes: NDArray[Any]) -> Findings:
    """Units of features: the standing arms', or between the least and the largest value that was played."""
    if networks(policy).standing:
        yield sizes == typical_sizes(standing_features(policy)), "the standing arms'"
        return
    yield (
        (sizes > 0.0) == (networks(policy).state.features.seen > 0.0),
        "0 while the feature was always 0",
    )
    if policy._ledger.keeps_log and policy.version:
        played = np.abs(policy._ledger.log().features)
        least = np.where(played > 0.0, played, np.inf).min(axis=0)
        good = (sizes >= least * (1.0 - ROUNDING)) & (
            sizes <= played.max(axis=0) * (1.0 + ROUNDING)
        )
        yield good | (sizes == 0.0), "a size between those in the log"


def check_squares(policy: Policy, squares: NDArray[Any]) -> Findings:
    """Sums of squares of what was played, where the units are learned from it."""
    yield squares >= 0.0, "a sum of squares"
    if networks(policy).standing:
        yield squares == 0.0, "0 where arms stand"
    elif policy._ledger.keeps_log:
        known = np.square(policy._ledger.log().features).sum(axis=0)
        yield np.abs(squares - known) <= ROUNDING * known, "the sum of squares in the log"


def check_seen(policy: Policy, seen: NDArray[Any]) -> Findings:
    """How often a feature was not 0."""
    yield (
        (seen >= 0.0) & (seen <= policy.version) & (seen == np.floor(seen)),
        f"a number from 0 to {policy.version}",
    )
    if networks(policy).standing:
        yield seen == 0.0, "0 where arms stand"
    elif policy._ledger.keeps_log:
        yield (
            seen == (policy._ledger.log().features != 0.0).sum(axis=0),
            "how often it is not 0 in the log",
        )


def logged_rewards(policy: Policy) -> FloatArray:
    """Of the log, in units of the largest: none where there is no log."""
    rewards = np.array(policy._ledger.rewards, np.float64)
    return rewards / reward_size(rewards)


def reward_size(rewards: FloatArray) -> float:
    return float(np.abs(rewards).max(initial=0.0)) + LEAST


def check_mean(policy: Policy, mean: NDArray[Any]) -> Findings:
    rewards = np.array(policy._ledger.rewards, np.float64)
    if rewards.size:
        yield (
            np.abs(mean - rewards.mean()) <= ROUNDING * reward_size(rewards),
            "the mean of the rewards in the log",
        )
    if policy.version == 0:
        yield mean == 0.0, "0 before the first reward"


def check_deviations(policy: Policy, deviations: NDArray[Any]) -> Findings:
    yield deviations >= 0.0, "a sum of squares"
    rewards = logged_rewards(policy)
    if rewards.size:
        size, spread = (
            reward_size(np.array(policy._ledger.rewards)),
            np.square(rewards - rewards.mean()).sum(),
        )
        good = np.abs(deviations / size / size - spread) <= ROUNDING * (1.0 + spread)
        yield good, "the squared deviations of the rewards in the log"


def check_misses(policy: Policy, misses: NDArray[Any]) -> Findings:
    """A mean of squared misses, the recent ones counting more."""
    yield (
        (misses >= 0.0) & ((misses == 0.0) | (policy.version > 0)),
        "a mean of squares, 0 before the first reward",
    )


def check_observed(policy: Policy, observed: NDArray[Any]) -> Findings:
    yield observed == policy.version, f"{policy.version}, as were learned"


def check_trained(policy: Policy, trained: NDArray[Any]) -> Findings:
    """As many minibatches as `NetworkEnsemble._steps` has asked for."""
    training = networks(policy).training
    early = EARLY * training.batch // np.arange(1, policy.version + 1)
    total = int(np.maximum(training.steps, np.minimum(MOST, early)).sum())
    yield trained == total, f"{total} minibatches after {policy.version} observations"


def check_newest(policy: Policy, newest: NDArray[Any]) -> Findings:
    """Features and reward of the newest observation."""
    if policy.version == 0:
        yield newest == 0.0, "0 before the first observation"
    elif policy._ledger.keeps_log:
        log = policy._ledger.log()
        yield (
            newest == np.append(log.features[-1], log.reward[-1]),
            "the last observation of the log",
        )


def check_kept(policy: Policy, kept: NDArray[Any]) -> Findings:
    """Its round, and its place in memory, which `fault` compares with what is there."""
    if policy._ledger.keeps_log and policy.version:
        yield (
            np.array([kept[0] == policy._ledger.rounds[-1], True]),
            "the round of the last observation",
        )


def filled(policy: Policy) -> tuple[IntArray, IntArray]:
    """(places of the memory, rows of the log) that hold the same observation; the row is -1 for one that is not there."""
    rounds = networks(policy).memory.rounds
    rows = {round: row for row, round in enumerate(policy._ledger.rounds)}
    places = np.flatnonzero(rounds >= 0)
    return places, np.array([rows.get(round, -1) for round in rounds[places].tolist()], np.int64)


def check_memory_rounds(policy: Policy, rounds: NDArray[Any]) -> Findings:
    if policy._ledger.keeps_log:
        places, rows = filled(policy)
        good = np.ones(rounds.shape, np.bool_)
        good[places] = rows >= 0
        yield good, "a round of the log"


def check_memory_features(policy: Policy, features: NDArray[Any]) -> Findings:
    yield from remembered(policy, features, policy._ledger.log().features)


def check_memory_rewards(policy: Policy, rewards: NDArray[Any]) -> Findings:
    model = networks(policy)
    units, holds = model.state.rewards, model.memory.rounds >= 0
    most = np.sqrt(units.deviations) * (1.0 + ROUNDING) + ROUNDING * np.abs(units.mean)
    yield (
        ~holds | (np.abs(rewards - units.mean) <= most),
        "a reward that the spread of all leaves room for",
    )
    yield from remembered(policy, rewards, policy._ledger.log().reward)


def remembered(policy: Policy, values: NDArray[Any], logged: FloatArray) -> Findings:
    """What is kept in a place of the memory is what the log says of its round; places that are not filled hold 0."""
    good = values == 0.0
    good[networks(policy).memory.rounds >= 0] = True
    yield good, "0 in a place that is not filled"
    if policy._ledger.keeps_log:
        places, rows = filled(policy)
        good = np.ones(values.shape, np.bool_)
        known = rows >= 0
        good[places[known]] = values[places[known]] == logged[rows[known]]
        yield good, "as in the log"


NETWORK_CHECKS: dict[str, Callable[[Policy, NDArray[Any]], Findings]] = {
    "parameters": check_weights,
    "features.sizes": check_sizes,
    "features.squares": check_squares,
    "features.seen": check_seen,
    "rewards.mean": check_mean,
    "rewards.deviations": check_deviations,
    "rewards.misses": check_misses,
    "observed": check_observed,
    "trained": check_trained,
    "newest": check_newest,
    "kept": check_kept,
    "memory.rounds": check_memory_rounds,
    "memory.features": check_memory_features,
    "memory.rewards": check_memory_rewards,
}
"""By the names of `NetworkEnsemble.arrays`."""
