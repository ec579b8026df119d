"""Activations of networks, and what errors become on their way back through them: a row of units at a time."""

import math
from typing import NamedTuple

from ensample.kernels.compile import loop
from ensample.types import FloatArray

__all__ = ["LEAKY", "RELU", "TANH", "Last", "activate_row", "gate_last", "gate_row"]

RELU, LEAKY, TANH = 0, 1, 2
SLOPE = 0.01  # of a leaky unit, below zero


class Last(NamedTuple):
    """The weights of the last layer, and their gradient: [h] each."""

    weights: FloatArray
    gradient: FloatArray


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
def gate_last(row: FloatArray, given: FloatArray, kind: int, total: FloatArray, slope: float, last: Last) -> None:
    """As `gate_row`, of errors that come straight from an output with this slope: slope times the last weights.

    And what these weights' gradient has from it is added.
    """
    if kind == TANH:
        for i in range(row.size):
            last.gradient[i] += slope * given[i]
            row[i] = slope * last.weights[i] * (1.0 - given[i] * given[i])
            total[i] += row[i]
    else:
        least = 0.0 if kind == RELU else SLOPE
        for i in range(row.size):
            last.gradient[i] += slope * given[i]
            error = slope * last.weights[i]
            row[i] = error if given[i] > 0.0 else least * error
            total[i] += row[i]
