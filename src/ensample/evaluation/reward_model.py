"""Reward model: ridge regressions for each action, fitted to earlier rows.

Cross-fitted in time: a row's reward is predicted from earlier rows only, so that the prediction is
known before the reward, as the confidence sequences need, and no row has a part in its own
prediction. It is fitted anew whenever their number has grown by a seventh.

How strongly to regularize, and whether actions have something in common, nobody knows before: there
is a fit for each possibility, and each is believed as far as it has predicted the rewards of
earlier rows, each before it came.
"""

import numpy as np

from ensample.types import FloatArray, IntArray

STRENGTHS = 1.0, 4.0, 16.0  # of the regularization, in observations of features of size 1
POOLED = 1.0  # that of the fit to all actions at once
LEAST_NOISE = 1e-12  # a variance: of rewards that are predicted exactly


class ActionRidges:
    """Mixture of ridge regressions for each action.

    theta_a = mu + argmin |y - ybar - z'(mu + delta)|^2 + lam |delta|^2 over the rows of action a.

    z is the standardised context and a constant; mu is 0, or a ridge regression on the rows of all
    actions. Rewards are in [0, 1], and so are predictions. Before the first fit every prediction is
    `guess`.
    """

    def __init__(self, actions: int, width: int, guess: float = 0.5) -> None:
        size, fits = width + 1, 2 * len(STRENGTHS)  # size: of a context and the constant
        self.grams = np.zeros((actions, size, size))  # sum z z'
        self.targets = np.zeros((actions, size))  # sum z y
        self.weights = np.zeros((fits, size, actions))
        self.losses = np.zeros(
            fits
        )  # sum (y - prediction)^2, each predicted by what was fitted before
        self.mean = guess

    def add(self, contexts: FloatArray, chosen: IntArray, rewards: FloatArray) -> None:
        """Add rows: contexts [n, p], actions [n], rewards [n]."""
        z = with_constant(contexts)
        for action in np.unique(chosen):
            rows, y = z[chosen == action], rewards[chosen == action]
            self.losses += np.square(
                self.within(rows @ self.weights[:, :, action].T) - y[:, None]
            ).sum(axis=0)
            self.grams[action] += rows.T @ rows
            self.targets[action] += rows.T @ y

    def fit(self) -> None:
        """Fit all regressions to the rows added so far."""
        gram, target = self.grams.sum(axis=0), self.targets.sum(axis=0)
        count = gram[-1, -1]
        if count == 0.0:
            return
        self.mean = float(target[-1] / count)
        change = standardising(gram / count)
        inner = change.T @ self.grams @ change
        centred = (self.targets - self.mean * self.grams[:, -1]) @ change
        eye = np.eye(len(change))
        common = np.linalg.solve(inner.sum(axis=0) + POOLED * eye, centred.sum(axis=0))
        sides = np.stack(
            [centred, centred - inner @ common], axis=-1
        )  # [K, size, 2]: around 0, and around what is common
        for place, lam in enumerate(STRENGTHS):
            around = np.linalg.solve(inner + lam * eye, sides)
            self.weights[2 * place] = change @ around[..., 0].T
            self.weights[2 * place + 1] = change @ (around[..., 1] + common).T

    def predict(self, contexts: FloatArray) -> FloatArray:
        """Return predicted rewards, [n, K]."""
        return self.within(with_constant(contexts) @ np.tensordot(self.beliefs(), self.weights, 1))

    def beliefs(self) -> FloatArray:
        """Return fit weights, proportional to the likelihood of the rewards so far."""
        least, count = float(self.losses.min()), float(self.grams[:, -1, -1].sum())
        variance = max(least / max(count, 1.0), LEAST_NOISE)
        shares: FloatArray = np.exp(-0.5 * (self.losses - least) / variance)
        shares /= shares.sum()
        return shares

    def within(self, above: FloatArray) -> FloatArray:
        """Return predictions from the values expected above the mean."""
        predicted: FloatArray = np.clip(self.mean + above, 0.0, 1.0)
        return predicted


def standardising(moments: FloatArray) -> FloatArray:
    """Return z -> (z - means) / spreads as a matrix, from the mean of z z'."""
    means = moments[-1]
    spreads = np.sqrt(np.maximum(np.diag(moments) - means**2, 0.0))
    spreads[-1] = 1.0
    spreads[spreads <= 1e-12 * np.abs(means)] = np.inf  # a constant says nothing
    change = np.diag(1.0 / spreads)
    change[-1, :-1] = (-means / spreads)[:-1]
    return change


def with_constant(contexts: FloatArray) -> FloatArray:
    return np.column_stack([contexts, np.ones(len(contexts))])
