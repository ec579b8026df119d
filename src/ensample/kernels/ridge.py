"""Ridge regression one observation at a time, without drift.

V = lam I + sum x x' and b = sum x y are kept to twice the digits of a double (`exact`). V^-1 and theta_hat = V^-1 b follow
by Sherman-Morrison, O(d^2) a round; `polish` computes them anew from V and b now and then. Reductions are axpys over
contiguous rows: nothing is reassociated.
"""

import numpy as np

from ensample.kernels.compile import inlined, kernel
from ensample.kernels.exact import add_product
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.types import FloatArray, IntArray

__all__ = [
    "COUNT",
    "INFORMATION",
    "MEAN",
    "due",
    "invert",
    "observe",
    "observe_arm",
    "parts",
    "polish",
    "remember",
    "residual",
    "root",
    "rotate",
    "stiffness",
    "times",
]


INTERVAL = 256  # observations between two polishings (or d, where that is more: O(d^3) once in d rounds)
STIFF = 1e7  # a V so ill-conditioned is polished at every observation, before rank-one updates lose a ninth digit
NEGLIGIBLE = 1e-10  # a pivot this small next to its diagonal entry is rounding
TARGET, TARGET_LOW, MEAN, COUNT, INFORMATION = range(5)  # rows of `vectors` below


@inlined
def parts(state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """V, its low part, V^-1 [d, d each] and vectors [5, d], the rows of one [3d + 5, d] array.

    One array, because a call from Python pays for each of its arguments. The vectors are b, its low part and theta_hat; of the
    last two only the first entry is used: the number of observations and log(det V / lam^d).
    """
    d = state.shape[1]
    return state[:d], state[d : 2 * d], state[2 * d : 3 * d], state[3 * d :]


@kernel
def times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """matrix @ vector for a symmetric [d, d] matrix, as a sum of its rows in order."""
    out = np.empty(vector.size)
    sum_rows(out, matrix, vector)
    return out


@kernel
def observe(state: FloatArray, x: FloatArray, y: float) -> bool:
    """Take in (x, y); returns whether `polish` is due."""
    d = x.size
    gram, gram_low, inverse, vectors = parts(state)
    target, target_low, mean = vectors[TARGET], vectors[TARGET_LOW], vectors[MEAN]
    for i in range(d):
        for k in range(d):
            gram[i, k], gram_low[i, k] = add_product(gram[i, k], gram_low[i, k], x[i], x[k])
    for i in range(d):
        target[i], target_low[i] = add_product(target[i], target_low[i], x[i], y)
    u = times(inverse, x)
    leverage = dot(u, x)
    weight = 1.0 / (1.0 + leverage)
    axpy(mean, weight * (y - dot(mean, x)), u)
    add_outer(inverse, -weight, u, u)
    vectors[INFORMATION, 0] += np.log1p(leverage)
    vectors[COUNT, 0] += 1.0
    return due(state)


@kernel
def stiffness(state: FloatArray) -> float:
    """max diag V times max diag V^-1, a lower bound on the condition number of V that is within d^2 of it."""
    gram, _, inverse, _ = parts(state)
    largest = widest = 0.0
    for i in range(gram.shape[0]):
        largest = max(largest, gram[i, i])
        widest = max(widest, inverse[i, i])
    return largest * widest


@kernel
def due(state: FloatArray) -> bool:
    """Whether to compute V^-1 and theta_hat anew: after every INTERVAL observations, and after each where V is stiff."""
    d = state.shape[1]
    return stiffness(state) > STIFF or state[3 * d + COUNT, 0] % max(INTERVAL, d) == 0.0


@kernel
def polish(state: FloatArray) -> bool:
    """V^-1 and theta_hat anew from V and b: Cholesky, then corrections by residuals at twice the digits.

    Each correction squares the error of V^-1, so three of them mend any Cholesky that came through. Where V is singular to
    working precision nothing changes and the answer is False.
    """
    gram, gram_low, inverse, vectors = parts(state)
    target, target_low, mean = vectors[TARGET], vectors[TARGET_LOW], vectors[MEAN]
    d = mean.size
    fresh = invert(gram)
    if fresh.size == 0:
        return False
    unit = np.zeros(d)
    zero = np.zeros(d)
    correction = np.zeros((d, d))
    for _ in range(3):
        for i in range(d):
            unit[i] = 1.0
            correction[i] = times(fresh, residual(gram, gram_low, fresh[i], unit, zero))
            unit[i] = 0.0
        largest = step = 0.0
        for i in range(d):
            for k in range(i + 1):
                change = 0.5 * (correction[i, k] + correction[k, i])
                fresh[i, k] += change
                fresh[k, i] = fresh[i, k]
                largest = max(largest, abs(fresh[i, k]))
                step = max(step, abs(change))
        if step < 1e-13 * largest:
            break
    inverse[:] = fresh
    mean[:] = times(inverse, target)
    for _ in range(3):
        mean += times(inverse, residual(gram, gram_low, mean, target, target_low))
    return True


@kernel
def invert(matrix: FloatArray) -> FloatArray:
    """The inverse of a symmetric positive definite matrix by Cholesky; empty if a pivot is not positive."""
    d = matrix.shape[0]
    factor = np.zeros((d, d))  # R, upper triangular, R'R = matrix
    for i in range(d):
        row = matrix[i].copy()
        for k in range(i):
            for j in range(i, d):
                row[j] -= factor[k, i] * factor[k, j]
        if not row[i] > 0.0:
            return np.zeros((0, 0))
        for j in range(i, d):
            factor[i, j] = row[j] / np.sqrt(row[i])
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
def residual(
    gram: FloatArray, gram_low: FloatArray, vector: FloatArray, right: FloatArray, right_low: FloatArray
) -> FloatArray:
    """right - V vector, rounded once at the end: [d]."""
    d = vector.size
    high = right.copy()
    low = right_low.copy()
    for row in range(d):
        for i in range(d):
            low[i] -= gram_low[row, i] * vector[row]
            high[i], low[i] = add_product(high[i], low[i], gram[row, i], -vector[row])
    return high + low


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
def remember(state: FloatArray, factor: FloatArray, pulls: IntArray, arm: int, x: FloatArray, y: float) -> bool:
    """Take in (x, y) for a policy that draws its models afresh: also a root of sum x x', and arm counts (arm < 0: none)."""
    rotate(factor, x)
    return observe_arm(state, pulls, arm, x, y)


@kernel
def observe_arm(state: FloatArray, pulls: IntArray, arm: int, x: FloatArray, y: float) -> bool:
    """`observe`, and count the arm (arm < 0: none)."""
    if arm >= 0:
        pulls[arm] += 1
    return observe(state, x, y)


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
