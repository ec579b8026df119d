"""What a simulated run keeps, whatever its arms: a ridge estimate and a record.

V^-1 follows by Sherman-Morrison and is computed anew from V now and then, so that it does not drift.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ensample.kernels.calibration import (
    SCRATCH,
    Scales,
    first_prior,
    learn_scales,
    new_scales,
    next_time,
    prior_of,
    scale_views,
)
from ensample.kernels.compile import embedded, kernel
from ensample.kernels.fading import effective_count, kept_share
from ensample.kernels.lanes import BLOCK
from ensample.kernels.ridge import invert
from ensample.kernels.rows import add_outer, axpy, dot, sum_rows
from ensample.types import CountArray, FloatArray, IntArray

__all__ = [
    "Room",
    "Tally",
    "Track",
    "Tracks",
    "adopt",
    "aligned",
    "calibrate",
    "due",
    "forgets",
    "from_origin",
    "information",
    "learns",
    "new_track",
    "note",
    "observe",
    "observe_fading",
    "perturbed",
    "renewed",
    "stopped",
    "unlearned",
    "with_initial",
]

LINE = 8  # numbers in a cache line
REFRESH = 2048  # observations between two recomputations of V^-1
MANY = 1e3  # growth of det V after which its logarithm is taken
STEEP = 1e4  # or at once where Sherman-Morrison would cancel four digits
STIFF = 1e6  # from a V so ill-conditioned
GENTLE = 0.25  # it is computed anew at such a leverage: digits that V^-1 has lost do not come back by rank-one updates


class Tally:
    """The numbers of a run. At work it is a NumPy record, whose fields kernels change in place."""

    regret: float
    rewards: float  # their sum
    squares: float  # of the rewards, their sum
    leverage: float  # of the last x
    limit: float  # of the leverage, beyond which V^-1 is computed anew
    information: float  # log(det V / lam^d) up to some round
    growth: float  # of det V since then
    count: float  # of observations
    origin: float  # what rewards are relative to, where there is an intercept: the first of them
    next: float  # their number when the scales are to be computed; infinite where they are given
    noted: int  # checkpoints passed


FIELDS = np.dtype([(name, np.dtype(kind)) for name, kind in Tally.__annotations__.items()], align=True)
NUMBERS = np.dtype((np.record, FIELDS))
"""One object for all runs: numba knows the type of a record by it, and takes 40 us to make out that of another."""


def first_tally(due: float) -> np.ndarray[Any, np.dtype[np.record]]:
    """Before the first round, in an array [1]; the scales are computed after `due` rounds."""
    fields = {"growth": 1.0, "limit": STEEP, "next": due}
    return np.array([tuple(fields.get(name, 0) for name in Tally.__annotations__)], NUMBERS)


LEARNING, GIVEN = first_tally(1.0), first_tally(np.inf)


class Track(NamedTuple):
    """A run so far."""

    lam: float  # at first
    kept: float  # lam > 0 where the scales are learned and it is not
    standing: bool  # whether the sizes of features are given
    rate: float  # at which the past fades, log 2 / half-life; 0: it does not
    intercept: bool  # whether the last feature is the constant 1
    scales: Scales
    prior: FloatArray  # V before the first observation, its diagonal [d]
    prior_root: FloatArray  # of its entries [d]
    gram: FloatArray  # sum x x' at the time of `counted` or, where the past fades, now [d, d]
    counted: CountArray  # pull counts, where scales are learned; empty where they are given
    inverse: FloatArray  # V^-1 [d, d]
    mean: FloatArray  # theta_hat [d]
    target: FloatArray  # b [d]
    pulls: CountArray  # [K + W], and zeros up to a multiple of BLOCK
    gain: FloatArray  # V^-1 x of the last observation, as it was before it [d]
    tally: Tally
    checkpoints: IntArray  # [C] rounds after which the regret is noted
    regret: FloatArray  # [C]
    scores: FloatArray  # scratch [K]
    stop: IntArray  # [1] not 0: give up, the user has had enough


def aligned(*shapes: tuple[int, ...]) -> list[FloatArray]:
    """Arrays of zeros that begin with a cache line each: rows that straddle lines take half as long again to read."""
    sizes = [math.prod(shape) for shape in shapes]
    room = np.zeros(sum(sizes) + LINE * (1 + len(sizes)))
    start = -room.ctypes.data // 8 % LINE
    arrays = []
    for shape, size in zip(shapes, sizes, strict=True):
        arrays.append(room[start : start + size].reshape(shape))
        start += -(-size // LINE) * LINE
    return arrays


class Room(NamedTuple):
    """How large a run is."""

    dim: int
    rows: int  # arms in all, those of the warm-up too
    arms: int  # on offer


LearnedScales = tuple[FloatArray | None, float, bool]
"""Of scales that are learned: the sizes of features, or None; the lam to keep, or 0; and whether there is an intercept."""


def new_track(
    room: Room,
    lam: float,
    checkpoints: IntArray,
    stop: IntArray,
    learned: LearnedScales | None = None,
    rate: float = 0.0,
) -> Track:
    """A run before its first round."""
    dim, rows, arms = room
    counts = -(-rows // BLOCK) * BLOCK
    inverse, mean, target, gain, scores, room_of_pulls = aligned((dim, dim), (dim,), (dim,), (dim,), (arms,), (counts // 2,))
    sizes, kept, intercept = (None, lam, False) if learned is None else learned
    scales = scale_views(new_scales(np.zeros(dim) if sizes is None else sizes, kept or 1.0))
    prior = first_prior(scales.sizes, float(scales.strength[0]), intercept)
    inverse.reshape(-1)[:: dim + 1] = 1.0 / prior
    tally: Any = (GIVEN if learned is None else LEARNING).copy()[0]
    pulls = room_of_pulls.view(np.int32)
    return Track(
        lam=lam,
        kept=kept,
        standing=sizes is not None,
        rate=rate,
        intercept=intercept,
        scales=scales,
        prior=prior,
        prior_root=np.sqrt(prior),
        gram=np.zeros((dim, dim)),
        counted=np.zeros(0 if learned is None else pulls.size, np.int32),
        inverse=inverse,
        mean=mean,
        target=target,
        pulls=pulls,
        gain=gain,
        tally=tally,
        checkpoints=checkpoints,
        regret=np.full(checkpoints.size, np.nan),
        scores=scores,
        stop=stop,
    )


class Tracks:
    """Those of one run after the other. Of one kind they are one track, wiped: kernels take in sooner what they have met."""

    def __init__(self, checkpoints: IntArray, stop: IntArray, rate: float) -> None:
        self.checkpoints, self.stop, self.rate = checkpoints, stop, rate
        self._made: tuple[Room, float] | None = None
        self._learned: LearnedScales | None = None
        self._track: Track
        self._first: list[tuple[Any, Any]]  # what runs write to, and what was there before the first round

    def clean(self, room: Room, lam: float, learned: LearnedScales | None) -> Track:
        """A run before its first round, as `new_track` makes it: the one before is over."""
        if self._made == (room, lam) and alike(learned, self._learned):
            for values, first in self._first:
                values[...] = first
            return self._track
        track = self._track = new_track(room, lam, self.checkpoints, self.stop, learned, self.rate)
        bases: list[Any] = [track.tally, track.scales.sizes]
        written = [track.gram, track.inverse, track.mean, track.target, track.pulls, track.gain, track.regret]
        written += [track.prior, track.prior_root, track.counted] if learned else []
        self._first = [(values, values.copy()) for values in (*written, *(view.base for view in bases))]
        self._made, self._learned = (room, lam), learned
        return track


def alike(one: LearnedScales | None, other: LearnedScales | None) -> bool:
    """Whether scales are learned in the same way, from the same sizes."""
    if one is None or other is None:
        return one is other
    return one[0] is other[0] and one[1:] == other[1:]


@embedded
def observe(track: Track, x: FloatArray, y: float) -> None:
    """V += x x', b += x y; V^-1 and theta_hat by Sherman-Morrison."""
    gain, tally = track.gain, track.tally
    sum_rows(gain, track.inverse, x)
    leverage = dot(gain, x)
    weight = 1.0 / (1.0 + leverage)
    axpy(track.mean, weight * (y - dot(track.mean, x)), gain)
    axpy(track.target, y, x)
    add_outer(track.inverse, -weight, gain, gain)
    note_growth(tally, leverage)
    tally.rewards += y
    tally.squares += y * y
    tally.leverage = leverage
    tally.count += 1.0


