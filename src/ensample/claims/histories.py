"""Every history at once: perturbations laid out as a stack for each arm.

Let member j take its next number from a stack of arm k whenever arm k is played. The law of the
algorithm is the same, since a number is fresh when it is taken; and the state is now a function of
the pull counts N_1..N_K alone, whatever the order of the arms and whoever chose them:

    theta~^j = V^-1 (W^j + sum_k x_k G_k^j(N_k)),    V = lam I + sum_k N_k x_k x_k',

with G_k^j(n) the sum of the first n numbers of a stack. This is the coupling behind the paper's
union bound. On a small problem all vectors of counts can be checked, and then nothing that an
algorithm, a noise or an adversary could do is left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator

from ensample.arms import FiniteArms
from ensample.claims.claim import Figure, curve
from ensample.claims.evidence import generator
from ensample.perturbations import GAUSSIAN, InitialLaw, Perturbation
from ensample.problems import LinearProblem
from ensample.randomness import RunStream
from ensample.theory import Setting
from ensample.types import FloatArray, IntArray

BLOCK = 1 << 15  # members times histories in one computation: as much as caches hold


@dataclass(frozen=True, eq=False)
class Stacks:
    """Perturbations of m members at scale 1."""

    arms: FloatArray  # [K, d]
    best: FloatArray  # x*, [d]
    lam: float
    W: FloatArray  # [m, d]
    sums: FloatArray  # G_k^j(n every), [K, 1 + (T - 1) / every, m]
    every: int = 1  # an arm is pulled so many times in a row

    @property
    def size(self) -> int:
        return len(self.W)

    def look(self, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """(U'Z^j / |U|, |theta~^j|_V) of every member: ([C, m], [C, m]).

        `counts` are vectors of pull counts [C, K], in units of `every`.
        """
        d = self.arms.shape[1]
        pulls = self.every * counts
        squares = np.einsum("ck,ki,kj->cij", pulls, self.arms, self.arms, optimize=True)
        roots = np.linalg.inv(np.linalg.cholesky(self.lam * np.eye(d) + squares))  # L^-1, V = LL'
        base = np.broadcast_to(self.W.T, (len(counts), d, self.size))
        taken = self.sums[np.arange(len(self.arms)), counts]
        drawn = np.concatenate([base, taken], axis=1)  # W, G_1, ..., G_K: [C, d + K, m]
        # L^-1 S, of length |theta~|_V: [C, d, m]
        whitened = np.concatenate([roots, roots @ self.arms.T], axis=2) @ drawn
        direction = roots @ self.best  # U'Z = (L^-1 x*)'(L^-1 S) and |U| = |L^-1 x*|
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        norms = np.sqrt(np.einsum("cij,cij->cj", whitened, whitened))
        return (direction[:, None] @ whitened)[:, 0], norms

    def look_at_all(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """`look` at every vector of counts of fewer than T rounds, in blocks."""
        counts = count_vectors(len(self.arms), self.sums.shape[1])
        step = max(1, BLOCK // self.size)
        for start in range(0, len(counts), step):
            yield self.look(counts[start : start + step])

    def least_shares(self, reach: float, norm: float) -> FloatArray:
        """The least share, over all histories, of members with U'Z^j >= reach |U|: [m].

        Their |theta~^j|_V is at most `norm`. Entry n - 1 is that of the first n members, so that
        one draw answers for ensembles of every size.
        """
        least = np.full(self.size, np.inf)
        for reaches, norms in self.look_at_all():
            enough = np.cumsum((reaches >= reach) & (norms <= norm), axis=1)
            np.minimum(least, enough.min(axis=0), out=least)
        return np.asarray(least / np.arange(1, self.size + 1))

    def least_shares_found(self, reach: float, norm: float, steps: int) -> FloatArray:
        """The same over the histories of an adversary who knows all perturbations, also later ones.

        In each of a few steps it pulls the arm, many times in a row, that leaves the fewest
        members.
        """
        pulls = (self.sums.shape[1] - 1) // steps
        move = pulls * np.eye(len(self.arms), dtype=np.int64)
        counts, least = np.zeros_like(move[0]), np.full(self.size, np.inf)
        for _ in range(steps):
            reaches, norms = self.look(counts + move)
            enough = np.cumsum((reaches >= reach) & (norms <= norm), axis=1)
            least = np.minimum(least, enough.min(axis=0))
            counts = counts + move[enough[:, -1].argmin()]
        return np.asarray(least / np.arange(1, self.size + 1))

    def least_reaches(self) -> FloatArray:
        """The least, over all histories, of max_j U'Z^j / |U| among the first n members: [m]."""
        least = np.full(self.size, np.inf)
        for reaches, _ in self.look_at_all():
            np.minimum(least, np.maximum.accumulate(reaches, axis=1).min(axis=0), out=least)
        return least


def draw_stacks(
    problem: LinearProblem,
    setting: Setting,
    size: int,
    rng: Generator,
    reward: Perturbation = GAUSSIAN,
    initial: InitialLaw = GAUSSIAN,
    every: int = 1,
) -> Stacks:
    """Draw stacks of T - 1 numbers of a law at scale 1, of which each `every`th sum is kept.

    With Gaussian laws and others whose sums are known, long horizons then cost no more than short
    ones.
    """
    assert isinstance(problem.arms, FiniteArms)
    K, d = problem.arms.features.shape
    shape = K, (setting.horizon - 1) // every, size
    sums = np.zeros((K, 1 + shape[1], size))
    drawn = reward.draw(rng, shape) if every == 1 else reward.draw_sum(rng, np.full(shape, every))
    np.cumsum(drawn, axis=1, out=sums[:, 1:])
    lam, best = setting.regularization, problem.arms.best(problem.theta)[1]
    W = math.sqrt(lam) * initial.draw_vectors(rng, size, d)
    return Stacks(problem.arms.features, best, lam, W, sums, every)


def count_vectors(arms: int, rounds: int) -> IntArray:
    """Return all vectors of `arms` counts that add up to less than `rounds`: [C(T - 1 + K, K), K].

    >>> count_vectors(2, 3).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    """
    bars = np.array(list(combinations(range(rounds - 1 + arms), arms)), np.int64)  # stars and bars
    return np.diff(bars, axis=1, prepend=-1) - 1


def draw_problem(
    setting: Setting, seed: int, claim: str, part: int, copies: int = 1
) -> LinearProblem:
    """Draw unit arms and a parameter of norm S. With `copies`, so many arms nearly coincide."""
    rng = generator(seed, claim, part, RunStream.PROBLEM)
    assert setting.arms is not None
    different = rng.standard_normal((-(-setting.arms // copies), setting.dim))
    features = np.tile(different, (copies, 1))[: setting.arms]
    features += 1e-3 * rng.standard_normal(features.shape)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(setting.dim)
    theta *= setting.norm / np.linalg.norm(theta)
    return LinearProblem(FiniteArms(features), theta, setting.noise)


def failure_figure(title: str, failures: FloatArray, setting: Setting) -> Figure:
    """Draw how often some history fails, over the number of members: `failures` [m]."""
    size, limit = failures.size, (setting.delta,) * 2
    curves = (
        curve("measured", range(1, size + 1), failures),
        curve("delta, at the prescribed m", (1, size), limit, bound=True),
    )
    return Figure(title, "members", "probability", curves)
