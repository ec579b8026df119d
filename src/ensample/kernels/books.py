"""What an observation changes besides weights: two arrays, which a kernel takes in sooner than one for each of their parts."""

from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import loop
from ensample.types import FloatArray, IntArray

__all__ = ["OBSERVED", "PLACE", "ROUND", "TRAINED", "Book", "enter", "feature_sizes", "new_book", "newest", "reward_units"]

OBSERVED, TRAINED, ROUND, PLACE = range(4)  # observations and minibatches so far; of the newest observation


class Book(NamedTuple):
    """What was learned besides weights, but for the memory, by an ensemble of networks of d features."""

    numbers: FloatArray  # [4 d + 4] units of features in three parts, the newest features and reward, units of rewards
    counts: IntArray  # [4]


def new_book(dim: int) -> Book:
    """Before the first observation."""
    return Book(np.zeros(4 * dim + 4), np.zeros(4, np.int64))


@loop
def feature_sizes(book: Book) -> FloatArray:
    """What features are divided by: [d], a view."""
    return book.numbers[: book.numbers.size // 4 - 1]


@loop
def newest(book: Book) -> FloatArray:
    """Features and reward of the newest observation: [d + 1], a view."""
    d = book.numbers.size // 4 - 1
    return book.numbers[3 * d : 4 * d + 1]


@loop
def reward_units(book: Book) -> FloatArray:
    """Mean, sum of squared deviations and mean squared miss: [3], a view."""
    return book.numbers[book.numbers.size - 3 :]


@loop
def enter(after: Book, book: Book) -> None:
    """Bring a book up to date."""
    for i in range(after.numbers.size):
        book.numbers[i] = after.numbers[i]
    for i in range(after.counts.size):
        book.counts[i] = after.counts[i]