@embedded
def forgets(track: Track) -> bool:
    """Whether the past fades, as in `kernels.fading`."""
    return track.rate > 0.0


@kernel
def observe_fading(track: Track, x: FloatArray, y: float) -> None:
    """sum x x' <- g sum x x' + x x', b <- g b + x y and the rewards' sums alike; V^-1 and theta_hat anew, O(d^3).

    The scales are learned anew where it is time.
    """
    kept, tally, gram = kept_share(track.rate), track.tally, track.gram
    for i in range(x.size):
        track.target[i] = kept * track.target[i] + y * x[i]
        for k in range(x.size):
            gram[i, k] = kept * gram[i, k] + x[i] * x[k]
    tally.rewards = kept * tally.rewards + y
    tally.squares = kept * tally.squares + y * y
    tally.count += 1.0
    if unlearned(track):
        calibrate(track, gram.copy())
    else:
        fresh = gram.copy()
        for i in range(x.size):
            fresh[i, i] += track.prior[i]
        adopt(track, fresh)


@embedded
def from_origin(track: Track, y: float) -> float:
    """A reward as it is learned: where there is an intercept, relative to the first."""
    if track.intercept:
        if track.tally.count == 0.0:
            track.tally.origin = y
        return y - track.tally.origin
    return y


@embedded
def note_growth(tally: Tally, leverage: float) -> None:
    """det V grows by 1 + leverage; its logarithm is taken once in many rounds."""
    tally.growth *= 1.0 + leverage
    if tally.growth > MANY:
        tally.information += np.log(tally.growth)
        tally.growth = 1.0


