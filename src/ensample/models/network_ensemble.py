"""Algorithm 1 with networks: every member trained on its own perturbed rewards, all together."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.errors import InvalidArgument, NonFiniteError
from ensample.models.base import Model, listed
from ensample.models.networks import Nets, Networks
from ensample.models.training_state import (
    EMPTY,
    MemberAdditions,
    NetworkState,
    drawn_places,
    in_units,
    new_memory,
    reservoir_place,
    typical_sizes,
)
from ensample.perturbations import Perturbation
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

EARLY, MOST = 8, 8
"""In the first rounds every place is drawn about EARLY times, in at most MOST minibatches."""


class Loss(NamedTuple):
    """The loss of an output u and a reward y that is perturbed by z.

    squared: (u - (y - mean) / spread - z)^2 / 2, outputs being rewards in units of their spread.
    logistic: A(u) - (y + s z) u with A(u) = log(1 + e^u) and s^2 = A''(u) at the members' mean.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss
    minimisation", AISTATS 2024.
    """

    code: int  # in the core (cpp/networks/state.hpp)
    expected: str = ""  # how errors call its rewards, from 0 to 1; empty if every number is one

    def check(self, y: float) -> None:
        """Raise on a reward that it is not for."""
        if self.expected and not 0.0 <= y <= 1.0:
            raise InvalidArgument("reward", y, self.expected)

    def rewards(self, outputs: FloatArray, mean: float, spread: float) -> FloatArray:
        """Return the rewards that outputs stand for, where rewards have this mean and spread."""
        if self.code == SQUARED.code:
            return mean + spread * outputs
        halves = 0.5 * np.ravel(outputs)
        _core.evaluate("tanh", halves, halves)  # without overflow; the same bits everywhere
        return 0.5 * (1.0 + halves.reshape(outputs.shape))


SQUARED = Loss(0)
LOGISTIC = Loss(1, "a number from 0 to 1 for the logistic loss")
LOSSES = {"squared": SQUARED, "logistic": LOGISTIC}


class CoreTraining(NamedTuple):
    """How members are trained, as the core takes it."""

    loss: int  # `Loss.code`
    rate: float
    prior: float  # the scale of the prior networks
    learns_scale: bool  # True if `scale` multiplies sigma, False if it is in the rewards' units
    scale: float
    learns_pull: bool  # True if lam is sigma^2 in units of the rewards' spread
    pull: float  # lam


class Schedule(NamedTuple):
    """How much members are trained in a round, and on what."""

    adam: bool  # or gradient descent
    batch: int
    steps: int
    memory: int


class Anchor(NamedTuple):
    """Weights that training pulls to, and how strongly: runs of equal strengths."""

    weights: FloatArray  # [n]
    ends: IntArray  # [r], the last being n
    strengths: FloatArray  # [r], where lam / n is 1


class NewObservation(NamedTuple):
    """Observation to learn, and the places of memory that its minibatches learn from."""

    x: FloatArray
    y: float
    round: int
    place: int  # where it is kept, or EMPTY
    prior_outputs: FloatArray  # [m] or [0], in the units before it
    feature_units: FloatArray  # [3, d] in the units after it
    places: IntArray  # [steps, B]


class NetworkEnsemble(Model):
    """m networks, each trained by minibatches on its own perturbed rewards.

    Member j minimises sum_i loss(f^j(x_i) + prior p^j(x_i), y_i + Z_i^j)
    + lam/2 |(w^j - W^j) / s|^2.

    W^j are its initial weights, drawn with standard deviations s, and p^j is a network that is
    never trained. Everything is in the units of `models.training_state`.
    """

    size: int
    whole: ClassVar[bool] = True
    nets: Nets

    def __init__(
        self,
        nets: Nets,
        training: CoreTraining,
        schedule: Schedule,
        law: Perturbation,
        address: Address,
        rows: FloatArray | None,
    ) -> None:
        """`rows`: the standing arms, from which the units of features follow, if there are any."""
        self.nets, self.training, self.schedule = nets, training, schedule
        self.loss = next(loss for loss in LOSSES.values() if loss.code == training.loss)
        self.address, self.size, self.rows = address, nets.size, rows
        initial = nets.draw(address.generator(Stream.INITIAL, 0))
        weights = np.zeros((3 if schedule.adam else 1, nets.count))
        weights[0] = initial
        counts = np.array([0, 0, EMPTY, EMPTY])
        self.state = NetworkState(weights, np.zeros(4 * nets.dim + 4), counts)
        if rows is not None:
            self.state.features.sizes[:] = typical_sizes(rows)
        strengths = 1.0 / np.square(nets.spreads())  # times lam / n, as the loss is a mean
        ends = np.append(np.flatnonzero(np.diff(strengths)) + 1, strengths.size)
        self._anchor = Anchor(initial, ends, strengths[ends - 1])
        self.prior = nets.draw(address.generator(Stream.INITIAL, 1)) if training.prior else None
        self.memory = new_memory(schedule.memory, nets.dim, nets.size, self.prior is not None)
        self._additions = MemberAdditions(nets, self.prior, law, self.memory)
        self._workspace, self._workspace_batch = np.empty(0), 0
        self._seen_rows: FloatArray | None = None  # standing arms as networks see them
        self._prior_rows: dict[int, FloatArray] = {}  # outputs of prior networks for them

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_workspace": np.empty(0), "_workspace_batch": 0}

    @property
    def weights(self) -> FloatArray:
        return self.state.weights

    @property
    def anchor(self) -> FloatArray:
        """The initial weights W^j: [n]."""
        return self._anchor.weights

    @property
    def count(self) -> int:
        return int(self.state.counts[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise as the perturbations have it, if it is learned."""
        return self.state.rewards.sigma(self.count)

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        seen = self._seen(rows)
        outputs = self.nets.member(self.weights[0], member, seen)
        if self.prior is not None:
            outputs = outputs + self.training.prior * self._prior_scores(member, rows, seen)
        return self.loss.rewards(outputs, *self._reward_units())

    def _seen(self, rows: FloatArray) -> FloatArray:
        """Return rows as networks see them. Standing arms have fixed units and are kept."""
        if rows is not self.rows:
            return in_units(rows, self.state.features.sizes)
        if self._seen_rows is None:
            self._seen_rows = in_units(rows, self.state.features.sizes)
        return self._seen_rows

    def _prior_scores(self, member: int, rows: FloatArray, seen: FloatArray) -> FloatArray:
        """Return the outputs of a member's prior network; those for standing arms are kept."""
        assert self.prior is not None
        if rows is not self.rows:
            return self.nets.member(self.prior, member, seen)
        if member not in self._prior_rows:
            self._prior_rows[member] = self.nets.member(self.prior, member, seen)
        return self._prior_rows[member]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        if isinstance(offer, ChangingArms):
            offer.offer()  # says that the features of the round are missing
        scores = self.all_scores(listed(offer))
        return scores.argmax(axis=0), scores.max(axis=0)

    def all_scores(self, rows: FloatArray) -> FloatArray:
        """Return what every member expects of every row: [K, m]."""
        seen = self._seen(rows)
        outputs = self.nets.outputs(self.weights[0], seen)
        if self.prior is not None:
            outputs += self.training.prior * self.nets.outputs(self.prior, seen)
        return self.loss.rewards(outputs.T, *self._reward_units())

    def _reward_units(self) -> tuple[float, float]:
        units = self.state.rewards
        return float(units.mean[0]), units.spread(self.count)

    def is_bounded(self) -> bool:
        """Return True: training refuses weights that are not finite."""
        return True

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        schedule, state, memory = self.schedule, self.state, self.memory
        self.loss.check(y)
        count, units = self.count + 1, state.feature_units
        if self.rows is None:
            units = units.copy()
            _core.learn_sizes(units, x, count)
        place = reservoir_place(self.address, round, count, memory.capacity)
        steps, filled = self._steps(count), min(count, memory.capacity)
        places = drawn_places(self.address, round, steps, schedule.batch, filled)
        prior_outputs = self._additions.prior_outputs(x, state.features.sizes)
        self._additions.prepare(self.address, places, (place, round, x), units[0])
        if not self._train(NewObservation(x, y, round, place, prior_outputs, units, places)):
            expected = "a smaller one: the weights do not stay finite"
            raise NonFiniteError("rate", self.training.rate, expected)

    def _steps(self, count: int) -> int:
        """Return the number of minibatches: more in the first rounds, where they are small."""
        return max(self.schedule.steps, min(MOST, EARLY * self.schedule.batch // count))

    def _train(self, observation: NewObservation) -> bool:
        """Learn an observation, or return False and change nothing: a gradient is not finite."""
        assert isinstance(self.nets, Networks)
        shape, batch = self.nets.shape, observation.places.shape[1]
        if batch > self._workspace_batch:  # new megabytes each round would be cleared by the system
            self._workspace_batch = min(2 * batch, max(batch, self.schedule.batch))
            needed = _core.network_workspace(shape, len(self.weights), self._workspace_batch)
            self._workspace = np.empty(needed)
        given = self._anchor, self.state, self.memory, observation, self._workspace
        return _core.network_learn(shape, self.training, *given)

    @property
    def calibration(self) -> Calibration | None:
        """sigma, and the spread of the rewards as tau."""
        if not self.training.learns_scale:
            return None
        spread = self.state.rewards.spread(self.count)
        sigma = self.sigma
        sizes = self.state.features.sizes.copy()
        return Calibration(sigma, spread, (sigma / spread) ** 2, None, self.count, sizes)

    def fault(self) -> str | None:
        """Return what no training leaves behind: indices out of range, squares below 0."""
        state, rounds, count = self.state, self.memory.rounds, self.count
        filled = min(count, self.memory.capacity)
        squares = [*self.weights[2:], *state.feature_units, *state.rewards[1:]]
        if any((values < 0.0).any() for values in squares):
            return "sums of squares below 0"
        if (rounds[:filled] < 0).any() or (rounds[filled:] != EMPTY).any():
            return f"a memory that does not hold {filled} observations"
        _, trained, round, place = state.counts.tolist()
        steps = self.schedule.steps
        known = (round >= 0) == (count > 0) and EMPTY <= place < max(filled, 0)
        if not known or not count * steps <= trained <= count * max(steps, MOST):
            return "a newest observation, or minibatches, that cannot have been"
        return None

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        state, memory = self.state, self.memory
        parts: dict[str, NDArray[np.generic]] = {"parameters": self.weights}
        parts |= {f"features.{name}": values for name, values in state.features._asdict().items()}
        parts |= {f"rewards.{name}": values for name, values in state.rewards._asdict().items()}
        parts |= {"observed": state.counts[:1], "trained": state.counts[1:2]}
        parts |= {"newest": state.newest, "kept": state.counts[2:]}
        if self.nets.keeps_draws:
            parts |= {"anchor": self.anchor} | ({} if self.prior is None else {"prior": self.prior})
        parts |= {"memory.features": memory.features, "memory.rewards": memory.rewards}
        return parts | {"memory.rounds": memory.rounds}
