"""Activations of networks, and what errors become on their way back through them: a layer's units [B, h] at a time.

Columns are handled 8 or 1 at a time: their sums stay in registers (`lanes`) while all rows go by.
"""

import math
from typing import Any, NamedTuple

from ensample.kernels.compile import inlined, loop
from ensample.kernels.fused import plus_fused
from ensample.kernels.lanes import lanes_of, larger, load, plus_times, store, times, where_positive
from ensample.types import FloatArray

__all__ = ["LEAKY", "RELU", "TANH", "Last", "activate", "gate", "gate_last"]

RELU, LEAKY, TANH = 0, 1, 2
SLOPE = 0.01  # of a leaky unit, below zero


class Last(NamedTuple):
    """The weights of the last layer, and their gradient: [h] each; and the derivatives by its outputs."""

    weights: FloatArray
    gradient: FloatArray
    slopes: FloatArray  # [B]


@loop
def activate(units: FloatArray, shift: FloatArray, kind: int) -> None:
    """units <- phi(units + shift)."""
    if kind == TANH:
        for b in range(units.shape[0]):
            for i in range(shift.size):
                units[b, i] = math.tanh(units[b, i] + shift[i])
        return
    least, i = 0.0 if kind == RELU else SLOPE, 0
    while i + 8 <= shift.size:
        bend(units, shift, least, i, lanes_of(0.0, 8))
        i += 8
    while i < shift.size:
        bend(units, shift, least, i, lanes_of(0.0, 1))
        i += 1


@inlined
def bend(units: FloatArray, shift: FloatArray, least: float, i: int, like: Any) -> None:
    """max(u, least u) of u = units + shift, in the columns from i on."""
    more = load(like, shift, i)
    for b in range(units.shape[0]):
        place = b * shift.size + i
        u = plus_times(load(like, units, place), 1.0, more)
        store(larger(u, times(u, least)), units, place)


@loop
def gate(errors: FloatArray, given: FloatArray, kind: int, total: FloatArray) -> None:
    """Errors times phi'(.), told from what phi has given; and their total."""
    if kind == TANH:
        for i in range(total.size):
            total[i] = 0.0
        for b in range(errors.shape[0]):
            for i in range(total.size):
                errors[b, i] *= 1.0 - given[b, i] * given[b, i]
                total[i] += errors[b, i]
        return
    least, i = 0.0 if kind == RELU else SLOPE, 0
    while i + 8 <= total.size:
        pass_on(errors, given, least, total, i, lanes_of(0.0, 8))
        i += 8
    while i < total.size:
        pass_on(errors, given, least, total, i, lanes_of(0.0, 1))
        i += 1


@inlined
def pass_on(errors: FloatArray, given: FloatArray, least: float, total: FloatArray, i: int, lanes: Any) -> None:
    for b in range(errors.shape[0]):
        place = b * total.size + i
        error = load(lanes, errors, place)
        error = where_positive(load(lanes, given, place), error, times(error, least))
        store(error, errors, place)
        lanes = plus_times(lanes, 1.0, error)
    store(lanes, total, i)


@loop
def gate_last(errors: FloatArray, given: FloatArray, kind: int, total: FloatArray, last: Last) -> None:
    """As `gate`, of errors that come straight from the outputs: slopes times the last weights, whose gradient is found too."""
    if kind == TANH:
        for i in range(total.size):
            total[i] = last.gradient[i] = 0.0
        for b in range(errors.shape[0]):
            for i in range(total.size):
                last.gradient[i] += last.slopes[b] * given[b, i]
                errors[b, i] = last.slopes[b] * last.weights[i] * (1.0 - given[b, i] * given[b, i])
                total[i] += errors[b, i]
        return
    least, i = 0.0 if kind == RELU else SLOPE, 0
    while i + 8 <= total.size:
        send_back(errors, given, least, total, last, i, lanes_of(0.0, 8))
        i += 8
    while i < total.size:
        send_back(errors, given, least, total, last, i, lanes_of(0.0, 1))
        i += 1


@inlined
def send_back(errors: FloatArray, given: FloatArray, least: float, total: FloatArray, last: Last, i: int, lanes: Any) -> None:
    weights, gradient = load(lanes, last.weights, i), lanes
    for b in range(errors.shape[0]):
        place = b * total.size + i
        units, error = load(lanes, given, place), times(weights, last.slopes[b])
        error = where_positive(units, error, times(error, least))
        store(error, errors, place)
        lanes = plus_times(lanes, 1.0, error)
        gradient = plus_fused(gradient, last.slopes[b], units)
    store(lanes, total, i)
    store(gradient, last.gradient, i)
