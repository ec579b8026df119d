"""A step downhill: all weights, against the pull to where they began."""

import math
from typing import NamedTuple

from ensample.kernels.books import Book, enter
from ensample.kernels.compile import kernel, loop
from ensample.types import FloatArray, IntArray

__all__ = ["HUGE", "Moving", "Pull", "Stride", "commit", "stride"]

TINY = 1e-8  # what keeps Adam's quotient finite where a weight has no gradient
HUGE = 1e150  # a gradient beyond it, whose square may not be finite, is no step downhill any more


class Pull(NamedTuple):
    """How strongly weights are pulled to where they began: runs of equal strengths, so that no array of them is read."""

    ends: IntArray  # [r], the last being n
    strengths: FloatArray  # [r], where lam / n is 1


class Moving(NamedTuple):
    """Weights that go downhill, and what pulls them back."""

    weights: FloatArray  # [3, n] with the two moments of Adam, or [1, n]
    begun: FloatArray  # of the same shape, where a step starts from; [0, n] where that is the weights as they are
    anchor: FloatArray  # [n]
    pull: Pull


class Stride(NamedTuple):
    """How far a step goes, as `stride` has it."""

    by: float  # lam / n, what multiplies the strengths of the pull
    rate: float
    first: float  # the rate, and what the second moment is multiplied by, as both moments of Adam begin at 0
    second: float


@loop
def stride(by: float, rate: float, number: int) -> Stride:
    """Of step `number`, from 1."""
    return Stride(by, rate, rate / (1.0 - 0.9**number), 1.0 / (1.0 - 0.999**number))


@loop
def adam(weights: FloatArray, begin: int, gradient: FloatArray, anchor: FloatArray, strength: float, how: Stride) -> None:
    """One step of Adam on sum_i loss_i + strength |w - anchor|^2 / 2, in place: beta = (0.9, 0.999).

    Of weights and their two moments [3, n] those from number `begin` on, as many as there are of the gradient.

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    end = begin + gradient.size
    w, m, v = weights[0, begin:end], weights[1, begin:end], weights[2, begin:end]
    for i in range(w.size):
        g = gradient[i] + strength * (w[i] - anchor[i])
        moment = 0.9 * m[i] + 0.1 * g
        square = 0.999 * v[i] + 0.001 * g * g
        m[i] = moment
        v[i] = square
        w[i] -= how.first * moment / (math.sqrt(how.second * square) + TINY)


@loop
def sgd(weights: FloatArray, begin: int, gradient: FloatArray, anchor: FloatArray, strength: float, how: Stride) -> None:
    """One step of gradient descent, as `adam`: of weights [1, n]."""
    w = weights[0, begin : begin + gradient.size]
    for i in range(w.size):
        w[i] -= how.rate * (gradient[i] + strength * (w[i] - anchor[i]))


@kernel
def commit(moving: Moving, gradient: FloatArray, how: Stride, after: Book, book: Book) -> bool:
    """One step downhill, and a book brought up to date: all of it or, where the gradient is not finite, False and nothing."""
    wild = 0
    for i in range(gradient.size):
        wild += not abs(gradient[i]) < HUGE
    if wild:
        return False
    for k in range(moving.begun.shape[0]):
        for i in range(gradient.size):
            moving.weights[k, i] = moving.begun[k, i]
    begin = 0
    for run in range(moving.pull.ends.size):
        end, strength = moving.pull.ends[run], how.by * moving.pull.strengths[run]
        found, there = gradient[begin:end], moving.anchor[begin:end]
        if moving.weights.shape[0] == 3:
            adam(moving.weights, begin, found, there, strength, how)
        else:
            sgd(moving.weights, begin, found, there, strength, how)
        begin = end
    enter(after, book)
    return True
