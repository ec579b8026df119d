"""What live policies learn from one observation, each in one call: Ctrl-C comes before it or after it.

The number of observations, by which an update is known to have happened, changes with the rest; what is due after it
(`ridge.roughen`) is for another call. What fades takes twice as long to compile: only kernels of policies that may forget have
it (`take_in`), others `observe`.
"""

import numpy as np

from ensample.kernels.compile import borrowing, kernel
from ensample.kernels.exact import two_sum
from ensample.kernels.fading import fades, fading_rate, kept_share, take_in
from ensample.kernels.ridge import is_rough, lent, observe, rotate, seen_of
from ensample.kernels.rows import add_outer, axpy, dot, write
from ensample.types import FloatArray, IntArray

__all__ = [
    "count_arm",
    "learn",
    "learn_directions",
    "learn_fading",
    "learn_rooted",
    "learn_with_constant",
    "remember",
    "remember_rewards",
    "watch",
    "watch_fading",
]

CARRY = 64  # observations between two times that newer sums are added to older ones


@kernel
def learn(state: FloatArray, sums: FloatArray, x: FloatArray, y: float, z: FloatArray) -> None:
    """One round of Algorithm 1, where nothing fades: perturb member j by x z_j and observe (x, y)."""
    observe(state, x, y)
    perturb(state, sums, x, z)


@borrowing
def perturb(state: FloatArray, sums: FloatArray, x: FloatArray, z: FloatArray) -> None:
    """S^j += x z_j."""
    d = x.size
    add_outer(sums[d : 2 * d], 1.0, x, z)
    carry_over(state, sums[: 2 * d])


@kernel
def learn_fading(state: FloatArray, sums: FloatArray, fresh: FloatArray, x: FloatArray, y: float, z: FloatArray) -> None:
    """`learn` where the past fades: S^j <- sqrt(g) S^j + sqrt(1 - g) W'^j + x z_j with W'^j drawn `fresh` [d, m] as W^j was.

    So the covariance of S^j follows V. Where the prior is learned, W'^j joins W^j in its own rows.
    """
    kept = kept_share(fading_rate(state))
    shrink, weight = np.sqrt(kept), np.sqrt(1.0 - kept)
    for i in range(sums.shape[0]):
        row = sums[i]
        for j in range(row.size):
            row[j] *= shrink
    first = sums.shape[0] - x.size
    for i in range(x.size):
        axpy(sums[first + i], weight, fresh[i])
    take_in(state, x, y)
    perturb(state, sums, x, z)


@kernel
def learn_with_constant(
    state: FloatArray, sums: FloatArray, origin: FloatArray, x: FloatArray, y: float, z: FloatArray
) -> None:
    """`learn` (x, 1) and y less the first reward, which `origin` [1] keeps."""
    if seen_of(state) == 0.0:
        origin[0] = y
    longer = np.ones(x.size + 1)
    write(longer, x)
    learn(state, sums, longer, y - origin[0], z)


@borrowing
def carry_over(state: FloatArray, sums: FloatArray) -> None:
    """Now and then add the newer half of the sums' rows to the older, exactly: what does not fit stays in the newer.

    So a sum of a million terms is as exact as one of CARRY terms, at the price of plain additions.
    """
    if seen_of(state) % CARRY != 0.0:
        return
    half = sums.shape[0] // 2
    for i in range(half):
        older, newer = sums[i], sums[half + i]
        for j in range(older.size):
            older[j], newer[j] = two_sum(older[j], newer[j])


@kernel
def learn_rooted(state: FloatArray, sums: FloatArray, root: FloatArray, x: FloatArray, y: float, z: FloatArray) -> None:
    """`learn`, keeping also an upper triangular R with R'R = sum x x'."""
    rotate(root, x)
    learn(state, sums, x, y, z)


@kernel
def learn_directions(state: FloatArray, directions: FloatArray, x: FloatArray, y: float, z: FloatArray) -> None:
    """S += x z', kept transposed as [2M, d] and otherwise as in `learn`, and observe (x, y)."""
    observe(state, x, y)
    size = z.size
    for j in range(size):
        axpy(directions[size + j], z[j], x)
    carry_over(state, directions)


@kernel
def count_arm(state: FloatArray, pulls: IntArray, arm: int, x: FloatArray, y: float) -> None:
    """Observe (x, y), and count the arm (arm < 0: none)."""
    if arm >= 0:
        pulls[arm] += 1
    take_in(state, x, y)


@kernel
def remember(state: FloatArray, factor: FloatArray, pulls: IntArray, arm: int, x: FloatArray, y: float) -> None:
    """`count_arm`, keeping also an upper triangular R with R'R = sum x x', in which the past fades as it does in V."""
    if fades(state):
        shrink = np.sqrt(kept_share(fading_rate(state)))
        for i in range(x.size):
            for k in range(i, x.size):
                factor[i, k] *= shrink
    rotate(factor, x)
    count_arm(state, pulls, arm, x, y)


@kernel
def remember_rewards(state: FloatArray, root: FloatArray, rewards: FloatArray, x: FloatArray, y: float) -> None:
    """Observe (x, y), keeping a root of V, and number, mean and squared deviations of the rewards (Welford)."""
    rotate(root, x)
    step = (y - rewards[1]) / (rewards[0] + 1.0)
    rewards[2] += (y - rewards[1]) * (y - rewards[1] - step)
    rewards[1] += step
    rewards[0] += 1.0
    take_in(state, x, y)


@kernel
def watch(state: FloatArray, largest: FloatArray, x: FloatArray, y: float) -> None:
    """Observe (x, y) where nothing fades, and note the largest |theta_hat| so far: unless `polish` is due before that."""
    observe(state, x, y)
    note_length(state, largest)


@kernel
def watch_fading(state: FloatArray, largest: FloatArray, x: FloatArray, y: float) -> None:
    """`watch` where the past fades."""
    take_in(state, x, y)
    note_length(state, largest)


@borrowing
def note_length(state: FloatArray, largest: FloatArray) -> None:
    """Of theta_hat, if none was longer and it is what it should be."""
    if not is_rough(state):
        mean = lent(state).mean
        largest[0] = max(largest[0], np.sqrt(dot(mean, mean)))
