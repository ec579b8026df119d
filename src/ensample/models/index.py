"""Approximate search among very many arms, by an index of faiss."""

import math

import numpy as np

from ensample import _core
from ensample.arms import blocks
from ensample.extras import package
from ensample.types import FloatArray, IntArray

CANDIDATES = 8  # arms that are found are scored exactly
MOST_CELLS = 4096
SAMPLE = 64  # arms that a cell is made from


class Index:
    """Inverted file: arms by cell.

    Features are divided by their sizes, and thetas multiplied, to fit into 32 bits.
    """

    def __init__(self, rows: FloatArray, sizes: FloatArray, probes: int) -> None:
        faiss = package("faiss", "ApproximateArms")
        self.rows, self.sizes = rows, sizes
        arms, dim = rows.shape
        cells = min(max(math.isqrt(arms), 1), MOST_CELLS)
        scaled = np.concatenate([(block / sizes).astype(np.float32) for block in blocks(rows)])
        self.centres = faiss.IndexFlatIP(dim)
        self.index = faiss.IndexIVFFlat(self.centres, dim, cells, faiss.METRIC_INNER_PRODUCT)
        self.index.cp.seed, self.index.cp.min_points_per_centroid = 1, 1
        self.index.cp.max_points_per_centroid = SAMPLE
        self.index.train(np.ascontiguousarray(scaled[:: max(1, arms // (SAMPLE * cells))]))
        self.index.add(scaled)
        self.index.nprobe = min(probes, cells)

    def best(self, theta: FloatArray) -> int:
        return int(self.votes(np.ascontiguousarray(theta)[:, None])[0][0])

    def votes(self, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
        weights = thetas.T * self.sizes
        largest = np.abs(weights).max(axis=1, keepdims=True)
        asked = (weights / np.where(largest > 0.0, largest, 1.0)).astype(np.float32)
        _, found = self.index.search(np.ascontiguousarray(asked), CANDIDATES)
        chosen = [
            self.first(theta, known[known >= 0])
            for theta, known in zip(thetas.T, np.sort(found, axis=1), strict=True)
        ]
        arms = np.array(chosen, np.int64)
        return arms, np.array(
            [score(self.rows[arm], theta) for arm, theta in zip(chosen, thetas.T, strict=True)]
        )

    def first(self, theta: FloatArray, known: IntArray) -> int:
        """Return the best of some arms, the lowest index on ties; of all arms if none is given."""
        if known.size == 0:
            return _core.scan_arms(self.rows, np.ascontiguousarray(theta))
        return int(known[np.argmax([score(row, theta) for row in self.rows[known]])])


def score(x: FloatArray, theta: FloatArray) -> float:
    """Return x'theta, summed over coordinates in order.

    Python's `sum` compensates roundings from version 3.12 on.
    """
    return float(np.cumsum(x * theta)[-1])
