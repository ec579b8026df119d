"""Data sets that scikit-learn ships, as contexts and classes: nothing is downloaded."""

from typing import NamedTuple

import numpy as np

from ensample.extras import package
from ensample.types import FloatArray, IntArray

DATA_SETS = ("digits", "wine", "breast_cancer")


class DataSet(NamedTuple):
    """Rows of numbers, and which class each belongs to."""

    name: str
    rows: FloatArray  # [n, p], each column with mean 0 and standard deviation 1
    labels: IntArray  # [n]

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1


def data_set(name: str) -> DataSet:
    """One of DATA_SETS; columns that are the same in all rows are left out."""
    rows, labels = getattr(package("sklearn.datasets", "ensample bench"), f"load_{name}")(
        return_X_y=True
    )
    rows = rows[:, np.ptp(rows, axis=0) > 0.0].astype(np.float64)
    return DataSet(name, (rows - rows.mean(axis=0)) / rows.std(axis=0), labels.astype(np.int64))
