"""What a log adds up to: sums that a learned state is compared with."""

import math

import numpy as np

from ensample.models.ridge import effective_count, next_calibration
from ensample.policies.decision import UNNUMBERED
from ensample.policies.policy import Policy
from ensample.policies.soundness import standing_features
from ensample.types import FloatArray


def gram_of_log(policy: Policy) -> FloatArray:
    """sum x x': [d, d]. By einsum, because threads of a matrix product wait for busy processors, for seconds."""
    if policy.recipe.half_life is not None:
        X = policy._ledger.log().features
        return np.asarray(np.einsum("n,ni,nj->ij", shares_of_log(policy), X, X))
    features, others = learned_features(policy)
    numbered = np.einsum("k,ki,kj->ij", pulls_of_log(policy), features, features)
    return np.asarray(numbered + np.einsum("ni,nj->ij", others, others))


def aged_gram_of_log(policy: Policy, ageing: float) -> FloatArray:
    """Return sum (1 + age) x x', the ages being those of fresh members: [d, d]."""
    X, rate, n, last = policy._ledger.log().features, policy.recipe.rate, policy.version, 1
    if policy.recipe.intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
    added = np.zeros(n + 1)  # to all observations up to a number
    while (count := max(last + 1, math.ceil(next_calibration(float(last), rate)))) <= n:
        added[count] = ageing * math.log2(1.0 + (count - last) / effective_count(float(last), rate))
        last = count
    ages = np.cumsum(added[::-1])[::-1][1:]
    return np.asarray(np.einsum("n,ni,nj->ij", shares_of_log(policy) * (1.0 + ages), X, X))


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
    return np.hstack([features, np.ones((len(features), 1))]), np.hstack(
        [others, np.ones((len(others), 1))]
    )


def learned_rewards(policy: Policy) -> FloatArray:
    """Of the log, relative to the first where there is an intercept: [n]."""
    rewards = np.array(policy._ledger.rewards, np.float64)
    return rewards - rewards[:1] if policy.recipe.intercept else rewards


def shares_of_log(policy: Policy) -> FloatArray:
    """What each observation in the log still counts for, g^(n - 1 - i): [n]."""
    return np.asarray(np.exp(-policy.recipe.rate * np.arange(policy.version)[::-1]))


def pulls_of_log(policy: Policy) -> FloatArray:
    """How often each standing arm is in the log: [K]."""
    return by_arm(policy, np.ones(policy.version))


def counts_of_log(policy: Policy) -> FloatArray:
    """What that still counts for: [K]."""
    return by_arm(policy, shares_of_log(policy))


def totals_of_log(policy: Policy) -> FloatArray:
    """The sum of each standing arm's rewards, or what is left of it: [K]."""
    return by_arm(policy, shares_of_log(policy) * np.array(policy._ledger.rewards, np.float64))


def others_of_log(policy: Policy) -> int:
    """How many observations in the log are no standing arm's."""
    return policy._ledger.arms.count(UNNUMBERED)


def by_arm(policy: Policy, values: FloatArray) -> FloatArray:
    """Sums of something of each observation in the log, by standing arm: [K]."""
    arms = np.array(policy._ledger.arms, np.int64)
    numbered = arms != UNNUMBERED
    return np.asarray(
        np.bincount(arms[numbered], values[numbered], len(standing_features(policy))), np.float64
    )
