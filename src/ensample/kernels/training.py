"""A minibatch from the memory to the step downhill, in one call: between products every call takes in its arrays anew."""

import numpy as np

from ensample.kernels.books import TRAINED
from ensample.kernels.compile import kernel, loop
from ensample.kernels.descent import Moving, commit, stride
from ensample.kernels.minibatches import FETCHED, Lesson, Minibatch, aim, fetch, merge
from ensample.kernels.passes import Desk, Shape, backward, forward

__all__ = ["LEARNED", "REFUSED", "train"]

LEARNED, REFUSED = -1, -2


@kernel
def train(shape: Shape, lesson: Lesson, batch: Minibatch, moving: Moving, rate: float, number: int, desk: Desk) -> int:
    """`Nets.step`, of networks of this shape."""
    missing = fetch(lesson, batch)
    if missing != FETCHED:
        return missing
    weights = moving.begun[0] if moving.begun.shape[0] > 0 else moving.weights[0]
    rows = batch.seen[: merge(batch.seen, batch.which)]
    outputs, delta = np.empty((shape.size, rows.shape[0])), np.empty((shape.size, rows.shape[0]))
    forward(shape, weights, rows, 0, desk.units, outputs)
    how = stride(aim(lesson, batch, number, outputs, delta), rate, number)
    backward(shape, weights, rows, delta, 0 if is_drawn(batch) else 1, desk)
    last = number == lesson.after.counts[TRAINED]
    done = commit(moving, desk.gradient, how, lesson.after, lesson.before if last else lesson.after)
    return LEARNED if done else REFUSED


@loop
def is_drawn(batch: Minibatch) -> bool:
    """Whether the newest observation, which comes first to be seen, or one equal to it is among those to be learned from."""
    times = 0
    for b in range(1, batch.which.size):
        times += batch.which[b] == 0
    return times > 0
