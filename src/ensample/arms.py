"""Arms: what can be chosen. A set of arms answers one question, which arm maximises x'theta.

A linear oracle turns any combinatorial set into arms. Here, all perfect matchings of three workers
to three jobs, with one feature a pair:

>>> import numpy as np
>>> from scipy.optimize import linear_sum_assignment
>>> def best_matching(theta):
...     rows, columns = linear_sum_assignment(theta.reshape(3, 3), maximize=True)
...     chosen = np.zeros((3, 3))
...     chosen[rows, columns] = 1 / 3**0.5
...     return chosen.ravel()
>>> arms = OracleArms(dim=9, best=best_matching)
>>> arm, x = arms.best(np.array([9.0, 0, 0, 0, 0, 8, 0, 7, 0]))
>>> (x.reshape(3, 3) > 0).astype(int).tolist()
[[1, 0, 0], [0, 0, 1], [0, 1, 0]]
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ensample.checks import matrix, vector, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import require
from ensample.types import ArrayLike, FloatArray

FEW = 4096  # standing arms whose rows are kept one by one
SMALL = 1 << 12  # numbers up to which `by_coordinate` is computed at once; networks never need it
LARGE = 1 << 20  # features of all arms together from which on the best arm is searched for
DERIVED = ("by_coordinate", "each", "search", "searched")  # attributes computed from the rows
BLOCK = 1 << 14  # arms handled together where all of them would take too much room


class Offer(ABC):
    """The offer of one round: vectors in R^dim, listed as rows or known by the best of them."""

    dim: int
    rows: FloatArray | None = None  # [K, dim] if arms are listed, and so numbered
    by_coordinate: FloatArray  # [dim, K], as the core takes it; if arms are listed
    each: "Sequence[FloatArray] | FloatArray"  # the rows one by one, [dim] each; if arms are listed
    searched = False  # whether arms are so many that the best is searched for
    search: Any = None  # how it is searched for (`models.search`)

    @abstractmethod
    def best(self, theta: FloatArray) -> tuple[int | None, FloatArray]:
        """Return (index, features) of argmax_x x'theta; the index is None if arms are not
        numbered.
        """

    def promises(self, thetas: FloatArray) -> FloatArray:
        """max_x x'theta for each row of `thetas` [m, dim]: [m]."""
        return np.array([self.best(theta)[1] @ theta for theta in thetas])


class Rows(Offer):
    """A list of arms, the rows of a K x d array. Of arms with equal scores the lowest index
    wins.
    """

    rows: FloatArray

    def __init__(self, features: ArrayLike, dim: int | None = None) -> None:
        self.rows = matrix("features", features, dim, shared=isinstance(self, Arms))
        self.dim = self.rows.shape[1]
        self._lay_out()

    def _lay_out(self) -> None:
        """Compute the attributes that follow from the rows, all read-only."""
        self.rows.setflags(write=False)
        self.each = self.rows
        self.searched = self.rows.size >= LARGE
        if self.rows.size < SMALL and not self.searched:
            self._transpose()

    def _transpose(self) -> None:
        self.by_coordinate = np.array(self.rows.T, order="C")
        self.by_coordinate.setflags(write=False)

    def __getattr__(self, name: str) -> Any:
        """Compute `by_coordinate` of many arms when it is first read."""
        if name != "by_coordinate" or "rows" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._transpose()
        return self.by_coordinate

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in DERIVED}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._lay_out()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} arms, dim={self.dim})"

    def best(self, theta: FloatArray) -> tuple[int, FloatArray]:
        arm, most = 0, -np.inf
        for number, block in enumerate(blocks(self.rows)):
            # Coordinates are added in order, so that equal arms have equal scores to the last bit.
            # (A sum over an axis would take another order in a block of one arm.)
            scores = np.zeros(len(block))
            for weight, column in zip(theta, np.array(block.T, order="C"), strict=True):
                scores += weight * column
            if scores.max() > most:
                arm, most = number * BLOCK + int(scores.argmax()), scores.max()
        return arm, self.rows[arm]


class Arms(Offer):
    """A closed set of feature vectors in R^dim, offered in every round that has none of its own."""

    @property
    def largest_norm(self) -> float | None:
        """max |x|, or None if it is not known."""
        return None

    @property
    def sizes(self) -> FloatArray | None:
        """The root mean square of each feature, 1 if it is always 0: [d]. None if it is not
        known.
        """
        return None

    @property
    def parameters(self) -> "dict[str, int | FloatArray] | None":
        """The arguments that make these arms again; None if they cannot be written down."""
        return None

    def offer(self, features: ArrayLike | None = None) -> Offer:
        """Return the offer of a round: these arms, or the rows of `features`."""
        return self if features is None else Rows(features, self.dim)


class FiniteArms(Rows, Arms):
    """K arms, the rows of a K x d array. Of arms with equal scores the lowest index wins.

    Features are copied, but for a read-only array of doubles, which is shared: one after
    `features.flags.writeable = False`, or one of `numpy.load(path, mmap_mode="r")`. With a million
    features or more, K d, the best arm is found from 4-bit codes of the features and the arms that
    these cannot rule out: the same arm, sooner.

    >>> FiniteArms([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]).best(np.array([0.2, 0.5]))
    (1, array([0., 1.]))
    """

    def __init__(self, features: ArrayLike) -> None:
        super().__init__(features)

    def _lay_out(self) -> None:
        super()._lay_out()
        if len(self) <= FEW:
            self.each = list(self.rows)  # a view of a row costs as much as a choice from a hundred

    @property
    def features(self) -> FloatArray:
        """The rows: [K, d], read-only."""
        return self.rows

    @property
    def largest_norm(self) -> float:
        return max(float(np.linalg.norm(block, axis=1).max()) for block in blocks(self.rows))

    @property
    def sizes(self) -> FloatArray:
        sums = np.zeros(self.dim)
        for block in blocks(self.rows):
            sums += np.square(block).sum(axis=0)
        return ones_for_zeros(np.sqrt(sums / len(self)))

    @property
    def parameters(self) -> dict[str, int | FloatArray]:
        return {"features": self.rows}


