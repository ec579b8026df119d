"""What training many networks needs besides matrix products: one pass over the numbers for each."""

import math
from typing import NamedTuple

from ensample.kernels.compile import kernel, loop
from ensample.types import FloatArray, IntArray

__all__ = ["LEAKY", "RELU", "TANH", "Book", "Pull", "activate_row", "adam", "commit", "gate_row", "sgd"]

RELU, LEAKY, TANH = 0, 1, 2
SLOPE = 0.01  # of a leaky unit, below zero
TINY = 1e-8  # what keeps Adam's quotient finite where a weight has no gradient
HUGE = 1e150  # a gradient beyond it, whose square may not be finite, is no step downhill any more


class Pull(NamedTuple):
    """How strongly weights are pulled to where they began: runs of equal strengths, so that no array of them is read."""

    ends: IntArray  # [r], the last being n
    strengths: FloatArray  # [r], where lam / n is 1


class Book(NamedTuple):
    """What else an observation changes, as `models.network_ensemble` has it."""

    numbers: FloatArray
    counts: IntArray


@loop
def activate_row(row: FloatArray, shift: FloatArray, kind: int) -> None:
    """row <- phi(row + shift)."""
    if kind == TANH:
        for i in range(row.size):
            row[i] = math.tanh(row[i] + shift[i])
    else:
        least = 0.0 if kind == RELU else SLOPE
        for i in range(row.size):
            u = row[i] + shift[i]
            row[i] = u if u > 0.0 else least * u


@loop
def gate_row(row: FloatArray, given: FloatArray, kind: int, total: FloatArray) -> None:
    """Errors times phi'(.), told from what phi has given; and added to their total."""
    if kind == TANH:
        for i in range(row.size):
            row[i] *= 1.0 - given[i] * given[i]
            total[i] += row[i]
    else:
        least = 0.0 if kind == RELU else SLOPE
        for i in range(row.size):
            row[i] = row[i] if given[i] > 0.0 else least * row[i]
            total[i] += row[i]


@loop
def adam(weights: FloatArray, gradient: FloatArray, anchor: FloatArray, pull: Pull, by: float, rate: float, step: int) -> None:
    """One step of Adam on sum_i loss_i + by pull |w - anchor|^2 / 2, in place: [3, n] of weights and two moments.

    beta = (0.9, 0.999).

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    first, second = rate / (1.0 - 0.9**step), 1.0 / (1.0 - 0.999**step)
    begin = 0
    for run in range(pull.ends.size):
        end, strength = pull.ends[run], by * pull.strengths[run]
        w, m, v = weights[0, begin:end], weights[1, begin:end], weights[2, begin:end]
        found, there = gradient[begin:end], anchor[begin:end]
        for i in range(w.size):
            g = found[i] + strength * (w[i] - there[i])
            moment = 0.9 * m[i] + 0.1 * g
            square = 0.999 * v[i] + 0.001 * g * g
            m[i] = moment
            v[i] = square
            w[i] -= first * moment / (math.sqrt(second * square) + TINY)
        begin = end


@loop
def sgd(weights: FloatArray, gradient: FloatArray, anchor: FloatArray, pull: Pull, by: float, rate: float, step: int) -> None:
    """One step of gradient descent, as `adam`: [1, n] of weights."""
    begin = 0
    for run in range(pull.ends.size):
        end, strength = pull.ends[run], by * pull.strengths[run]
        w, found, there = weights[0, begin:end], gradient[begin:end], anchor[begin:end]
        for i in range(w.size):
            w[i] -= rate * (found[i] + strength * (w[i] - there[i]))
        begin = end


@kernel
def commit(
    weights: FloatArray,
    begun: FloatArray,
    gradient: FloatArray,
    anchor: FloatArray,
    pull: Pull,
    by: float,
    rate: float,
    step: int,
    book: Book,
    after: Book,
) -> bool:
    """One step downhill, by Adam where there are moments, and the book brought up to date: all of it, or False and nothing.

    `begun` [3 or 1, n], where it is not empty, is where the step starts from. It is refused where the gradient is not finite.
    """
    wild = 0
    for i in range(gradient.size):
        wild += not abs(gradient[i]) < HUGE
    if wild:
        return False
    for k in range(begun.shape[0]):
        weights[k] = begun[k]
    if weights.shape[0] == 3:
        adam(weights, gradient, anchor, pull, by, rate, step)
    else:
        sgd(weights, gradient, anchor, pull, by, rate, step)
    book.numbers[:] = after.numbers
    book.counts[:] = after.counts
    return True
