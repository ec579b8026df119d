"""Which arm a theta likes best: few arms are all scored; of many, codes of 4 bits say first which can be it."""

from typing import Any, Protocol

import numpy as np

from ensample.arms import ApproximateArms, FiniteArms, Offer
from ensample.kernels import ensemble
from ensample.kernels.screen import TABLE, encode, scanned, screened, screened_votes
from ensample.kernels.shorts import TILE
from ensample.models.index import Index
from ensample.types import FloatArray, IntArray

__all__ = ["greedy_arm", "greedy_arms", "recall"]

WIDEST = 2048  # features whose codes' sums fit into 16 bits


class Search(Protocol):
    """What looks for the best of very many arms."""

    def best(self, theta: FloatArray) -> int:
        """argmax_k x_k'theta."""

    def votes(self, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
        """The same for each column of [d, m], and its score: ([m], [m])."""


def greedy_arm(theta: FloatArray, offer: Offer) -> int:
    """argmax_k x_k'theta among arms that are listed, the lowest number on ties."""
    if offer.searched:
        return search_of(offer).best(theta)
    return ensemble.greedy(theta, offer.by_coordinate)


def greedy_arms(thetas: FloatArray, offer: Offer) -> tuple[IntArray, FloatArray]:
    """The same for each column of [d, m], and its score: ([m], [m])."""
    if offer.searched:
        return search_of(offer).votes(thetas)
    return ensemble.votes(thetas, offer.by_coordinate)


def search_of(offer: Offer) -> Search:
    """Made when it is first needed, and kept with the offer."""
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
    """The share of the columns of [d, m] for which what is found is the best arm."""
    found, exact = search_of(offer).votes(thetas)[0], Screen(offer.rows, True).votes(thetas)[0]
    return float(np.mean(found == exact))


class Screen:
    """Exact. Codes take a sixteenth of what the features take; for what is offered once they are not worth writing."""

    def __init__(self, rows: FloatArray, standing: bool) -> None:
        self.rows, self.standing = rows, standing
        self._known: tuple[FloatArray, Any] | None = None

    def known(self) -> tuple[FloatArray, Any]:
        """What there is to know of each feature, and the codes of all arms, as `encode` writes them."""
        if self._known is None:
            arms, dim = self.rows.shape
            table, codes = np.zeros((TABLE, dim)), np.zeros(-(-arms // TILE) * ((dim + 1) // 2 + 1) * TILE, np.uint8)
            if dim <= WIDEST:  # else the table says that nothing is known, and all arms are scored
                encode(self.rows, table, codes)
            self._known = table, codes
        return self._known

    def best(self, theta: FloatArray) -> int:
        return screened(self.rows, *self.known(), theta)[0] if self.standing else scanned(self.rows, theta)

    def votes(self, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
        return screened_votes(self.rows, *self.known(), thetas)