class ApproximateArms(FiniteArms):
    """K arms whose best is searched for by an index of faiss (extra `ann`), not always found.

    Arms are put in about sqrt(K) cells. The `probes` most promising cells for a theta are searched,
    and the most promising arms found there are scored exactly; the lowest index wins ties. Votes
    use the same search, so propensities are those of the policy as it acts. `policy.recall()` says
    how often the best arm is found. The exact search of `FiniteArms` is quick too:
    docs/howto/big-action-sets.md has both measured, with a million arms.

    The index is built when it is first needed, of 32-bit floats, which takes half as much memory
    again. On other machines and with other versions of faiss it may find other arms.

    >>> ApproximateArms(np.eye(200), probes=4)
    ApproximateArms(200 arms, dim=200)
    """

    def __init__(self, features: ArrayLike, probes: int = 32) -> None:
        self.probes = whole("probes", probes, 1)
        require("faiss", user="ApproximateArms")
        super().__init__(features)

    def _lay_out(self) -> None:
        super()._lay_out()
        self.searched = True

    @property
    def parameters(self) -> dict[str, int | FloatArray]:
        return {"features": self.rows, "probes": np.array(self.probes)}


class UnitBall(Arms):
    """All x with |x| <= 1. For theta = 0 the first basis vector is chosen."""

    def __init__(self, dim: int) -> None:
        self.dim = whole("dim", dim, 1)

    def __repr__(self) -> str:
        return f"UnitBall({self.dim})"

    @property
    def largest_norm(self) -> float:
        return 1.0

    @property
    def sizes(self) -> FloatArray:
        return np.ones(self.dim)  # all alike, which is all that matters

    @property
    def parameters(self) -> dict[str, int | FloatArray]:
        return {"dim": self.dim}

    def promises(self, thetas: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(thetas, axis=1))

    def best(self, theta: FloatArray) -> tuple[None, FloatArray]:
        largest = np.abs(theta).max()
        # Divided by the largest entry, so that the norm cannot over- or underflow.
        direction = theta / largest if largest > 0.0 else np.eye(1, self.dim)[0]
        return None, direction / np.linalg.norm(direction)


class Box(Arms):
    """All x with low <= x <= high, coordinate by coordinate. A coordinate with theta_i = 0 stays
    low.

    >>> Box([0, 0, -1], [1, 1, 1]).best(np.array([2.0, -1.0, 0.0]))[1].tolist()
    [1.0, 0.0, -1.0]
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.low = vector("low", low)
        self.dim = self.low.size
        self.high = vector("high", high, self.dim)
        if np.any(self.low > self.high):
            raise InvalidArgument("high", self.high, f"entries >= those of low = {self.low}")
        self.low.setflags(write=False)
        self.high.setflags(write=False)

    def __repr__(self) -> str:
        return f"Box({self.low.tolist()}, {self.high.tolist()})"

    @property
    def largest_norm(self) -> float:
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    @property
    def sizes(self) -> FloatArray:
        return ones_for_zeros(np.sqrt((self.low**2 + self.low * self.high + self.high**2) / 3.0))

    @property
    def parameters(self) -> dict[str, int | FloatArray]:
        return {"low": self.low, "high": self.high}

    def promises(self, thetas: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(thetas * self.low, thetas * self.high).sum(axis=1))

    def best(self, theta: FloatArray) -> tuple[None, FloatArray]:
        return None, np.where(theta > 0.0, self.high, self.low)


class OracleArms(Arms):
    """Arms known through a linear oracle: `best(theta)` returns the x that maximises x'theta."""

    def __init__(self, dim: int, best: Callable[[FloatArray], ArrayLike]) -> None:
        self.dim = whole("dim", dim, 1)
        if not callable(best):
            raise WrongType("best", best, "a function theta -> x")
        self._best = best

    def __repr__(self) -> str:
        return f"OracleArms({self.dim}, {self._best!r})"

    def best(self, theta: FloatArray) -> tuple[None, FloatArray]:
        return None, vector("best(theta)", self._best(theta.copy()), self.dim)


class ChangingArms(Arms):
    """No standing arms: each round brings its own, `policy.decide(features)` with a K_t x dim
    array.
    """

    def __init__(self, dim: int) -> None:
        self.dim = whole("dim", dim, 1)

    def __repr__(self) -> str:
        return f"ChangingArms({self.dim})"

    @property
    def parameters(self) -> dict[str, int | FloatArray]:
        return {"dim": self.dim}

    def offer(self, features: ArrayLike | None = None) -> Offer:
        if features is None:
            raise self._missing()
        return super().offer(features)

    def best(self, theta: FloatArray) -> tuple[None, FloatArray]:
        raise self._missing()

    def _missing(self) -> InvalidArgument:
        return InvalidArgument("features", None, f"the arms of this round, a K x {self.dim} array")


def blocks(rows: FloatArray) -> Iterator[FloatArray]:
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))


def ones_for_zeros(sizes: FloatArray) -> FloatArray:
    return np.where(sizes > 0.0, sizes, 1.0)
