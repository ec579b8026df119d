"""Statistical tests with one stated false-alarm rate."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-7
"""The probability that a p-value of a true statement is below it; the suite has under 200."""


def holds(p_value: float) -> bool:
    """Whether the data are compatible with the statement."""
    return bool(p_value > FALSE_ALARM)


def gaussian_p_value(whitened: np.ndarray) -> float:
    """Test that rows are draws of N(0, I): mean, total size, rows, coordinates (Bonferroni)."""
    n, d = whitened.shape
    squares = (whitened**2).sum(axis=1)
    total = stats.chi2.cdf(squares.sum(), n * d)
    outer = whitened.T @ whitened / n - np.eye(d)
    off_diagonal = n * (outer[np.triu_indices(d, 1)] ** 2).sum()
    p_values = [
        2.0 * min(total, 1.0 - total),
        stats.chi2.sf(n * (whitened.mean(axis=0) ** 2).sum(), d),
        stats.chi2.sf(off_diagonal, d * (d - 1) // 2) if d > 1 else 1.0,
        stats.kstest(squares, stats.chi2(d).cdf).pvalue,
        *(stats.kstest(column, stats.norm.cdf).pvalue for column in whitened.T),
    ]
    return float(min(1.0, len(p_values) * min(p_values)))


def pmf_p_value(values: np.ndarray, support: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square test of a discrete law, with cells pooled until 10 are expected in each."""
    expected = probabilities * len(values)
    observed = np.array([(values == point).sum() for point in support])
    if observed.sum() < len(values):
        return 0.0  # a value that the law cannot take
    pooled: list[list[float]] = [[0.0, 0.0]]
    for count, mean in zip(observed, expected, strict=True):
        pooled[-1][0] += count
        pooled[-1][1] += mean
        if pooled[-1][1] >= 10:
            pooled.append([0.0, 0.0])
    count, mean = pooled.pop()  # what is left over joins the last full cell
    pooled[-1][0] += count
    pooled[-1][1] += mean
    if len(pooled) == 1:
        return 1.0
    counts, means = np.array(pooled).T
    return float(stats.chisquare(counts, means, sum_check=False).pvalue)
