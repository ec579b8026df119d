"""Logs of which the truth is known."""

import numpy as np
import polars as pl

ACTIONS = [f"a{number}" for number in range(10)]


class World:
    """Contexts of five normals, ten actions, rewards that are clicks with logistic
    probabilities."""

    def __init__(self, seed: int, noise: str = "click") -> None:
        rng = np.random.default_rng(seed)
        self.slopes, self.bias = 0.5 * rng.normal(size=(10, 5)), 0.5 * rng.normal(size=10)
        self.noise = noise

    def means(self, contexts):
        return 1.0 / (1.0 + np.exp(-(contexts @ self.slopes.T + self.bias)))

    def log(self, rows: int, seed: int) -> pl.DataFrame:
        """What a policy that plays at random would have logged."""
        rng = np.random.default_rng(seed)
        contexts, shares = rng.normal(size=(rows, 5)), np.full((rows, 10), 0.1)
        return self.frame(contexts, shares, rng)

    def frame(self, contexts, shares, rng) -> pl.DataFrame:
        rows = len(contexts)
        chosen = (shares.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
        means = self.means(contexts)[np.arange(rows), chosen]
        rewards = (rng.random(rows) < means).astype(float) if self.noise == "click" else means
        return pl.DataFrame(
            {
                "action": [ACTIONS[number] for number in chosen],
                "propensity": shares[np.arange(rows), chosen],
                "reward": rewards,
                "context": contexts.tolist(),
                "offer": [ACTIONS] * rows,
                "propensities": shares.tolist(),
            }
        )

    def target(self, contexts, names):
        """Mostly the best action."""
        means = self.means(np.array(contexts))
        shares = np.full(means.shape, 0.01)
        shares[np.arange(len(means)), means.argmax(axis=1)] += 0.9
        return shares

    def predicted(self, contexts, names):
        """By somebody who knows the truth."""
        return self.means(np.array(contexts))

    def value(self) -> float:
        """Of the target, over many contexts."""
        contexts = np.random.default_rng(7).normal(size=(200_000, 5))
        return float((self.means(contexts) * self.target(contexts, ACTIONS)).sum(axis=1).mean())

    def least_error(self, rows: int) -> float:
        """Of the target's value from clicks that were logged at random: the efficiency bound (Hahn
        1998), which DR with the true means reaches and no regular estimator beats. A standard
        deviation.
        """
        contexts = np.random.default_rng(8).normal(size=(200_000, 5))
        means, target = self.means(contexts), self.target(contexts, ACTIONS)
        noise = (target**2 / 0.1 * means * (1.0 - means)).sum(axis=1).mean()
        return float(np.sqrt((noise + (target * means).sum(axis=1).var()) / rows))
