"""Algorithm 1 with networks: every member trained on its own perturbed rewards, all of them together.

An update is worked out beside the state it starts from and takes its place in one assignment: whatever comes before that, an
error or Ctrl-C, has changed nothing. Then `settle` keeps the newest observation in memory.
"""

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.errors import InvalidArgument, PropensityError
from ensample.kernels.networks import adam, sgd
from ensample.models.loss import Loss
from ensample.models.model import Model
from ensample.models.nets import Nets
from ensample.models.recall import Recall
from ensample.models.replay import EMPTY, Memory, drawn_places, new_memory, reservoir_place
from ensample.models.units import FeatureUnits, RewardUnits, in_units, new_feature_units, new_reward_units
from ensample.perturbations import Perturbation
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

__all__ = ["NetworkEnsemble", "Training"]

EARLY, MOST = 8, 8  # in the first rounds every place of the memory is drawn about EARLY times, in at most MOST minibatches


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
    boldness: float | None  # what multiplies sigma; None: perturbations are in the units of the rewards


class State(NamedTuple):
    """What an observation changes, but for its place in memory."""

    weights: FloatArray  # [3, n] with the optimiser's two moments, or [1, n]
    features: FeatureUnits
    rewards: RewardUnits
    observed: IntArray  # [1]
    trained: IntArray  # [1] minibatches so far
    newest: FloatArray  # [d + 1] features and reward of the newest observation
    kept: IntArray  # [2] its round, and its place in memory


