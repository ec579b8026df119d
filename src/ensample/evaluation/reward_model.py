"""What each action earns in a context: a ridge regression for each action, from the rows before.

Cross-fitted in time: a row's reward is predicted from earlier rows only, so that the prediction is known before the reward, as
the confidence sequences need, and no row has a part in its own prediction. It is fitted anew whenever their number has grown
by a seventh.
"""

import numpy as np

from ensample.types import FloatArray, IntArray

__all__ = ["ActionRidges"]

STRENGTH = 1.0  # of the regularization, in observations of features of size 1


class ActionRidges:
    """theta_a = argmin |y - ybar - z'theta|^2 + |theta|^2 over the rows of action a, z the standardised context and a constant.

    Rewards are in [0, 1], and so are predictions. Before the first fit every prediction is `guess`.
    """

    def __init__(self, actions: int, width: int, guess: float = 0.5) -> None:
        size = width + 1  # of a context and the constant
        self.grams = np.zeros((actions, size, size))  # sum z z'
        self.targets = np.zeros((actions, size))  # sum z y
        self.weights = np.zeros((size, actions))
        self.mean = guess

    def add(self, contexts: FloatArray, chosen: IntArray, rewards: FloatArray) -> None:
        """Take in rows: [n, p], [n], [n]."""
        z = with_constant(contexts)
        for action in np.unique(chosen):
            rows = z[chosen == action]
            self.grams[action] += rows.T @ rows
            self.targets[action] += rows.T @ rewards[chosen == action]

    def fit(self) -> None:
        """From all rows taken in so far."""
        gram, target = self.grams.sum(axis=0), self.targets.sum(axis=0)
        count = gram[-1, -1]
        if count == 0.0:
            return
        self.mean = float(target[-1] / count)
        means = gram[-1] / count
        spreads = np.sqrt(np.maximum(np.diag(gram) / count - means**2, 0.0))
        spreads[-1] = 1.0
        spreads[spreads <= 1e-12 * np.abs(means)] = np.inf  # a constant says nothing
        change = np.diag(1.0 / spreads)  # z -> (z - means) / spreads, the constant stays
        change[-1, :-1] = (-means / spreads)[:-1]
        eye = STRENGTH * np.eye(len(means))
        centred = self.targets - self.mean * self.grams[:, -1]
        inner = change.T @ self.grams @ change + eye
        solved = np.linalg.solve(inner, (centred @ change)[..., None])[..., 0]
        self.weights = change @ solved.T

    def predict(self, contexts: FloatArray) -> FloatArray:
        """[n, K]."""
        predicted: FloatArray = np.clip(self.mean + with_constant(contexts) @ self.weights, 0.0, 1.0)
        return predicted


def with_constant(contexts: FloatArray) -> FloatArray:
    return np.column_stack([contexts, np.ones(len(contexts))])
