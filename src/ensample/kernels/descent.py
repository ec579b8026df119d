"""A step downhill: all weights, against the pull to where they began."""

import math
from typing import Any, NamedTuple

from ensample.kernels.compile import inlined, kernel, loop
from ensample.kernels.fused import plus_fused
from ensample.kernels.lanes import LARGE, lanes_of, larger, load, minus, over_root, single, store, times
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
    first: float  # what multiplies Adam's quotient
    tiny: float  # what is added below it


class WeightRun(NamedTuple):
    """Weights that are pulled alike, their moments and gradient, and where they began: [n] each."""

    w: FloatArray
    m: FloatArray
    v: FloatArray
    gradient: FloatArray
    anchor: FloatArray


@loop
def stride(by: float, rate: float, number: int) -> Stride:
    """Of step `number`, from 1. Both moments of Adam begin at 0: 1 - 0.9^number and 1 - 0.999^number make up for it."""
    root = math.sqrt(1.0 - 0.999**number)
    return Stride(by, rate, rate * root / (1.0 - 0.9**number), TINY * root)


@loop
def adam(run: WeightRun, strength: float, how: Stride) -> None:
    """One step of Adam on sum_i loss_i + strength |w - anchor|^2 / 2, in place: beta = (0.9, 0.999).

    w <- w - first m / (sqrt(v) + tiny), in the order of the end of the paper's Section 2. Moments and weights are doubles; root
    and quotient, which it would take most of its time for, are taken in single precision: a step is off by 1e-7 of its length,
    while the minibatch that it follows is a sample.

    Reference: D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
    """
    whole = run.w.size - run.w.size % 8
    top, last = lanes_of(0.0, 8), lanes_of(0.0, 1)
    for i in range(0, whole, 8):
        top = larger(top, step_at(run, i, strength, how, top))
    for i in range(whole, run.w.size):
        last = larger(last, step_at(run, i, strength, how, last))
    if largest(top, last) > LARGE:
        step_in_doubles(run, how)


@inlined
def step_at(run: WeightRun, i: int, strength: float, how: Stride, like: Any) -> Any:
    """Of as many weights, from number i on, as `like` has lanes, but for those whose second moments are LARGE; gives these."""
    w = load(like, run.w, i)
    g = plus_fused(load(like, run.gradient, i), strength, minus(w, load(like, run.anchor, i)))
    m = plus_fused(times(g, 0.1), 0.9, load(like, run.m, i))
    v = plus_fused(times(times(g, g), 0.001), 0.999, load(like, run.v, i))
    store(m, run.m, i)
    store(v, run.v, i)
    store(plus_fused(w, -how.first, over_root(m, v, how.tiny)), run.w, i)
    return v


@inlined
def largest(top: Any, last: Any) -> float:
    """Of eight lanes and one."""
    found = single(last, 0)
    found = max(max(found, single(top, 0)), max(single(top, 1), single(top, 2)))
    found = max(max(found, single(top, 3)), max(single(top, 4), single(top, 5)))
    return max(max(found, single(top, 6)), single(top, 7))


@loop
def step_in_doubles(run: WeightRun, how: Stride) -> None:
    """Of the weights whose second moments are LARGE, as gradients are, say, of perturbations a million times the rewards."""
    for i in range(run.w.size):
        if run.v[i] > LARGE:
            run.w[i] -= how.first * (run.m[i] / (math.sqrt(run.v[i]) + how.tiny))


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
