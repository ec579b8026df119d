"""Algorithm 1 with networks: every member trained on its own perturbed rewards, all of them together."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.errors import NonFiniteError, PropensityError
from ensample.models.base import Model
from ensample.models.loss import Loss
from ensample.models.networks import Nets, Networks
from ensample.models.replay import EMPTY, MemberAdditions, drawn_places, new_memory, reservoir_place
from ensample.models.units import FeatureUnits, RewardUnits, in_units, typical_sizes
from ensample.perturbations import Perturbation
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

EARLY, MOST = (
    8,
    8,
)  # in the first rounds every place of the memory is drawn about EARLY times, in at most MOST minibatches


class Training(NamedTuple):
    """How the members are trained."""

    loss: Loss
    adam: bool  # or gradient descent
    rate: float
    batch: int
    steps: int
    memory: int
    prior: float  # the scale of the prior networks
    pull: float | None  # lam; None: sigma^2 in units of the rewards' spread
    boldness: (
        float | None
    )  # what multiplies sigma; None: perturbations are in the units of the rewards


class CoreTraining(NamedTuple):
    """`Training` as the core takes it."""

    loss: int
    rate: float
    prior: float
    learns_scale: bool
    scale: float
    learns_pull: bool
    pull: float


class Anchor(NamedTuple):
    """Weights that training pulls to, and how strongly: runs of equal strengths."""

    weights: FloatArray  # [n]
    ends: IntArray  # [r], the last being n
    strengths: FloatArray  # [r], where lam / n is 1


class NetworkState(NamedTuple):
    """Arrays that an observation changes, apart from the memory; properties are views of them."""

    weights: FloatArray  # [3, n] with the moments of Adam, or [1, n]
    numbers: (
        FloatArray  # [4 d + 4] units of features, the newest features and reward, units of rewards
    )
    counts: IntArray  # [4] observations and minibatches so far; round and place of the newest observation

    @property
    def features(self) -> FeatureUnits:
        return FeatureUnits(*self.feature_units)

    @property
    def feature_units(self) -> FloatArray:
        """Return `features` as one array: [3, d]."""
        d = self.numbers.size // 4 - 1
        return self.numbers[: 3 * d].reshape(3, d)

    @property
    def newest(self) -> FloatArray:
        """Return features and reward of the newest observation: [d + 1]."""
        d = self.numbers.size // 4 - 1
        return self.numbers[3 * d : 4 * d + 1]

    @property
    def rewards(self) -> RewardUnits:
        units = self.numbers[-3:]
        return RewardUnits(units[:1], units[1:2], units[2:])

    @property
    def observed(self) -> IntArray:
        return self.counts[:1]

    @property
    def trained(self) -> IntArray:
        return self.counts[1:2]

    @property
    def kept(self) -> IntArray:
        return self.counts[2:]


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
    """Member j minimises sum_i loss(f^j(x_i) + prior p^j(x_i), y_i + Z_i^j) + lam/2 |(w^j - W^j) / s|^2 by minibatches.

    W^j are its initial weights, drawn with standard deviations s, and p^j is a network that is never trained. Everything
    is in the units of `models.units`.
    """

    size: int
    whole: ClassVar[bool] = True
    nets: Nets

    def __init__(
        self,
        nets: Nets,
        training: Training,
        law: Perturbation,
        address: Address,
        rows: FloatArray | None,
    ) -> None:
        """`rows`: the standing arms, from which the units of features follow; None where there are none."""
        self.nets, self.training, self.address = nets, training, address
        self.size, self.standing, self.rows = nets.size, rows is not None, rows
        initial = nets.draw(address.generator(Stream.INITIAL, 0))
        weights = np.zeros((3 if training.adam else 1, nets.count))
        weights[0] = initial
        self.state = NetworkState(
            weights, np.zeros(4 * nets.dim + 4), np.array([0, 0, EMPTY, EMPTY])
        )
        if rows is not None:
            self.state.features.sizes[:] = typical_sizes(rows)
        strengths = 1.0 / np.square(nets.spreads())  # times lam / n, as the loss is a mean
        ends = np.append(np.flatnonzero(np.diff(strengths)) + 1, strengths.size)
        self._anchor = Anchor(initial, ends, strengths[ends - 1])
        self.prior = nets.draw(address.generator(Stream.INITIAL, 1)) if training.prior else None
        self.memory = new_memory(training.memory, nets.dim, nets.size, self.prior is not None)
        self._additions = MemberAdditions(nets, self.prior, law, address, self.memory)
        self._core_training = core_training(training)
        self._workspace, self._workspace_batch = np.empty(0), 0
        self._seen_rows: FloatArray | None = (
            None  # of the standing arms, and the outputs of prior networks for them
        )
        self._prior_rows: dict[int, FloatArray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_workspace": np.empty(0), "_workspace_batch": 0}

    @property
    def weights(self) -> FloatArray:
        return self.state.weights

    @property
    def anchor(self) -> FloatArray:
        """Return the initial weights W^j: [n]."""
        return self._anchor.weights

    @property
    def count(self) -> int:
        return int(self.state.counts[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise as the perturbations have it, where it is learned."""
        return self.state.rewards.sigma(self.count)

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        seen = self._seen(rows)
        outputs = self.nets.member(self.weights[0], member, seen)
        if self.prior is not None:
            outputs = outputs + self.training.prior * self._prior_scores(member, rows, seen)
        return self.training.loss.rewards(outputs, *self._reward_units())

    def _seen(self, rows: FloatArray) -> FloatArray:
        """Return rows as networks see them. Standing arms have fixed units and are kept."""
        if rows is not self.rows:
            return in_units(rows, self.state.features.sizes)
        if self._seen_rows is None:
            self._seen_rows = in_units(rows, self.state.features.sizes)
        return self._seen_rows

    def _prior_scores(self, member: int, rows: FloatArray, seen: FloatArray) -> FloatArray:
        """Return the outputs of a member's prior network, which for standing arms never change and are kept."""
        assert self.prior is not None
        if rows is not self.rows:
            return self.nets.member(self.prior, member, seen)
        if member not in self._prior_rows:
            self._prior_rows[member] = self.nets.member(self.prior, member, seen)
        return self._prior_rows[member]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        rows = offer.rows
        if rows is None:
            if isinstance(offer, ChangingArms):
                offer.offer()  # says that the features of the round are missing
            raise PropensityError(
                f"votes need finitely many arms, here {offer!r}; give the features of the round"
            )
        scores = self.all_scores(rows)
        return scores.argmax(axis=0), scores.max(axis=0)

    def all_scores(self, rows: FloatArray) -> FloatArray:
        """Return what every member expects of every row: [K, m]."""
        seen = self._seen(rows)
        outputs = self.nets.outputs(self.weights[0], seen)
        if self.prior is not None:
            outputs += self.training.prior * self.nets.outputs(self.prior, seen)
        return self.training.loss.rewards(outputs.T, *self._reward_units())

    def _reward_units(self) -> tuple[float, float]:
        units = self.state.rewards
        return float(units.mean[0]), units.spread(self.count)

    def is_bounded(self) -> bool:
        """Return True: training refuses weights that are not finite, and all else are sums and means of squares."""
        return True

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        training, state, memory = self.training, self.state, self.memory
        training.loss.check(y)
        count = self.count + 1
        units = state.feature_units
        if not self.standing:
            units = units.copy()
            _core.learn_sizes(units, x, count)
        place = reservoir_place(self.address, round, count, memory.capacity)
        steps, filled = self._steps(count), min(count, memory.capacity)
        places = drawn_places(self.address, round, steps, training.batch, filled)
        prior_outputs = self._additions.prior_outputs(x, state.features.sizes)
        self._additions.prepare(places, (place, round, x), units[0])
        if not self._train(NewObservation(x, y, round, place, prior_outputs, units, places)):
            raise NonFiniteError(
                "rate", training.rate, "a smaller one: the weights do not stay finite"
            )

    def _steps(self, count: int) -> int:
        """Return the number of minibatches.

        There are more in the first rounds, where they are small and all is new.
        """
        training = self.training
        return max(training.steps, min(MOST, EARLY * training.batch // count))

    def _train(self, observation: NewObservation) -> bool:
        """Learn an observation, or return False and change nothing because a gradient is not finite."""
        assert isinstance(self.nets, Networks)
        shape, batch = self.nets.shape, observation.places.shape[1]
        if batch > self._workspace_batch:  # new megabytes each round would be cleared by the system
            self._workspace_batch = min(2 * batch, max(batch, self.training.batch))
            self._workspace = np.empty(
                _core.network_workspace(shape, len(self.weights), self._workspace_batch)
            )
        arrays = self._anchor, self.state, self.memory
        return _core.network_learn(
            shape, self._core_training, *arrays, observation, self._workspace
        )

    @property
    def calibration(self) -> Calibration | None:
        """sigma, and the spread of the rewards as tau; what corresponds to an effective number of parameters is not known."""
        if self.training.boldness is None:
            return None
        spread, sigma = self.state.rewards.spread(self.count), self.sigma
        return Calibration(
            sigma, spread, (sigma / spread) ** 2, None, self.count, self.state.features.sizes.copy()
        )

    def fault(self) -> str | None:
        """Return what no training leaves behind.

        Squares below 0, places in memory not filled in order, or filled twice.
        """
        state, rounds = self.state, self.memory.rounds
        filled = min(self.count, self.memory.capacity)
        squares = (
            *self.weights[2:],
            state.features.sizes,
            state.features.squares,
            state.features.seen,
        )
        squares = (*squares, state.rewards.deviations, state.rewards.misses)
        if any((values < 0.0).any() for values in squares):
            return "sums of squares below 0"
        if (
            (rounds[:filled] < 0).any()
            or (rounds[filled:] != EMPTY).any()
            or len(set(rounds[:filled].tolist())) != filled
        ):
            return f"a memory that does not hold {filled} observations, each once"
        round, place = state.kept.tolist()
        known = (round >= 0) == (self.count > 0) and EMPTY <= place < max(filled, 0)
        steps, trained = self.training.steps, int(state.trained[0])
        if not known or not self.count * steps <= trained <= self.count * max(steps, MOST):
            return "a newest observation, or minibatches, that cannot have been"
        if place != EMPTY:
            there = (*self.memory.features[place], self.memory.rewards[place], float(rounds[place]))
            if not np.array_equal(there, (*state.newest, float(round))):
                return "a newest observation that is not where it was kept"
        return None

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        state, memory = self.state, self.memory
        parts: dict[str, NDArray[np.generic]] = {"parameters": self.weights}
        parts |= {f"features.{name}": values for name, values in state.features._asdict().items()}
        parts |= {f"rewards.{name}": values for name, values in state.rewards._asdict().items()}
        parts |= {
            "observed": state.observed,
            "trained": state.trained,
            "newest": state.newest,
            "kept": state.kept,
        }
        if self.nets.keeps_draws:
            parts |= {"anchor": self.anchor} | ({} if self.prior is None else {"prior": self.prior})
        parts |= {"memory.features": memory.features, "memory.rewards": memory.rewards}
        return parts | {"memory.rounds": memory.rounds}


def core_training(training: Training) -> CoreTraining:
    """Return `training` as the core takes it: a flag instead of None where a number is learned."""
    scale, pull = training.boldness, training.pull
    return CoreTraining(
        training.loss.code,
        training.rate,
        training.prior,
        scale is not None,
        1.0 if scale is None else scale,
        pull is None,
        0.0 if pull is None else pull,
    )
