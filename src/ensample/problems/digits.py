"""Real data that comes with the package: handwritten digits. `data/README.md` says whose, and under which licence."""

from importlib.resources import as_file, files

import numpy as np

from ensample.types import FloatArray, IntArray

DARKEST = 16.0


def digits() -> tuple[FloatArray, IntArray]:
    """1,797 images as rows of 64 pixels from 0 to 1, and which digit each is: ([n, 64], [n]).

    >>> images, labels = digits()
    >>> images.shape, images.max(), labels[:5].tolist()
    ((1797, 64), np.float64(1.0), [0, 1, 2, 3, 4])
    """
    with (
        as_file(files("ensample.problems").joinpath("data/digits.npz")) as path,
        np.load(path, allow_pickle=False) as file,
    ):
        return file["images"] / DARKEST, file["labels"].astype(np.int64)
