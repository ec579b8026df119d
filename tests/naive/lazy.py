"""The lazy law, slowly, with a flaw to order."""

import numpy as np


def lazy_pulls(
    X: np.ndarray,
    theta: np.ndarray,
    noise: float,
    scale: float,
    size: int,
    rounds: int,
    seed: int,
    stale: bool,
) -> np.ndarray:
    """Pulls of each arm by lazy ensemble sampling (lam = 1).

    `stale`: a member's pull counts are never brought up to date.
    """
    rng = np.random.default_rng(seed)
    arms, d = X.shape
    V, b, pulls = np.eye(d), np.zeros(d), np.zeros(arms, int)
    sums, seen = scale * rng.standard_normal((size, d)), np.zeros((size, arms), int)
    for _ in range(rounds):
        j = rng.integers(size)
        missed = pulls - seen[j]
        sums[j] += (scale * np.sqrt(missed) * rng.standard_normal(arms)) @ X
        if not stale:
            seen[j] = pulls
        k = int(np.argmax(X @ np.linalg.solve(V, b + sums[j])))
        V += np.outer(X[k], X[k])
        b += X[k] * (X[k] @ theta + noise * rng.standard_normal())
        pulls[k] += 1
    return pulls
