"""Ridge regression one observation at a time, without drift.

V = prior + sum x x' (a diagonal prior, lam I unless it is learned) and b = sum x y are kept to twice the digits of a double
(`exact`). V^-1 and theta_hat = V^-1 b follow by Sherman-Morrison, O(d^2) a round, as long as that cancels no digits; else, and
now and then, they are computed anew from V and b (`polish`), as is log det V. Whoever observes does not do that but says that
it is due (`roughen`): it is rare and takes as long to compile as all the rest, so there is one kernel for it. Reductions are
axpys over contiguous rows: nothing is reassociated.
"""

import math
from typing import NamedTuple

import numpy as np

from ensample.kernels.compile import borrowing, embedded, inlined, kernel
from ensample.kernels.exact import add_product, add_square
from ensample.kernels.interpreted import rare
from ensample.kernels.pairs import factorise, lent_factor, room_for, solve, write_inverse
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.types import FloatArray

__all__ = [
    "PRIOR",
    "STIFF",
    "VECTORS",
    "Ridge",
    "add_observation",
    "diagonal",
    "entry_of",
    "invert",
    "is_rough",
    "lent",
    "new_ridge",
    "observe",
    "polish",
    "polish_alone",
    "root",
    "rotate",
    "roughen",
    "seen_of",
    "stiffness",
    "times",
    "triangle",
    "view",
    "views",
]


INTERVAL = 256  # observations between two polishings (or d, where that is more: O(d^3) once in d rounds)
STIFF = 1e7  # from a V so ill-conditioned, and to one, no rank-one update goes without a polish: it would lose a ninth digit
STEEP = 1e4  # leverage at which a rank-one update would cancel four digits
NEGLIGIBLE = 1e-10  # a pivot this small next to its diagonal entry is rounding
VECTORS = 9  # rows of a state beside its three matrices
SEEN, INFORMATION, PRIOR = 3, 4, 5  # which of them
MEMORY = 2  # more rows, where the past fades


class Ridge(NamedTuple):
    """The parts of a state: views into one [3d + VECTORS, d] array, as a call from Python pays for each argument.

    Where the past fades (`kernels.fading`) it has MEMORY rows more.
    """

    gram: FloatArray  # V [d, d]
    gram_low: FloatArray  # what V is beyond the digits of a double [d, d]
    inverse: FloatArray  # V^-1 [d, d]
    target: FloatArray  # b [d]
    target_low: FloatArray  # [d]
    mean: FloatArray  # theta_hat [d]
    seen: FloatArray  # in its first entry: the number of observations
    information: FloatArray  # in its first entry: log(det V / det prior); NaN where `polish` is due
    prior: FloatArray  # the diagonal of V before the first observation [d]
    gain: FloatArray  # scratch: V^-1 x of the last observation, as it was before it [d]
    squares: FloatArray  # in its first entries: sum y^2, high and low, of two rows [2, d]
    lengths: FloatArray  # sum x_i^2 of all that was seen, where the past fades [0 or 1, d]
    rate: FloatArray  # in its first entry: at which rate it does, log 2 / half-life [0 or 1, d]


def views(state: FloatArray) -> Ridge:
    """The parts of a state."""
    d = state.shape[1]
    rest = 3 * d
    return Ridge(
        state[:d],
        state[d : 2 * d],
        state[2 * d : rest],
        state[rest],
        state[rest + 1],
        state[rest + 2],
        state[rest + SEEN],
        state[rest + INFORMATION],
        state[rest + PRIOR],
        state[rest + 6],
        state[rest + 7 : rest + 9],
        state[rest + 9 : rest + 10],
        state[rest + 10 :],
    )


view = inlined(views)
"""`views` in kernels."""

lent = embedded(views)
"""`views` in what kernels lend a state to, and in nothing else: the references are not counted."""


@embedded
def entry_of(state: FloatArray, row: int, i: int) -> float:
    """Of a row beside the three matrices: one number, where all of `lent` would take longer to compile."""
    return state[3 * state.shape[1] + row, i]


@embedded
def seen_of(state: FloatArray) -> float:
    """The number of observations."""
    return entry_of(state, SEEN, 0)


def new_ridge(dim: int, prior: float | FloatArray, rate: float = 0.0) -> FloatArray:
    """A state before its first observation, V the diagonal matrix `prior`: a number, or [d]. The past fades where rate > 0."""
    state = np.zeros((3 * dim + VECTORS + (MEMORY if rate > 0.0 else 0), dim))
    ridge = views(state)
    ridge.rate[:, 0] = rate
    ridge.prior[:] = prior
    np.fill_diagonal(ridge.gram, ridge.prior)
    np.fill_diagonal(ridge.inverse, 1.0 / ridge.prior)
    return state


@kernel
def diagonal(dim: int, value: float) -> FloatArray:
    """value I [d, d]."""
    matrix = np.zeros((dim, dim))
    for i in range(dim):
        matrix[i, i] = value
    return matrix


@kernel
def times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """matrix @ vector for a symmetric [d, d] matrix, as a sum of its rows in order."""
    out = np.empty(vector.size)
    sum_rows(out, matrix, vector)
    return out


