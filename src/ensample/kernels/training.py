"""A minibatch from the memory to the step downhill, in one call: between products every call takes in its arrays anew."""

import numpy as np

from ensample.kernels.books import TRAINED, enter
from ensample.kernels.compile import kernel, loop
from ensample.kernels.descent import Moving, Stride, descend, stride
from ensample.kernels.minibatches import FETCHED, Lesson, Minibatch, aim, fetch, merge, remember
from ensample.kernels.passes import Shape, Space, backward, forward
from ensample.types import FloatArray

__all__ = ["LEARNED", "REFUSED", "commit", "train"]

LEARNED, REFUSED = -1, -2


@kernel
def train(shape: Shape, lesson: Lesson, batch: Minibatch, moving: Moving, rate: float, number: int, space: Space) -> int:
    """`Nets.step`, of networks of this shape."""
    missing = fetch(lesson, batch)
    if missing != FETCHED:
        return missing
    weights = moving.begun[0] if moving.begun.shape[0] > 0 else moving.weights[0]
    rows = batch.seen[: merge(batch.seen, batch.which)]
    outputs, delta = np.empty((shape.size, rows.shape[0])), np.empty((shape.size, rows.shape[0]))
    forward(shape, weights, rows, 0, space, outputs)
    how = stride(aim(lesson, batch, number, outputs, delta), rate, number)
    backward(shape, weights, rows, delta, 0 if is_drawn(batch) else 1, space)
    return commit(lesson, number, moving, space.gradient, how)


@kernel
def commit(lesson: Lesson, number: int, moving: Moving, gradient: FloatArray, how: Stride) -> int:
    """The step downhill and, after a round's last minibatch, all else that its observation changes; or REFUSED, and nothing."""
    if not descend(moving, gradient, how):
        return REFUSED
    if number == lesson.after.counts[TRAINED]:
        enter(lesson.after, lesson.before)
        remember(lesson)
    return LEARNED


@loop
def is_drawn(batch: Minibatch) -> bool:
    """Whether the newest observation, which comes first to be seen, or one equal to it is among those to be learned from."""
    times = 0
    for b in range(1, batch.which.size):
        times += batch.which[b] == 0
    return times > 0
