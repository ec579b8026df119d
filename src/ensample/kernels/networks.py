"""What training many networks needs between matrix products: one pass over the numbers for each.

Hidden units of all members lie side by side, members in order: [B, m h] with m h columns for B rows of features.
"""

import math

from ensample.kernels.compile import kernel
from ensample.types import FloatArray

__all__ = ["LEAKY", "RELU", "TANH", "activate", "adam", "gate", "sgd", "spread_error"]

RELU, LEAKY, TANH = 0, 1, 2
SLOPE = 0.01  # of a leaky unit, below zero
TINY = 1e-8  # what keeps Adam's quotient finite where a weight has no gradient


@kernel
def activate(units: FloatArray, bias: FloatArray, kind: int) -> None:
    """units <- phi(units + bias), [B, n] and [n]."""
    for b in range(units.shape[0]):
        row = units[b]
        if kind == TANH:
            for i in range(row.size):
                row[i] = math.tanh(row[i] + bias[i])
        else:
            least = 0.0 if kind == RELU else SLOPE
            for i in range(row.size):
                u = row[i] + bias[i]
                row[i] = u if u > 0.0 else least * u


@kernel
def gate(errors: FloatArray, units: FloatArray, kind: int, sums: FloatArray) -> None:
    """errors <- errors phi'(.), with phi' told from what phi gave; `sums` [n] is then their sum over rows."""
    sums[:] = 0.0
    least = 0.0 if kind == RELU else SLOPE
    for b in range(errors.shape[0]):
        row, given = errors[b], units[b]
        if kind == TANH:
            for i in range(row.size):
                row[i] *= 1.0 - given[i] * given[i]
                sums[i] += row[i]
        else:
            for i in range(row.size):
                row[i] = row[i] if given[i] > 0.0 else least * row[i]
                sums[i] += row[i]


@kernel
def spread_error(delta: FloatArray, last: FloatArray, errors: FloatArray) -> None:
    """Back through the last layer: errors[b, j h + i] = delta[b, j] last[j, i], with [B, m], [m, h] and [B, m h]."""
    members, width = last.shape
    for b in range(delta.shape[0]):
        for j in range(members):
            part, weights, by = errors[b, j * width : (j + 1) * width], last[j], delta[b, j]
            for i in range(width):
                part[i] = by * weights[i]


@kernel
def adam(
    old: FloatArray,
    new: FloatArray,
    gradient: FloatArray,
    anchor: FloatArray,
    pull: FloatArray,
    rate: float,
    step: int,
) -> None:
    """One step of Adam on sum_i loss_i + pull |w - anchor|^2 / 2, from `old` to `new`: [3, n] of weights and two moments.

    `pull` [n] is the strength of the pull on each weight. beta = (0.9, 0.999).

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    first, second = 1.0 / (1.0 - 0.9**step), 1.0 / (1.0 - 0.999**step)
    w, m, v = old[0], old[1], old[2]
    w_new, m_new, v_new = new[0], new[1], new[2]
    for i in range(w.size):
        g = gradient[i] + pull[i] * (w[i] - anchor[i])
        moment = 0.9 * m[i] + 0.1 * g
        square = 0.999 * v[i] + 0.001 * g * g
        m_new[i] = moment
        v_new[i] = square
        w_new[i] = w[i] - rate * first * moment / (math.sqrt(second * square) + TINY)


@kernel
def sgd(
    old: FloatArray,
    new: FloatArray,
    gradient: FloatArray,
    anchor: FloatArray,
    pull: FloatArray,
    rate: float,
    step: int,
) -> None:
    """One step of gradient descent, as `adam`: [1, n] of weights."""
    w, w_new = old[0], new[0]
    for i in range(w.size):
        w_new[i] = w[i] - rate * (gradient[i] + pull[i] * (w[i] - anchor[i]))
