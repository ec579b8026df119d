"""The best of very many arms, exactly, without reading all of them.

A feature is written down as a code of 4 bits: x_i = centre_i + step_i (q_i - 8 + r_i) with |r_i| <= 1/2. So, with
w_i = theta_i step_i,

    x'theta = centre'theta + sum_i w_i (q_i - 8) + sum_i w_i r_i,    the last of which is at most |w| |r|.

An arm's |r| is written down too, rounded up to a byte: it is one more feature. With whole weights, w_i = unit p_i + rounding,
an upper bound of every arm is `unit` times a whole number that fits into 16 bits. One pass over the codes, a sixteenth of the
features, finds the arms whose bound reaches what some arm is seen to have; these are scored from their features. Scores are
sums over coordinates in order, as everywhere: the arm that is found, and the lowest number on ties, is that of
`ensemble.greedy` to the last bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.kernels.compile import borrowing, embedded, inlined, kernel
from ensample.kernels.shorts import TILE, keep_shorts, largest_short, plus_codes, shorts_of
from ensample.types import FloatArray, IntArray

__all__ = ["TABLE", "encode", "scanned", "screened", "screened_votes"]

Codes = NDArray[np.uint8]
Whole = NDArray[np.int16]

TABLE = 4
"""Rows of what is known of each feature: centre, step, error that is not in |r|, size."""

LEVELS = 15  # the highest code
MIDDLE = 8  # the code of the centre
FULL = 32767  # the largest whole number of 16 bits
WIDE = 255  # the largest code of |r|
ROUNDING = 1.2e-16  # half of what separates 1 from the next double, and a little
FEW = 8  # arms of a tile that are scored one by one
SMALLEST, LARGEST = 1e-280, 1e280  # scores between which nothing that matters underflows or overflows


@borrowing
def radius_step(dim: int) -> float:
    """What a code of |r| stands for: |r| is at most sqrt(d) / 2, and the last code is to spare."""
    return 0.5 * np.sqrt(dim) / (WIDE - 1)


@borrowing
def level(column: FloatArray, low: float, centre: float, step: float, levels: FloatArray, squares: FloatArray) -> None:
    """The codes of one feature of some arms, and what they add to |r|^2."""
    once = 1.0 / step
    for place in range(column.size):
        code = min(max(np.floor((column[place] - low) * once + 0.5), 0.0), float(LEVELS))
        away = (column[place] - (centre + step * (code - MIDDLE))) * once
        levels[place] = code
        squares[place] += away * away


@kernel
def encode(rows: FloatArray, table: FloatArray, codes: Codes) -> None:
    """Fill `table` [TABLE, d] and `codes`: TILE arms after TILE arms, a byte for two features and arm, and one for |r|.

    The last tile is filled up with copies of the last arm; where d is odd, a feature that is always 0 comes last.
    """
    arms, d = rows.shape
    pairs = (d + 1) // 2
    lows, highs = np.full(d, np.inf), np.full(d, -np.inf)
    for k in range(arms):
        for i in range(d):
            lows[i] = min(lows[i], rows[k, i])
            highs[i] = max(highs[i], rows[k, i])
    for i in range(d):
        step = (highs[i] - lows[i]) / LEVELS
        table[1, i] = step if step > SMALLEST else 0.0
        table[0, i] = lows[i] + MIDDLE * table[1, i]
        table[2, i] = 0.0
    column, levels, squares = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for tile in range(codes.size // ((pairs + 1) * TILE)):
        first = tile * (pairs + 1) * TILE
        for place in range(TILE):
            squares[place] = 0.0
        for i in range(d):
            for place in range(TILE):
                column[place] = rows[min(tile * TILE + place, arms - 1), i]
            if table[1, i] > 0.0:
                level(column, lows[i], table[0, i], table[1, i], levels, squares)
            else:
                for place in range(TILE):
                    levels[place] = MIDDLE
                    table[2, i] = max(table[2, i], abs(column[place] - table[0, i]))
            for place in range(TILE):
                codes[first + i // 2 * TILE + place] |= np.uint8(int(levels[place]) << (i % 2 * 4))
        for place in range(TILE):
            radius = np.ceil(np.sqrt(squares[place]) * (1.0 + 1e-9) / radius_step(d))
            codes[first + pairs * TILE + place] = min(int(radius), WIDE)
    for i in range(d):
        size = max(abs(lows[i]), abs(highs[i])) + abs(table[0, i]) + MIDDLE * table[1, i]
        table[2, i] += 16.0 * ROUNDING * size  # of the differences above
        table[3, i] = size + table[2, i]


@borrowing
def weigh(table: FloatArray, theta: FloatArray, weights: Whole) -> tuple[float, float]:
    """(unit, beyond), and the whole weights of all codes; unit 0 where codes say nothing of these scores.

    No arm's score, as computed, is larger than beyond + unit (sum_i p_i (q_i - 8) + p |r|): all roundings are in it.
    """
    d = theta.size
    centre, size, total, square, margin = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(d):
        centre += theta[i] * table[0, i]
        size += abs(theta[i]) * table[3, i]
        total += abs(theta[i]) * table[1, i]
        margin += abs(theta[i]) * table[2, i]
    if not SMALLEST < size < LARGEST or total < SMALLEST * ROUNDING:
        return 0.0, 0.0
    for i in range(d):
        share = theta[i] * table[1, i] / total
        square += share * share
    radius = total * np.sqrt(square) * (1.0 + 1e-9) * radius_step(d)  # |w|, for a code of 1
    unit = (MIDDLE * total + WIDE * radius) / (FULL - MIDDLE * d - 2 * WIDE)
    for i in range(d):
        scaled = theta[i] * table[1, i]
        weights[i] = int(np.rint(scaled / unit))
        margin += MIDDLE * abs(scaled - unit * weights[i])
    last = int(radius / unit) + 1
    weights[weights.size - 2], weights[weights.size - 1] = last, 16 * last
    return unit, centre + margin + (16.0 * d + 256.0) * ROUNDING * size


@embedded
def score(rows: FloatArray, k: int, theta: FloatArray) -> float:
    total = 0.0
    for i in range(theta.size):
        total += theta[i] * rows[k, i]
    return total


@borrowing
def scan(rows: FloatArray, theta: FloatArray, start: int, stop: int, arm: int, best: float) -> tuple[int, float]:
    """The best of arms `start` to `stop` and of one that is known, the lowest number on ties. Eight at a time: their sums do
    not wait for each other."""
    k = start
    while k + 8 <= stop:
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(theta.size):
            t = theta[i]
            a += t * rows[k, i]
            b += t * rows[k + 1, i]
            c += t * rows[k + 2, i]
            d += t * rows[k + 3, i]
            e += t * rows[k + 4, i]
            f += t * rows[k + 5, i]
            g += t * rows[k + 6, i]
            h += t * rows[k + 7, i]
        if max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))) >= best:
            for place, found in enumerate((a, b, c, d, e, f, g, h)):
                if found > best or (found == best and k + place < arm):
                    arm, best = k + place, found
        k += 8
    while k < stop:
        found = score(rows, k, theta)
        if found > best or (found == best and k < arm):
            arm, best = k, found
        k += 1
    return arm, best


@inlined
def sums_of(codes: Codes, weights: Whole, tile: int, bias: int) -> Any:
    """sum_i p_i (q_i - 8) + p |r| of the arms of a tile; the bias is -8 sum_i p_i."""
    sums = shorts_of(np.int16(bias))
    first = tile * (weights.size // 2)
    for pair in range(weights.size // 2):
        sums = plus_codes(sums, codes, (first + pair) * TILE, weights[2 * pair], weights[2 * pair + 1])
    return sums


@borrowing
def search(
    rows: FloatArray, table: FloatArray, codes: Codes, theta: FloatArray, weights: Whole, tops: Whole, sums: Whole
) -> tuple[int, float]:
    """The best arm and its score; `weights` [d + 2 or d + 3, even], `tops` [tiles] and `sums` [TILE] are room to work in."""
    arms = rows.shape[0]
    unit, beyond = weigh(table, theta, weights)
    if unit == 0.0:
        return scan(rows, theta, 0, arms, 0, -np.inf)
    bias = 0
    for i in range(theta.size):
        bias -= MIDDLE * weights[i]
    first = 0
    for tile in range(tops.size):
        tops[tile] = largest_short(sums_of(codes, weights, tile, bias))
        if tops[tile] > tops[first]:
            first = tile
    arm, best = scan(rows, theta, first * TILE, min((first + 1) * TILE, arms), arms, -np.inf)
    for tile in range(tops.size):
        least = (best - beyond) / unit
        if tops[tile] >= least and tile != first:
            keep_shorts(sums_of(codes, weights, tile, bias), sums)
            arm, best = look(rows, theta, tile * TILE, min((tile + 1) * TILE, arms), sums, least, arm, best)
    return arm, best


@borrowing
def look(
    rows: FloatArray, theta: FloatArray, start: int, stop: int, sums: Whole, least: float, arm: int, best: float
) -> tuple[int, float]:
    """`scan` those of a tile whose sums are at least so much: all of it where they are many."""
    many = 0
    for k in range(start, stop):
        many += sums[k - start] >= least
    if many > FEW:
        return scan(rows, theta, start, stop, arm, best)
    for k in range(start, stop):
        if sums[k - start] >= least:
            arm, best = scan(rows, theta, k, k + 1, arm, best)
    return arm, best


@kernel
def screened(rows: FloatArray, table: FloatArray, codes: Codes, theta: FloatArray) -> tuple[int, float]:
    """argmax_k x_k'theta, the lowest index on ties, and that score."""
    weights = np.zeros(2 * ((theta.size + 1) // 2) + 2, np.int16)
    tops = np.empty(codes.size * 2 // (TILE * weights.size), np.int16)
    return search(rows, table, codes, theta, weights, tops, np.empty(TILE, np.int16))


@kernel
def screened_votes(rows: FloatArray, table: FloatArray, codes: Codes, thetas: FloatArray) -> tuple[IntArray, FloatArray]:
    """The same for each column of [d, m]: ([m], [m])."""
    d, m = thetas.shape
    weights = np.zeros(2 * ((d + 1) // 2) + 2, np.int16)
    tops = np.empty(codes.size * 2 // (TILE * weights.size), np.int16)
    sums, theta = np.empty(TILE, np.int16), np.empty(d)
    chosen, promises = np.empty(m, np.int64), np.empty(m)
    for j in range(m):
        for i in range(d):
            theta[i] = thetas[i, j]
        chosen[j], promises[j] = search(rows, table, codes, theta, weights, tops, sums)
    return chosen, promises


@kernel
def scanned(rows: FloatArray, theta: FloatArray) -> int:
    """argmax_k x_k'theta by reading all of them, the lowest index on ties."""
    return scan(rows, theta, 0, rows.shape[0], 0, -np.inf)[0]