@embedded
def information(track: Track) -> float:
    """log(det V / lam^d)."""
    return track.tally.information + np.log(track.tally.growth)


@embedded
def due(track: Track, t: int) -> bool:
    """Whether V^-1 is to be recomputed after round t: now and then, or as the last observation has cost it too many digits."""
    return (t + 1) % REFRESH == 0 or track.tally.leverage > track.tally.limit


@kernel
def adopt(track: Track, gram: FloatArray) -> None:
    """V^-1 and theta_hat anew from V and b; nothing changes where V is singular to working precision."""
    fresh = invert(gram)
    if fresh.size == 0:
        return
    largest = widest = 0.0
    for i in range(track.mean.size):
        largest, widest = max(largest, gram[i, i]), max(widest, fresh[i, i])
        for k in range(track.mean.size):
            track.inverse[i, k] = fresh[i, k]
    sum_rows(track.mean, fresh, track.target)
    track.tally.limit = STEEP
    if largest * widest > STIFF:
        track.tally.limit = GENTLE
        refine(track, gram)


@kernel
def refine(track: Track, gram: FloatArray) -> None:
    """theta_hat += V^-1 (b - V theta_hat), twice: V^-1 b by itself may lose twice the digits that V's condition takes."""
    rest, step = np.empty(track.mean.size), np.empty(track.mean.size)
    for _ in range(2):
        sum_rows(rest, gram, track.mean)
        for i in range(rest.size):
            rest[i] = track.target[i] - rest[i]
        sum_rows(step, track.inverse, rest)
        axpy(track.mean, 1.0, step)


@embedded
def unlearned(track: Track) -> bool:
    """Whether it is time to learn the scales from what was seen."""
    return track.tally.count >= track.tally.next


@embedded
def learns(track: Track) -> bool:
    """Whether the scales are learned."""
    return track.tally.next < np.inf


@embedded
def renewed(track: Track) -> bool:
    """Whether V^-1 is another one than a rank-one update would give: the scales were learned anew, or the past fades."""
    return forgets(track) or (learns(track) and track.scales.asked[0] == track.tally.count)


@kernel
def calibrate(track: Track, gram: FloatArray) -> None:
    """The scales from sum x x' (which is used up), and V^-1 and theta_hat that follow from them."""
    d, tally, known = track.mean.size, track.tally, track.scales
    fresh, target, scratch = gram.copy(), track.target.copy(), np.empty((SCRATCH, d))
    if not track.standing:
        for i in range(d):
            known.sizes[i] = np.sqrt(gram[i, i] / tally.count)
    n = effective_count(tally.count, track.rate)
    learn_scales(known, gram, target, scratch, tally.squares, n, track.kept, track.intercept)
    known.asked[0] = tally.count
    tally.next = max(tally.count + 1.0, np.ceil(next_time(tally.count, track.rate)))
    for i in range(d):
        track.prior[i] = prior_of(known, i, track.intercept)
        track.prior_root[i] = np.sqrt(track.prior[i])
        fresh[i, i] += track.prior[i]
    adopt(track, fresh)


@embedded
def with_initial(track: Track, total: FloatArray, initial: FloatArray, out: FloatArray) -> None:
    """out = total + sqrt(prior) initial, where the prior is learned."""
    for i in range(out.size):
        out[i] = total[i] + track.prior_root[i] * initial[i]


@embedded
def note(track: Track, t: int, loss: float) -> None:
    """Add to the regret and, at a checkpoint, write it down. Checkpoints ascend and end with the horizon."""
    tally = track.tally
    tally.regret += loss
    if track.checkpoints[tally.noted] == t + 1:
        track.regret[tally.noted] = tally.regret
        tally.noted += 1


@embedded
def stopped(track: Track) -> bool:
    """Whether the user has had enough."""
    return track.stop[0] != 0


@embedded
def perturbed(track: Track, total: FloatArray, scale: float, theta: FloatArray) -> None:
    """theta = theta_hat + scale V^-1 total."""
    sum_rows(theta, track.inverse, total)
    for i in range(theta.size):
        theta[i] = track.mean[i] + scale * theta[i]
