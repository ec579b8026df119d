"""Arrays of a simulated run. Python owns them, the core reads and writes them.

cpp/simulate/state.hpp documents the fields.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.calibration import Unknown
from ensample.memory import aligned
from ensample.models.ridge import first_prior, new_scales
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.types import CountArray, FloatArray, IntArray

COUNT_BLOCK = 16  # pull counts that the core compares at once
MAX_LEVERAGE = 1e4  # leverage beyond which V^-1 is recomputed, until V is ill-conditioned

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
        ("origin", np.float64),  # with an intercept, the first reward: others are relative to it
        ("next_calibration", np.float64),  # count at which scales are learned; may be infinite
        ("next_checkpoint", np.int64),
    ]
)


class RunState(NamedTuple):
    """State of a run."""

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
    stop: IntArray  # [1] the run ends when it is not 0, as after Ctrl-C


WRITTEN = (
    *("gram", "inverse", "mean", "target", "pulls", "gain", "regret"),
    *("counters", "scales", "prior", "prior_root", "counted"),
)
"""Fields that the core writes and that must be reset before the next run."""


class Rngs(NamedTuple):
    """Generators of a run, by purpose; None where a kernel draws nothing."""

    noise: Generator
    member: Generator | None = None
    perturbation: Generator | None = None
    context: Generator | None = None


class RunSize(NamedTuple):
    """Sizes of the arrays of a run."""

    dim: int
    rows: int  # of features: arms on offer, and those that only the warm-up observes
    arms: int  # on offer

    @classmethod
    def of(cls, problem: FiniteProblem | ContextualProblem | None, dim: int) -> "RunSize":
        """Return the sizes of a run on a problem with `dim` features, the constant included."""
        if isinstance(problem, FiniteProblem):
            return cls(dim, len(problem.features), problem.by_coordinate.shape[1])
        return cls(dim, 0, 0 if problem is None else problem.offered)


def new_state(
    size: RunSize,
    lam: float,
    checkpoints: IntArray,
    stop: IntArray,
    unknown: Unknown | None = None,
    rate: float = 0.0,
) -> RunState:
    """Return the state before the first round. Scales are learned if `unknown` says which."""
    dim, rows, arms = size
    counts = -(-rows // COUNT_BLOCK) * COUNT_BLOCK
    shapes = (dim, dim), (dim,), (dim,), (dim,), (arms,), (counts // 2,)
    inverse, mean, target, gain, scores, pulls = aligned(*shapes)
    sizes, fixed_lam, intercept = Unknown(None, lam) if unknown is None else unknown
    scales = new_scales(np.zeros(dim) if sizes is None else sizes, fixed_lam)
    prior = first_prior(scales[0], fixed_lam, intercept)
    inverse.reshape(-1)[:: dim + 1] = 1.0 / prior
    counters = np.zeros(1, COUNTERS)
    counters["growth"], counters["max_leverage"] = 1.0, MAX_LEVERAGE
    counters["next_calibration"] = np.inf if unknown is None else 1.0
    return RunState(
        lam=lam,
        fixed_lam=fixed_lam,
        sizes_given=sizes is not None,
        intercept=intercept,
        forgetting_rate=rate,
        scales=scales,
        prior=prior,
        prior_root=np.sqrt(prior),
        gram=np.zeros((dim, dim)),
        counted=np.zeros(0 if unknown is None else counts, np.int32),
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


class ReusedState:
    """State that consecutive runs share while their sizes and scales are the same.

    Resetting it takes a third of the time of `new_state`, which short runs notice.
    """

    def __init__(self, checkpoints: IntArray, stop: IntArray, rate: float) -> None:
        self.checkpoints, self.stop, self.rate = checkpoints, stop, rate
        self._size: tuple[RunSize, float] | None = None
        self._unknown: Unknown | None = None
        self._state: RunState
        self._initial: list[tuple[Any, Any]] = []  # arrays, and their values before the first round

    def reset(self, size: RunSize, lam: float, unknown: Unknown | None) -> RunState:
        """Return the state before the first round; the one returned before becomes invalid."""
        if self._size == (size, lam) and is_same(unknown, self._unknown):
            for values, initial in self._initial:
                values[...] = initial
            return self._state
        self._state = new_state(size, lam, self.checkpoints, self.stop, unknown, self.rate)
        written = [getattr(self._state, name) for name in WRITTEN]
        self._initial = [(values, values.copy()) for values in written]
        self._size, self._unknown = (size, lam), unknown
        return self._state


def is_same(one: Unknown | None, other: Unknown | None) -> bool:
    """Return True if the same scales are learned; sizes of features are compared by identity."""
    if one is None or other is None:
        return one is other
    return one.sizes is other.sizes and one[1:] == other[1:]
