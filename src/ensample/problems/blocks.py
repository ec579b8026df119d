"""A context seen by several actions: each has the features to itself."""

import numpy as np

from ensample.types import FloatArray, IntArray


def blocks(context: FloatArray, actions: int) -> FloatArray:
    """Row k has (context, 1) in its k-th block and zeros elsewhere: [K, K (d + 1)].

    >>> blocks(np.array([7.0, 8.0]), 2)
    array([[7., 8., 1., 0., 0., 0.],
           [0., 0., 0., 7., 8., 1.]])
    """
    width = context.size + 1
    rows = np.zeros((actions, actions, width))
    each = np.arange(actions)
    rows[each, each, :-1], rows[each, each, -1] = context, 1.0
    return rows.reshape(actions, actions * width)


def chosen_block(rows: FloatArray, actions: int) -> tuple[IntArray, FloatArray]:
    """Which action each of such rows belongs to, and its context: ([B], [B, d])."""
    parts = rows.reshape(len(rows), actions, -1)
    chosen = parts[:, :, -1].argmax(axis=1)
    return chosen, parts[np.arange(len(rows)), chosen, :-1]
