"""The reward model of DM and DR from its definition.

Every regression solved anew from the rows, nothing summed up.
"""

import numpy as np

STRENGTHS, POOLED = (1.0, 4.0, 16.0), 1.0


def in_time(contexts, chosen, rewards, actions, pieces):
    """[n, K]: each piece predicted from the rows before it."""
    return learned(contexts, chosen, rewards, actions, pieces)[0]


def in_folds(contexts, chosen, rewards, actions, pieces, folds):
    """[n, K]: each row predicted from those of the other folds, which come in the same pieces."""
    found, number = np.empty((len(contexts), actions)), np.arange(len(contexts)) % folds
    for fold in range(folds):
        others = number != fold
        cuts = [(others[:start].sum(), others[:stop].sum()) for start, stop in pieces]
        last = learned(contexts[others], chosen[others], rewards[others], actions, cuts)[1]
        found[~others] = last(contexts[~others])
    return found


def learned(contexts, chosen, rewards, actions, pieces):
    """Return predictions of each piece from earlier ones, and a function that predicts from all."""
    found, losses = np.full((len(contexts), actions), 0.5), np.zeros(2 * len(STRENGTHS))
    for start, stop in pieces:
        fits, mixed = fitted(contexts[:start], chosen[:start], rewards[:start], actions, losses)
        found[start:stop] = mixed(contexts[start:stop])
        for place, fit in enumerate(fits):
            for row in range(start, stop):
                predicted = fit(contexts[row : row + 1])[0, chosen[row]]
                losses[place] += (np.clip(predicted, 0.0, 1.0) - rewards[row]) ** 2
    return found, fitted(contexts, chosen, rewards, actions, losses)[1]


def fitted(contexts, chosen, rewards, actions, losses):
    """A function of contexts for each fit, and their mixture."""
    fits = [lambda x: np.full((len(x), actions), 0.5)] * len(losses)
    if len(contexts):
        given = contexts, chosen, rewards, actions
        fits = [one_fit(*given, lam, shared) for lam in STRENGTHS for shared in (False, True)]
    shares = believed(losses, len(contexts))
    return fits, lambda x: np.clip(
        sum(share * fit(x) for share, fit in zip(shares, fits, strict=True)), 0.0, 1.0
    )


def believed(losses, count):
    """Weigh strengths by the likelihood of normal rewards around their predictions."""
    variance = max(losses.min() / max(count, 1), 1e-12)
    likelihoods = np.exp(-(losses - losses.min()) / (2.0 * variance))
    return likelihoods / likelihoods.sum()


def one_fit(contexts, chosen, rewards, actions, lam, shared):
    """A function of contexts."""
    spreads = [column.std() for column in contexts.T]
    middle, width = (
        contexts.mean(axis=0),
        np.array([spread if spread > 0.0 else np.inf for spread in spreads]),
    )

    def standardised(x):
        return np.column_stack([(x - middle) / width, np.ones(len(x))])

    z, y = standardised(contexts), rewards - rewards.mean()
    common = ridge(z, y, POOLED) if shared else np.zeros(z.shape[1])
    thetas = [
        common + ridge(z[chosen == a], (y - z @ common)[chosen == a], lam) for a in range(actions)
    ]
    return lambda x: rewards.mean() + standardised(x) @ np.array(thetas).T


def ridge(z, y, lam):
    """argmin |y - z theta|^2 + lam |theta|^2: least squares with a row more for each coordinate."""
    rows, zeros = np.sqrt(lam) * np.eye(z.shape[1]), np.zeros(z.shape[1])
    return np.linalg.lstsq(np.vstack([z, rows]), np.concatenate([y, zeros]), rcond=None)[0]
