"""The noise of rewards: the same lines run in Python, for live policies, and compiled, for kernels."""

from typing import Any

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import embedded

__all__ = ["BERNOULLI_NOISE", "NORMAL_NOISE", "SIGN_NOISE", "draw_reward", "noise_spread", "noisy_reward", "spread_at"]

NORMAL_NOISE, BERNOULLI_NOISE, SIGN_NOISE = 0, 1, 2


def noisy_reward(kind: int, mean: float, spread: float, rng: Generator) -> float:
    """A reward with this mean. Every kind takes one number from `rng`."""
    if kind == BERNOULLI_NOISE:
        return 1.0 if rng.random() < mean else 0.0
    if kind == SIGN_NOISE:
        return mean + (spread if rng.random() < 0.5 else -spread)
    return mean + spread * rng.standard_normal()


def spread_at(mean: Any, low: float, high: float) -> Any:
    """low + (high - low) min(1, |mean|), at one mean or at each of many."""
    return low + (high - low) * np.minimum(1.0, np.abs(mean))


draw_reward = embedded(noisy_reward)
noise_spread = embedded(spread_at)
