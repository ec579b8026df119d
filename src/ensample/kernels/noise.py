"""The noise of rewards: the same lines run in Python, for live policies, and compiled, for kernels."""

from typing import Any

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import embedded

__all__ = [
    "BERNOULLI_NOISE",
    "NORMAL_NOISE",
    "SALE_NOISE",
    "SIGN_NOISE",
    "STUDENT_NOISE",
    "draw_reward",
    "noise_spread",
    "noisy_reward",
    "spread_at",
]

NORMAL_NOISE, BERNOULLI_NOISE, SIGN_NOISE, STUDENT_NOISE, SALE_NOISE = 0, 1, 2, 3, 4


def noisy_reward(kind: int, mean: float, spread: float, rng: Generator) -> float:
    """A reward with this mean. Every kind but Student's takes one number from `rng`."""
    if kind == BERNOULLI_NOISE:
        return 1.0 if rng.random() < mean else 0.0
    if kind == SIGN_NOISE:
        return mean + (spread if rng.random() < 0.5 else -spread)
    if kind == SALE_NOISE:  # 0, or the price that mean and standard deviation imply
        chance = mean * mean / (mean * mean + spread * spread) if mean != 0.0 else 0.0
        return mean / chance if rng.random() < chance else 0.0
    if kind == STUDENT_NOISE:  # three degrees of freedom, whose variance is 3
        length = rng.standard_normal() ** 2 + rng.standard_normal() ** 2 + rng.standard_normal() ** 2
        return mean + spread * rng.standard_normal() / np.sqrt(length)
    return mean + spread * rng.standard_normal()


def spread_at(mean: Any, low: float, high: float) -> Any:
    """low + (high - low) min(1, |mean|), at one mean or at each of many."""
    return low + (high - low) * np.minimum(1.0, np.abs(mean))


draw_reward = embedded(noisy_reward)
noise_spread = embedded(spread_at)
