"""Laws and rules that give back stored numbers, so that a test decides what is drawn."""

from dataclasses import dataclass, field

import numpy as np

from ensample import Gaussian, InitialLaw, Perturbation


@dataclass(frozen=True)
class StoredRows(Perturbation):
    """The rows of Z one after the other, zeros beyond the end.

    Policies ask for whole blocks of rounds in order.
    """

    rows: np.ndarray = field(repr=False)
    scale: float = 1.0
    position: list[int] = field(default_factory=lambda: [0], repr=False)

    @property
    def subgaussian(self):
        return self.scale

    def draw(self, rng, shape):
        count, width = shape
        start = self.position[0]
        self.position[0] += count
        block = np.zeros((count, width))
        available = self.rows[start : start + count]
        block[: len(available)] = available
        return block


@dataclass(frozen=True)
class StoredColumns(Perturbation):
    """In call number t the first n entries of Z[:, t].

    The perturbations of LinPHE under the Proposition's coupling.
    """

    rows: np.ndarray = field(repr=False)
    scale: float = 1.0
    position: list[int] = field(
        default_factory=lambda: [1], repr=False
    )  # round 0 has no history to perturb

    @property
    def subgaussian(self):
        return self.scale

    def draw(self, rng, shape):
        column = self.rows[:, self.position[0]]
        self.position[0] += 1
        return column[:shape].copy()


@dataclass(frozen=True)
class StoredVectors(InitialLaw):
    """The stored initial vectors, as many a call as are asked for."""

    vectors: np.ndarray = field(repr=False)
    scale: float = 1.0
    position: list[int] = field(default_factory=lambda: [0], repr=False)

    @property
    def subgaussian(self):
        return self.scale

    def draw_vectors(self, rng, size, dim):
        start = self.position[0]
        self.position[0] += size
        return self.vectors[start : start + size].copy()


@dataclass(frozen=True)
class Recording(Gaussian):
    """Gaussian draws that a test can read afterwards."""

    drawn: list = field(default_factory=list, repr=False)

    def draw(self, rng, shape):
        self.drawn.append(super().draw(rng, shape))
        return self.drawn[-1]
