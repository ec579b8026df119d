"""Data sets with labels as problems: which class does this row have?"""

from dataclasses import dataclass, field
from importlib.resources import as_file, files
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import matrix, sequence
from ensample.errors import InvalidArgument
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.problem import NonlinearProblem
from ensample.problems.tables import is_table, named_column, read_table, to_numbers
from ensample.types import FloatArray, IntArray

DARKEST = 16.0  # pixel of a digit


class ClassificationProblem(NonlinearProblem):
    """Rows of a data set in random order, one a round; after the last comes the first again."""

    def __init__(
        self,
        data: FloatArray,
        labels: IntArray,
        order: IntArray,
        noise: Noise | float,
        row: int = 0,
    ) -> None:
        self.classes = int(labels.max()) + 1
        super().__init__(ChangingArms(self.classes * (data.shape[1] + 1)), noise)
        self.data, self.labels, self.order, self.row = data, labels, order, row

    def __repr__(self) -> str:
        size = f"{len(self.data):,} rows, {self.classes} classes"
        return f"ClassificationProblem({size}, noise={self.noise!r})"

    def at(self, t: int) -> "ClassificationProblem":
        row = int(self.order[t % len(self.order)])
        return ClassificationProblem(self.data, self.labels, self.order, self.noise, row)

    def offer(self, rng: Generator) -> FloatArray:
        return blocks(self.data[self.row], self.classes)

    def means(self, rows: FloatArray) -> FloatArray:
        chosen, _ = chosen_block(rows, self.classes)
        return np.asarray(chosen == self.labels[self.row], np.float64)


@dataclass(frozen=True, eq=False)
class Classification(Family):
    """`classification`: a data set as contexts, its classes as actions; the right one pays 1.

    `data` are rows of numbers, `y` their labels, of any kind that can be sorted. Each replicate has
    the rows in an order of its own. The features of a class are the row and a constant, in a block
    of its own. Columns that are always 0 are left out. `data` may also be a frame of pandas or
    polars, or a file (.csv, .parquet, .jsonl), and `y` the name of one of its columns: words become
    indicators, and so do missing values.

    >>> import ensample as es
    >>> X, labels = [[0.1, 2.0], [0.3, 1.0], [0.2, 4.0]], ["cat", "dog", "cat"]
    >>> family = es.problem("classification", data=X, y=labels)
    >>> problem = family.draw(np.random.default_rng(0)).at(0)
    >>> family.classes, problem.offer(np.random.default_rng(0)).shape
    (['cat', 'dog'], (2, 6))

    Reference: the usual way since A. Beygelzimer and J. Langford, "The Offset Tree for Learning
    with Partial Labels", KDD 2009.
    """

    name: ClassVar[str] = "classification"
    data: Any = field(repr=False, metadata={"text": True})
    y: Any = field(repr=False, metadata={"text": True})
    noise: float | Noise = 0.0
    classes: ClassVar[list[object]]
    _rows: ClassVar[FloatArray]
    _labels: ClassVar[IntArray]

    def __post_init__(self) -> None:
        as_noise(self.noise)
        rows, given = self._table() if is_table(self.data) else (matrix("data", self.data), self.y)
        labels = np.array(sequence("y", given, "a label for each row"))
        if labels.shape != (len(rows),):
            raise InvalidArgument("y", self.y, f"a label for each of {len(rows)} rows")
        try:
            names, numbers = np.unique(labels, return_inverse=True)
        except TypeError:
            raise InvalidArgument("y", self.y, "labels that can be sorted") from None
        if len(names) < 2:
            raise InvalidArgument("y", self.y, "at least two classes")
        used = (rows != 0.0).any(axis=0)
        rows = np.ascontiguousarray(rows[:, used] if used.any() else rows[:, :1])
        for name, value in (("_rows", rows), ("_labels", numbers), ("classes", names.tolist())):
            object.__setattr__(self, name, value)

    def _table(self) -> tuple[FloatArray, Any]:
        """Read rows of numbers, and the labels, from a frame or a file."""
        table = read_table("data", self.data)
        if not isinstance(self.y, str):
            return to_numbers("data", table), self.y
        labels = named_column("y", table, self.y)
        if None in labels:
            expected = f"a column without missing values; {labels.count(None)} are"
            raise InvalidArgument("y", self.y, expected)
        del table[self.y]
        return to_numbers("data", table), labels

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self.classes) * (int(self._rows.shape[1]) + 1)

    def draw(self, rng: Generator) -> ClassificationProblem:
        order = rng.permutation(len(self._rows))
        return ClassificationProblem(self._rows, self._labels, order, self.noise)


def blocks(context: FloatArray, actions: int) -> FloatArray:
    """Return rows of features for several actions: row k has (context, 1) in its k-th block.

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
    """Return the action of each such row, and its context: ([B], [B, d])."""
    parts = rows.reshape(len(rows), actions, -1)
    chosen = parts[:, :, -1].argmax(axis=1)
    return chosen, parts[np.arange(len(rows)), chosen, :-1]


def digits() -> tuple[FloatArray, IntArray]:
    """Return 1,797 images as rows of 64 pixels from 0 to 1, and the digit of each: ([n, 64], [n]).

    They come with the package; `data/README.md` names their source and licence.

    >>> images, labels = digits()
    >>> images.shape, images.max(), labels[:5].tolist()
    ((1797, 64), np.float64(1.0), [0, 1, 2, 3, 4])
    """
    with (
        as_file(files("ensample.problems").joinpath("data/digits.npz")) as path,
        np.load(path, allow_pickle=False) as file,
    ):
        return file["images"] / DARKEST, file["labels"].astype(np.int64)
