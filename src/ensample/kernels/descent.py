"""A step downhill: all weights, against the pull to where they began."""

import math
from typing import NamedTuple

from ensample.kernels.compile import embedded, kernel, loop
from ensample.types import FloatArray, IntArray

__all__ = ["HUGE", "Moving", "Pull", "Stride", "descend", "stride"]

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


class WeightRun(NamedTuple):
    """Weights that are pulled alike, their moments and gradient, and where they began: [n] each."""

    w: FloatArray
    m: FloatArray
    v: FloatArray
    gradient: FloatArray
    anchor: FloatArray


@loop
def stride(by: float, rate: float, number: int) -> Stride:
    """Of step `number`, from 1."""
    return Stride(by, rate, rate / (1.0 - 0.9**number), 1.0 / (1.0 - 0.999**number))


@loop
def cut(run: WeightRun, begin: int, end: int) -> WeightRun:
    """A part of it."""
    w, m, v = run.w[begin:end], run.m[begin:end], run.v[begin:end]
    return WeightRun(w, m, v, run.gradient[begin:end], run.anchor[begin:end])


@loop
def adam(run: WeightRun, strength: float, how: Stride) -> None:
    """One step of Adam on sum_i loss_i + strength |w - anchor|^2 / 2, in place: beta = (0.9, 0.999).

    Roots and quotients are what it takes its time for: two weights, one of each half, share a quotient.

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    half = run.w.size // 2
    one, other = cut(run, 0, half), cut(run, half, 2 * half)
    for i in range(half):
        moment, root = felt(one, i, strength, how.second)
        other_moment, other_root = felt(other, i, strength, how.second)
        by = how.first / (root * other_root)
        one.w[i] -= moment * other_root * by
        other.w[i] -= other_moment * root * by
    for i in range(2 * half, run.w.size):
        moment, root = felt(run, i, strength, how.second)
        run.w[i] -= how.first * moment / root


@embedded
def felt(run: WeightRun, i: int, strength: float, second: float) -> tuple[float, float]:
    """The moments of a weight brought up to date; gives the first, and the root of the second, which is never 0."""
    g = run.gradient[i] + strength * (run.w[i] - run.anchor[i])
    run.m[i] = moment = 0.9 * run.m[i] + 0.1 * g
    run.v[i] = square = 0.999 * run.v[i] + 0.001 * g * g
    return moment, math.sqrt(second * square) + TINY


@loop
def sgd(w: FloatArray, gradient: FloatArray, anchor: FloatArray, strength: float, rate: float) -> None:
    """One step of gradient descent, on the same."""
    for i in range(w.size):
        w[i] -= rate * (gradient[i] + strength * (w[i] - anchor[i]))


@kernel
def descend(moving: Moving, gradient: FloatArray, how: Stride) -> bool:
    """One step of all weights or, where the gradient [n] is not finite, False and of none."""
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
        w, found, there = moving.weights[0, begin:end], gradient[begin:end], moving.anchor[begin:end]
        if moving.weights.shape[0] == 3:
            adam(WeightRun(w, moving.weights[1, begin:end], moving.weights[2, begin:end], found, there), strength, how)
        else:
            sgd(w, found, there, strength, how.rate)
        begin = end
    return True