@borrowing
def observe(state: FloatArray, x: FloatArray, y: float) -> None:
    """Take in (x, y), by Sherman-Morrison as far as that is exact; where it is not, or now and then, `polish` is due."""
    d = x.size
    ridge = lent(state)
    stiff = stiffness(state) > STIFF
    add_observation(state, x, y)
    gain = ridge.gain
    sum_rows(gain, ridge.inverse, x)
    leverage = dot(gain, x)
    if 0.0 <= leverage <= STEEP:  # false for NaN too
        weight = 1.0 / (1.0 + leverage)
        axpy(ridge.mean, weight * (y - dot(ridge.mean, x)), gain)
        add_outer(ridge.inverse, -weight, gain, gain)
        ridge.information[0] += np.log1p(leverage)
        if not stiff and ridge.seen[0] % max(INTERVAL, d) != 0.0 and stiffness(state) <= STIFF:
            return
    roughen(state)


@embedded
def roughen(state: FloatArray) -> None:
    """Say that `polish` is due: until then V^-1, theta_hat and log det V are not what they should be."""
    state[3 * state.shape[1] + INFORMATION, 0] = np.nan


@embedded
def is_rough(state: FloatArray) -> bool:
    """Whether `polish` is due."""
    information = entry_of(state, INFORMATION, 0)
    return information != information


@borrowing
def add_observation(state: FloatArray, x: FloatArray, y: float) -> None:
    """V += x x', b += x y and the sum of y^2; nothing of what follows from them."""
    ridge = lent(state)
    add_square(ridge.gram, ridge.gram_low, x)
    for i in range(x.size):
        ridge.target[i], ridge.target_low[i] = add_product(ridge.target[i], ridge.target_low[i], x[i], y)
    squares = ridge.squares
    squares[0, 0], squares[1, 0] = add_product(squares[0, 0], squares[1, 0], y, y)
    ridge.seen[0] += 1.0


@borrowing
def stiffness(state: FloatArray) -> float:
    """max diag V times max diag V^-1, a lower bound on the condition number of V that is within d^2 of it."""
    ridge = lent(state)
    largest = widest = 0.0
    for i in range(ridge.mean.size):
        largest = max(largest, ridge.gram[i, i])
        widest = max(widest, ridge.inverse[i, i])
    return largest * widest


@kernel
def polish(state: FloatArray) -> None:
    """V^-1, theta_hat and log det V anew from V and b, at twice the digits and rounded once."""
    d = state.shape[1]
    polish_in(state, np.zeros((room_for(d), d)))


polish_alone = rare(worth=1.0)(polish)
"""`polish` for Python to call."""


@borrowing
def polish_in(state: FloatArray, room: FloatArray) -> None:
    """`polish`, in a room for its factor."""
    ridge, factor = lent(state), lent_factor(room)
    factorise(factor, ridge.gram, ridge.gram_low, ridge.prior)
    write_inverse(factor, ridge.inverse)
    solve(factor, ridge.target, ridge.target_low, ridge.mean)
    total = 0.0
    for i in range(ridge.mean.size):
        total += math.log(factor.pivots[i] / factor.scales[i] / factor.scales[i] / ridge.prior[i])
    ridge.information[0] = total


@kernel
def invert(matrix: FloatArray) -> FloatArray:
    """The inverse of a symmetric positive definite matrix by Cholesky; empty if a pivot is not positive."""
    factor = triangle(matrix)
    d = factor.shape[0]
    root = np.zeros((d, d))  # R^-1
    for i in range(d - 1, -1, -1):
        root[i, i] = 1.0
        for k in range(i + 1, d):
            for j in range(k, d):
                root[i, j] -= factor[i, k] * root[k, j]
        for j in range(i, d):
            root[i, j] /= factor[i, i]
    inverse = np.zeros((d, d))
    for i in range(d):
        for k in range(i + 1):
            inverse[i, k] = dot(root[i, i:], root[k, i:])
            inverse[k, i] = inverse[i, k]
    return inverse


@kernel
def triangle(matrix: FloatArray) -> FloatArray:
    """The upper triangular R with R'R = matrix, which is positive definite; empty if a pivot is not positive."""
    d = matrix.shape[0]
    factor = np.zeros((d, d))
    for i in range(d):
        row = matrix[i].copy()
        for k in range(i):
            for j in range(i, d):
                row[j] -= factor[k, i] * factor[k, j]
        if not row[i] > 0.0:
            return np.zeros((0, 0))
        for j in range(i, d):
            factor[i, j] = row[j] / np.sqrt(row[i])
    return factor


@kernel
def rotate(factor: FloatArray, x: FloatArray) -> None:
    """Turn R into the R with R'R + x x' by Givens rotations, O(d^2); R is upper triangular and may start at 0."""
    d = x.size
    rest = x.copy()
    for i in range(d):
        length = np.sqrt(factor[i, i] * factor[i, i] + rest[i] * rest[i])
        if length > 0.0:
            cosine = factor[i, i] / length
            sine = rest[i] / length
            for k in range(i, d):
                kept = factor[i, k]
                factor[i, k] = cosine * kept + sine * rest[k]
                rest[k] = cosine * rest[k] - sine * kept


@kernel
def root(matrix: FloatArray) -> None:
    """Replace a positive semidefinite matrix by the upper triangular R with R'R = matrix; a zero pivot gives a zero row."""
    d = matrix.shape[0]
    for k in range(d):
        row = matrix[k, k:]
        size = row[0]
        for j in range(k):
            axpy(row, -matrix[j, k], matrix[j, k:])
        inverse_pivot = 1.0 / np.sqrt(row[0]) if row[0] > NEGLIGIBLE * size else 0.0
        for i in range(row.size):
            row[i] *= inverse_pivot
        matrix[k, :k] = 0.0