class NetworkEnsemble(Model):
    """Member j minimises sum_i loss(f^j(x_i) + prior p^j(x_i), y_i + Z_i^j) + lam |(w^j - W^j) / s|^2, one minibatch at a time.

    W^j are its initial weights, drawn with standard deviations s, and p^j is a network that is never trained. Everything
    is in the units of `models.units`.
    """

    size: int
    whole: ClassVar[bool] = True

    def __init__(self, nets: Nets, training: Training, law: Perturbation, address: Address, rows: FloatArray | None) -> None:
        """`rows`: the standing arms, from which the units of features follow; None where there are none."""
        self.nets, self.training, self.address = nets, training, address
        self.size, self.standing = nets.size, rows is not None
        self.anchor = nets.draw(address.generator(Stream.INITIAL, 0))
        self.pulls = 1.0 / np.square(nets.spreads())
        prior = nets.draw(address.generator(Stream.INITIAL, 1)) if training.prior else None
        self.recall = Recall(nets, prior, law, address, training.memory)
        self.memory: Memory = new_memory(training.memory, nets.dim)
        weights = np.zeros((3 if training.adam else 1, nets.count))
        weights[0] = self.anchor
        self._spare = np.empty_like(weights), weights
        self.state = State(
            weights,
            new_feature_units(rows, nets.dim),
            new_reward_units(),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(nets.dim + 1),
            np.full(2, EMPTY, np.int64),
        )

    @property
    def count(self) -> int:
        return int(self.state.observed[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise as the perturbations have it, where it is learned."""
        return self.state.rewards.sigma(self.count)

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        seen = in_units(rows, self.state.features.sizes)
        outputs = self.nets.member(self.state.weights[0], member, seen)
        if self.recall.prior is not None:
            outputs = outputs + self.training.prior * self.nets.member(self.recall.prior, member, seen)
        return self.training.loss.rewards(outputs, *self._reward_units())

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        _, x = super().best(member, offer)
        assert offer.rows is not None
        return first_equal(offer.rows, x), x

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        rows = offer.rows
        if rows is None:
            if isinstance(offer, ChangingArms):
                offer.offer()  # says that the features of the round are missing
            raise PropensityError(f"votes need finitely many arms, here {offer!r}; give the features of the round")
        scores = self.all_scores(rows)
        chosen = scores.argmax(axis=0)
        first = {int(arm): first_equal(rows, rows[arm]) for arm in np.unique(chosen)}
        return np.array([first[int(arm)] for arm in chosen], np.int64), scores.max(axis=0)

    def all_scores(self, rows: FloatArray) -> FloatArray:
        """What every member expects of every row: [K, m]."""
        seen = in_units(rows, self.state.features.sizes)
        outputs = self.nets.outputs(self.state.weights[0], seen)
        if self.recall.prior is not None:
            outputs += self.training.prior * self.nets.outputs(self.recall.prior, seen)
        return self.training.loss.rewards(outputs, *self._reward_units())

    def _reward_units(self) -> tuple[float, float]:
        units = self.state.rewards
        return float(units.mean[0]), units.spread(self.count)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.training.loss.check(y)
        before, count = self.state, self.count + 1
        features = before.features.after(x, count, self.standing)
        rewards = before.rewards.after(y, count, y - float(self.all_scores(x[None]).mean()))
        place = reservoir_place(self.address, round, count, self.memory.capacity)
        steps = self._steps(count)
        after = State(
            self._spare[self._spare[0] is before.weights],
            features,
            rewards,
            np.array([count]),
            before.trained + steps,
            np.append(x, y),
            np.array([round, place]),
        )
        self._train(before, after, steps)
        self.state = after

    def _steps(self, count: int) -> int:
        """More minibatches in the first rounds, where they are small and all is new."""
        training = self.training
        return max(training.steps, min(MOST, EARLY * training.batch // count))

    def _train(self, before: State, after: State, steps: int) -> None:
        """The round's minibatches, from the weights of one state to those of the other."""
        training, count, round = self.training, int(after.observed[0]), int(after.kept[0])
        filled = min(count, self.memory.capacity)
        spread, sigma = after.rewards.spread(count), after.rewards.sigma(count)
        scale = training.loss.scale(spread, sigma, training.boldness)
        lam = training.loss.pull(spread, sigma) if training.pull is None else training.pull
        pulls = self.pulls * (lam / count)
        old, descend = before.weights, adam if training.adam else sgd
        with np.errstate(all="ignore"):  # what diverges is refused below
            for step, places in enumerate(drawn_places(self.address, round, steps, training.batch, filled)):
                gradient = self._gradient(old[0], after, places, spread, scale)
                number = int(before.trained[0]) + step + 1
                descend(old, after.weights, gradient, self.anchor, pulls, training.rate, number)
                old = after.weights
        if not np.isfinite(after.weights[0].sum()):
            raise InvalidArgument("rate", training.rate, "a smaller one: the weights do not stay finite")

    def _gradient(self, weights: FloatArray, after: State, places: IntArray, spread: float, scale: float) -> FloatArray:
        """Of the mean loss of a minibatch."""
        training, memory = self.training, self.memory
        x, y = after.newest[:-1], float(after.newest[-1])
        rows, rewards, rounds = memory.features[places], memory.rewards[places], memory.rounds[places]
        fresh = places == after.kept[1]
        rows[fresh], rewards[fresh], rounds[fresh] = x, y, after.kept[0]
        seen = in_units(rows, after.features.sizes)
        z, prior = self.recall.rows(places, rounds, seen, after.features.sizes)
        tape, outputs = self.nets.forward(weights, seen)
        if prior is not None:
            outputs += training.prior * prior
        standard = (rewards - after.rewards.mean[0]) / spread
        delta = training.loss.slope(outputs, standard, rewards, scale, z)
        return self.nets.gradient(weights, seen, tape, delta / len(places))

    def settle(self) -> None:
        round, place = self.state.kept.tolist()
        if place != EMPTY:
            self.memory.keep(place, self.state.newest[:-1], float(self.state.newest[-1]), round)

    @property
    def calibration(self) -> Calibration | None:
        """sigma, and the spread of the rewards as tau; what corresponds to an effective number of parameters is not known."""
        if self.training.boldness is None:
            return None
        spread, sigma = self.state.rewards.spread(self.count), self.sigma
        return Calibration(sigma, spread, (sigma / spread) ** 2, math.nan, self.count, self.state.features.sizes.copy())

    def fault(self) -> str | None:
        """What no training leaves behind: squares below 0, places in memory that are not filled in order, or filled twice."""
        state, rounds = self.state, self.memory.rounds
        filled = min(self.count, self.memory.capacity)
        squares = (*state.weights[2:], state.features.sizes, state.features.squares, state.features.seen)
        squares = (*squares, state.rewards.deviations, state.rewards.misses)
        if any((values < 0.0).any() for values in squares):
            return "sums of squares below 0"
        if (rounds[:filled] < 0).any() or (rounds[filled:] != EMPTY).any() or len(set(rounds[:filled].tolist())) != filled:
            return f"a memory that does not hold {filled} observations, each once"
        round, place = state.kept.tolist()
        known = (round >= 0) == (self.count > 0) and EMPTY <= place < max(filled, 0)
        if not known or int(state.trained[0]) < self.count * self.training.steps:
            return "a newest observation, or minibatches, that cannot have been"
        if place != EMPTY:
            there = (*self.memory.features[place], self.memory.rewards[place], float(rounds[place]))
            if not np.array_equal(there, (*state.newest, float(round))):
                return "a newest observation that is not where it was kept"
        return None

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        state, memory = self.state, self.memory
        parts: dict[str, NDArray[np.generic]] = {"weights": state.weights}
        parts |= {f"features.{name}": values for name, values in state.features._asdict().items()}
        parts |= {f"rewards.{name}": values for name, values in state.rewards._asdict().items()}
        parts |= {"observed": state.observed, "trained": state.trained, "newest": state.newest, "kept": state.kept}
        return parts | {f"memory.{name}": values for name, values in memory._asdict().items()}


def first_equal(rows: FloatArray, x: FloatArray) -> int:
    """The lowest index of a row: products of matrices may give equal rows scores that differ in their last digit."""
    return int(np.argmax((rows == x).all(axis=1)))
