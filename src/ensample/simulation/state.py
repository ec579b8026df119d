"""The arrays of a simulated run. Python owns them, the compiled core reads and writes them (cpp/simulate/state.hpp)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.problems.arrays import ContextualProblem, FiniteProblem, aligned
from ensample.types import CountArray, FloatArray, IntArray

__all__ = ["LearnedScales", "Rngs", "RunSize", "RunState", "RunStates", "new_state"]

COUNT_BLOCK = 16  # pull counts that the core compares at once
MAX_LEVERAGE = 1e4  # leverage beyond which V^-1 is recomputed, until V is ill-conditioned
SCALE_ROWS = 6
NO_PRIOR = 1e-15  # the prior of an intercept: next to none, and V can be inverted before the first observation

COUNTERS = np.dtype(
    [
        ("regret", np.float64),
        ("rewards", np.float64),  # their sum
        ("squares", np.float64),  # of the rewards, their sum
        ("leverage", np.float64),  # of the last observation
        ("max_leverage", np.float64),
        ("information", np.float64),  # log(det V / lam^d) up to some round
        ("growth", np.float64),  # of det V since then
        ("count", np.float64),  # of observations
        ("origin", np.float64),  # what rewards are relative to, where there is an intercept: the first of them
        ("next_calibration", np.float64),  # observations when the scales are learned; infinite where they are given
        ("next_checkpoint", np.int64),
    ]
)


class RunState(NamedTuple):
    """A run so far; the core documents the fields."""

    lam: float
    fixed_lam: float
    sizes_given: bool
    intercept: bool
    forgetting_rate: float
    scales: FloatArray  # [6, d]
    prior: FloatArray  # [d]
    prior_root: FloatArray  # [d]
    gram: FloatArray  # [d, d]
    counted: CountArray
    inverse: FloatArray  # [d, d]
    mean: FloatArray  # [d]
    target: FloatArray  # [d]
    pulls: CountArray
    gain: FloatArray  # [d]
    counters: np.ndarray[Any, Any]  # of COUNTERS [1]
    checkpoints: IntArray  # [C]
    regret: FloatArray  # [C]
    scores: FloatArray  # [K]
    stop: IntArray  # [1] not 0: give up, Ctrl-C was pressed


class Rngs(NamedTuple):
    """The random numbers of a run, by what they are for; None where a kernel draws none."""

    noise: Generator
    member: Generator | None = None
    perturbation: Generator | None = None
    context: Generator | None = None


class RunSize(NamedTuple):
    """How large a run is."""

    dim: int
    rows: int  # of features: arms in all, those of the warm-up too
    arms: int  # on offer

    @classmethod
    def of(cls, problem: FiniteProblem | ContextualProblem | None, dim: int) -> "RunSize":
        """Return that of a problem whose features are of so many dimensions."""
        if isinstance(problem, FiniteProblem):
            return cls(dim, len(problem.features), problem.by_coordinate.shape[1])
        return cls(dim, 0, 0 if problem is None else problem.offered)


LearnedScales = tuple[FloatArray | None, float, bool]
"""Of scales that are learned: the sizes of features, or None; the lam to keep, or 0; and whether there is an intercept."""


def new_state(
    size: RunSize,
    lam: float,
    checkpoints: IntArray,
    stop: IntArray,
    learned: LearnedScales | None = None,
    rate: float = 0.0,
) -> RunState:
    """Return a run before its first round."""
    dim, rows, arms = size
    counts = -(-rows // COUNT_BLOCK) * COUNT_BLOCK
    inverse, mean, target, gain, scores, pulls = aligned((dim, dim), (dim,), (dim,), (dim,), (arms,), (counts // 2,))
    sizes, kept, intercept = (None, lam, False) if learned is None else learned
    scales = np.zeros((SCALE_ROWS, dim))
    scales[4, 0] = kept or 1.0  # `strength` of cpp/calibration.hpp
    if sizes is not None:
        scales[0] = sizes
    prior = (kept or 1.0) * np.where(scales[0] > 0.0, scales[0], 1.0) ** 2
    if intercept:
        prior[-1] = NO_PRIOR
    inverse.reshape(-1)[:: dim + 1] = 1.0 / prior
    counters = np.zeros(1, COUNTERS)
    counters["growth"], counters["max_leverage"] = 1.0, MAX_LEVERAGE
    counters["next_calibration"] = np.inf if learned is None else 1.0
    return RunState(
        lam=lam,
        fixed_lam=kept,
        sizes_given=sizes is not None,
        intercept=intercept,
        forgetting_rate=rate,
        scales=scales,
        prior=prior,
        prior_root=np.sqrt(prior),
        gram=np.zeros((dim, dim)),
        counted=np.zeros(0 if learned is None else counts, np.int32),
        inverse=inverse,
        mean=mean,
        target=target,
        pulls=pulls.view(np.int32),
        gain=gain,
        counters=counters,
        checkpoints=checkpoints,
        regret=np.full(checkpoints.size, np.nan),
        scores=scores,
        stop=stop,
    )


class RunStates:
    """The states of one run after the other: one state, reset, as long as runs are of one kind."""

    def __init__(self, checkpoints: IntArray, stop: IntArray, rate: float) -> None:
        self.checkpoints, self.stop, self.rate = checkpoints, stop, rate
        self._kind: tuple[RunSize, float] | None = None
        self._learned: LearnedScales | None = None
        self._state: RunState
        self._first: list[tuple[Any, Any]]  # arrays that runs write to, and what they hold before the first round

    def reset(self, size: RunSize, lam: float, learned: LearnedScales | None) -> RunState:
        """Return a run before its first round, as `new_state` makes it. The run before is over."""
        if self._kind == (size, lam) and alike(learned, self._learned):
            for values, first in self._first:
                values[...] = first
            return self._state
        state = self._state = new_state(size, lam, self.checkpoints, self.stop, learned, self.rate)
        written: list[Any] = [state.gram, state.inverse, state.mean, state.target, state.pulls, state.gain, state.regret]
        written += [state.counters, state.scales, state.prior, state.prior_root, state.counted]
        self._first = [(values, values.copy()) for values in written]
        self._kind, self._learned = (size, lam), learned
        return state


def alike(one: LearnedScales | None, other: LearnedScales | None) -> bool:
    """Are scales learned in the same way, from the same sizes?"""
    if one is None or other is None:
        return one is other
    return one[0] is other[0] and one[1:] == other[1:]
