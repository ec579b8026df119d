"""Exact argmax over arms.

Few arms are all scored; large sets are pre-filtered with 4-bit quantised features.
"""

import math
from typing import Any, Protocol

import numpy as np

from ensample import _core
from ensample.arms import ApproximateArms, FiniteArms, Offer, blocks
from ensample.extras import package
from ensample.types import FloatArray, IntArray

CANDIDATES = 8  # arms that are found are scored exactly
MOST_CELLS = 4096
SAMPLE = 64  # arms that a cell is made from


class Search(Protocol):
    """Argmax over the arms of a large set."""

    def best(self, theta: FloatArray) -> int:
        """Return argmax_k x_k'theta."""

    def votes(self, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the same for each column of [d, m], and its score: ([m], [m])."""


def greedy_arm(theta: FloatArray, offer: Offer) -> int:
    """Return argmax_k x_k'theta among listed arms, the lowest index on ties."""
    if offer.searched:
        return search_of(offer).best(theta)
    return _core.greedy_arm(theta, offer.by_coordinate)


def greedy_arms(thetas: FloatArray, offer: Offer) -> tuple[IntArray, FloatArray]:
    """Return the same for each column of [d, m], and its score: ([m], [m])."""
    if offer.searched:
        return search_of(offer).votes(thetas)
    chosen, scores = np.empty(thetas.shape[1], np.int64), np.empty(thetas.shape[1])
    _core.greedy_arms(thetas, offer.by_coordinate, chosen, scores)
    return chosen, scores


def search_of(offer: Offer) -> Search:
    """Return the search over an offer, which is built at its first use and kept with the offer."""
    search: Search | None = offer.search
    if search is None:
        assert offer.rows is not None  # else there is nothing to search
        if isinstance(offer, ApproximateArms):
            search = Index(offer.rows, offer.sizes, offer.probes)
        else:
            search = Screen(offer.rows, isinstance(offer, FiniteArms))
        offer.search = search
    return search


def recall(thetas: FloatArray, offer: ApproximateArms) -> float:
    """Return the share of columns of [d, m] whose best arm the approximate search finds."""
    found, exact = search_of(offer).votes(thetas)[0], Screen(offer.rows, True).votes(thetas)[0]
    return float(np.mean(found == exact))


class Screen:
    """Exact search.

    Codes take a sixteenth of the memory of the features. Only standing arms are worth encoding.
    """

    def __init__(self, rows: FloatArray, standing: bool) -> None:
        self.rows, self.standing = rows, standing
        self._encoded: tuple[FloatArray, Any] | None = None

    def encoded(self) -> tuple[FloatArray, Any]:
        """Return the table of features and the codes of all arms, as `encode_arms` writes them."""
        if self._encoded is None:
            table = np.zeros((4, self.rows.shape[1]))
            codes = np.zeros(_core.size_of_codes(self.rows), np.uint8)
            if (
                self.rows.shape[1] <= _core.MAX_SEARCH_DIM
            ):  # else bounds overflow 16 bits, and all arms are scored
                _core.encode_arms(self.rows, table, codes)
            self._encoded = table, codes
        return self._encoded

    def best(self, theta: FloatArray) -> int:
        return (
            _core.find_best_arm(self.rows, *self.encoded(), theta)
            if self.standing
            else _core.scan_arms(self.rows, theta)
        )

    def votes(self, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
        chosen, scores = np.empty(thetas.shape[1], np.int64), np.empty(thetas.shape[1])
        _core.find_best_arms(self.rows, *self.encoded(), thetas, chosen, scores)
        return chosen, scores


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
