"""What training many networks needs between matrix products: one pass over the numbers for each.

Hidden units of all members lie side by side, members in order: [B, m h] with m h columns for B rows of features.
"""

import math
from typing import NamedTuple

from ensample.kernels.compile import kernel, loop
from ensample.types import FloatArray, IntArray

__all__ = ["LEAKY", "RELU", "TANH", "Pull", "activate", "adam", "gate", "sgd", "spread_error"]

RELU, LEAKY, TANH = 0, 1, 2
SLOPE = 0.01  # of a leaky unit, below zero
TINY = 1e-8  # what keeps Adam's quotient finite where a weight has no gradient


class Pull(NamedTuple):
    """How strongly weights are pulled to where they began: runs of equal strengths, so that no array of them is read."""

    ends: IntArray  # [r], the last being n
    strengths: FloatArray  # [r]


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
    for i in range(sums.size):
        sums[i] = 0.0
    for b in range(errors.shape[0]):
        gate_row(errors[b], units[b], kind, sums)


@loop
def gate_row(row: FloatArray, given: FloatArray, kind: int, sums: FloatArray) -> None:
    if kind == TANH:
        for i in range(row.size):
            row[i] *= 1.0 - given[i] * given[i]
            sums[i] += row[i]
    else:
        least = 0.0 if kind == RELU else SLOPE
        for i in range(row.size):
            row[i] = row[i] if given[i] > 0.0 else least * row[i]
            sums[i] += row[i]


@kernel
def spread_error(
    delta: FloatArray, last: FloatArray, units: FloatArray, kind: int, errors: FloatArray, sums: FloatArray
) -> None:
    """Back through the last layer: errors[b, j h + i] = delta[b, j] last[j, i], of [B, m], [m, h], [B, m h]; then `gate`."""
    members, width = last.shape
    for i in range(sums.size):
        sums[i] = 0.0
    for b in range(delta.shape[0]):
        for j in range(members):
            part, weights, by = errors[b, j * width : (j + 1) * width], last[j], delta[b, j]
            for i in range(width):
                part[i] = by * weights[i]
        gate_row(errors[b], units[b], kind, sums)


@kernel
def adam(
    old: FloatArray,
    new: FloatArray,
    gradient: FloatArray,
    anchor: FloatArray,
    pull: Pull,
    rate: float,
    step: int,
) -> None:
    """One step of Adam on sum_i loss_i + pull |w - anchor|^2 / 2, from `old` to `new`: [3, n] of weights and two moments.

    beta = (0.9, 0.999).

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    first, second = 1.0 / (1.0 - 0.9**step), 1.0 / (1.0 - 0.999**step)
    begin = 0
    for run in range(pull.ends.size):
        end, strength = pull.ends[run], pull.strengths[run]
        w, m, v = old[0, begin:end], old[1, begin:end], old[2, begin:end]
        w_new, m_new, v_new = new[0, begin:end], new[1, begin:end], new[2, begin:end]
        found, there = gradient[begin:end], anchor[begin:end]
        for i in range(w.size):
            g = found[i] + strength * (w[i] - there[i])
            moment = 0.9 * m[i] + 0.1 * g
            square = 0.999 * v[i] + 0.001 * g * g
            m_new[i] = moment
            v_new[i] = square
            w_new[i] = w[i] - rate * first * moment / (math.sqrt(second * square) + TINY)
        begin = end


@kernel
def sgd(
    old: FloatArray,
    new: FloatArray,
    gradient: FloatArray,
    anchor: FloatArray,
    pull: Pull,
    rate: float,
    step: int,
) -> None:
    """One step of gradient descent, as `adam`: [1, n] of weights."""
    begin = 0
    for run in range(pull.ends.size):
        end, strength = pull.ends[run], pull.strengths[run]
        w, w_new, found, there = old[0, begin:end], new[0, begin:end], gradient[begin:end], anchor[begin:end]
        for i in range(w.size):
            w_new[i] = w[i] - rate * (found[i] + strength * (w[i] - there[i]))
        begin = end
