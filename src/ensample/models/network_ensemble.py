"""Algorithm 1 with networks: every member trained on its own perturbed rewards, all of them together.

An update is worked out beside the state it starts from, and the last step downhill takes its place in one call of a kernel,
with the book and the memory: whatever comes before that, an error or Ctrl-C, has changed nothing.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.errors import NonFiniteError, PropensityError
from ensample.kernels.books import OBSERVED, ROUND, TRAINED, Book, feature_sizes, new_book, newest, reward_units
from ensample.kernels.descent import Moving, Pull
from ensample.kernels.minibatches import Aim, Held, Lesson, Minibatch, first_equal
from ensample.kernels.training import REFUSED
from ensample.models.additions import Additions
from ensample.models.loss import Loss
from ensample.models.model import Model
from ensample.models.nets import Nets
from ensample.models.replay import EMPTY, Memory, drawn_places, new_memory, reservoir_place
from ensample.models.units import FeatureUnits, RewardUnits, in_units, new_feature_units
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


MADE = ("_after", "_batch", "_current", "_lesson", "_moving", "anchor", "state", "weights")  # by `_look`


class NetworkState(NamedTuple):
    """What an observation changes besides weights, but for its place in memory: views of a book."""

    book: Book
    features: FeatureUnits
    rewards: RewardUnits
    observed: IntArray  # [1]
    trained: IntArray  # [1] minibatches so far
    newest: FloatArray  # [d + 1] features and reward of the newest observation
    kept: IntArray  # [2] its round, and its place in memory


def state_of(book: Book) -> NetworkState:
    """Its parts, which change with it."""
    numbers, counts, d = book.numbers, book.counts, book.numbers.size // 4 - 1
    features = FeatureUnits(feature_sizes(book), numbers[d : 2 * d], numbers[2 * d : 3 * d])
    rewards = RewardUnits(*np.split(reward_units(book), 3))
    return NetworkState(book, features, rewards, counts[OBSERVED:TRAINED], counts[TRAINED:ROUND], newest(book), counts[ROUND:])


class NetworkEnsemble(Model):
    """Member j minimises sum_i loss(f^j(x_i) + prior p^j(x_i), y_i + Z_i^j) + lam/2 |(w^j - W^j) / s|^2 by minibatches.

    W^j are its initial weights, drawn with standard deviations s, and p^j is a network that is never trained. Everything
    is in the units of `models.units`.
    """

    size: int
    whole: ClassVar[bool] = True

    def __init__(self, nets: Nets, training: Training, law: Perturbation, address: Address, rows: FloatArray | None) -> None:
        """`rows`: the standing arms, from which the units of features follow; None where there are none."""
        self.nets, self.training, self.address = nets, training, address
        self.size, self.standing, self.rows = nets.size, rows is not None, rows
        self._numbers = np.zeros((4 if training.adam else 2, nets.count))  # together: large arrays are backed by large pages
        self._numbers[:2] = nets.draw(address.generator(Stream.INITIAL, 0))
        self._pull = runs(1.0 / np.square(nets.spreads()))  # lam / n times the inverse of the variances, as the loss is a mean
        prior = nets.draw(address.generator(Stream.INITIAL, 1)) if training.prior else None
        self.additions = Additions(nets, prior, law, address, training.memory)
        self.memory: Memory = new_memory(training.memory, nets.dim)
        given = (math.nan if value is None else value for value in (training.boldness, training.pull))
        self.aim = Aim(training.loss.code, training.prior, *given)
        self._room = nets.room()
        self._seen_rows: FloatArray | None = None  # of the standing arms, and what prior networks say of them, as it is asked
        self._prior_rows: dict[int, FloatArray] = {}
        self._firsts: dict[int, int] = {}  # of standing arms that were best the first that is equal
        self._book = new_book(nets.dim)
        self._look()
        self.state.features.sizes[:] = new_feature_units(rows, nets.dim).sizes
        self.state.kept[:] = EMPTY

    def _look(self) -> None:
        self.anchor, self.weights = self._numbers[0], self._numbers[1:]  # [n]; [3, n] with the optimiser's moments, or [1, n]
        self._current = self.weights[0]
        self._moving = Moving(self.weights, self.weights[:0], self.anchor, self._pull)
        self.state, self._after = state_of(self._book), state_of(new_book(self.nets.dim))  # as it is, and is about to be
        self._batch = new_minibatch(0, self.nets.dim)
        held = Held(*self.memory, self.additions.known, self.additions.z, self.additions.told)
        told = np.zeros(self.additions.told.shape[1])
        self._lesson = Lesson(self.aim, held, told, self.state.book, self._after.book)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in MADE}  # copies would be no views

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._look()

    @property
    def count(self) -> int:
        return int(self.state.observed[0])

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise as the perturbations have it, where it is learned."""
        return self.state.rewards.sigma(self.count)

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        seen = self._seen(rows)
        outputs = self.nets.member(self._current, member, seen)
        if self.additions.prior is not None:
            outputs = outputs + self.training.prior * self._prior_scores(member, rows, seen)
        return self.training.loss.rewards(outputs, *self._reward_units())

    def _seen(self, rows: FloatArray) -> FloatArray:
        """Rows as networks see them. Standing arms have fixed units and are kept."""
        if rows is not self.rows:
            return in_units(rows, self.state.features.sizes)
        if self._seen_rows is None:
            self._seen_rows = in_units(rows, self.state.features.sizes)
        return self._seen_rows

    def _prior_scores(self, member: int, rows: FloatArray, seen: FloatArray) -> FloatArray:
        """What a member's prior network says; of standing arms it says the same for ever, and that is kept."""
        assert self.additions.prior is not None
        if rows is not self.rows:
            return self.nets.member(self.additions.prior, member, seen)
        if member not in self._prior_rows:
            self._prior_rows[member] = self.nets.member(self.additions.prior, member, seen)
        return self._prior_rows[member]

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        arm, x = super().best(member, offer)
        assert offer.rows is not None and arm is not None
        if offer.rows is not self.rows:
            return first_equal(offer.rows, x), x
        if arm not in self._firsts:
            self._firsts[arm] = first_equal(self.rows, x)
        return self._firsts[arm], x

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
        seen = self._seen(rows)
        outputs = self.nets.outputs(self._current, seen)
        if self.additions.prior is not None:
            outputs += self.training.prior * self.nets.outputs(self.additions.prior, seen)
        return self.training.loss.rewards(outputs.T, *self._reward_units())

    def _reward_units(self) -> tuple[float, float]:
        units = self.state.rewards
        return float(units.mean[0]), units.spread(self.count)

    def is_bounded(self) -> bool:
        """Return True: training refuses weights that are not finite, and all else are sums and means of squares."""
        return True

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.training.loss.check(y)
        before, after, count = self.state, self._after, self.count + 1
        after.book.numbers[:] = before.book.numbers
        if not self.standing:
            after.features.learn(x, count)
        after.observed[0], after.trained[0] = count, before.trained[0] + self._steps(count)
        after.newest[:-1], after.newest[-1] = x, y
        place = reservoir_place(self.address, round, count, self.memory.capacity)
        after.kept[:] = round, place
        self.additions.begin(before.features.sizes, after.features.sizes, x, self._lesson.told)
        if place != EMPTY:
            self._add(place)
        self._train(round, count)

    def _steps(self, count: int) -> int:
        """More minibatches in the first rounds, where they are small and all is new."""
        training = self.training
        return max(training.steps, min(MOST, EARLY * training.batch // count))

    def _train(self, round: int, count: int) -> None:
        """The round's minibatches: all but the last on a copy of the weights, and that one is what changes the state.

        The newest observation comes before each of them, in its first pass to tell what members expected of it: it is taught
        there only if it was drawn.
        """
        training, first, last = self.training, int(self.state.trained[0]) + 1, int(self._after.trained[0])
        drawn = drawn_places(self.address, round, last - first + 1, training.batch, min(count, self.memory.capacity))
        aside, moving = self._moving, self._moving
        if first < last:
            begun = self.weights.copy()
            aside, moving = moving._replace(weights=begun), moving._replace(begun=begun)
        for number, places in enumerate(drawn, first):
            self._step(places, moving if number == last else aside, number)

    def _step(self, places: IntArray, moving: Moving, number: int) -> None:
        """One minibatch."""
        if places.size != self._batch.rewards.size:
            self._batch = new_minibatch(places.size, self.nets.dim)
        batch, rate = Minibatch(places, *self._batch[1:]), self.training.rate
        while (answer := self.nets.step(self._lesson, batch, moving, rate, number, self._room)) >= 0:
            self._add(answer)
        if answer == REFUSED:
            raise NonFiniteError("rate", rate, "a smaller one: the weights do not stay finite")

    def _add(self, place: int) -> None:
        """What members add to what is in a place of the memory once the newest observation is."""
        if place == self._after.kept[1]:
            x, round = self._after.newest[:-1], int(self._after.kept[0])
        else:
            x, round = self.memory.features[place], int(self.memory.rounds[place])
        self.additions.compute(place, round, x, self._after.features.sizes)

    @property
    def calibration(self) -> Calibration | None:
        """sigma, and the spread of the rewards as tau; what corresponds to an effective number of parameters is not known."""
        if self.training.boldness is None:
            return None
        spread, sigma = self.state.rewards.spread(self.count), self.sigma
        return Calibration(sigma, spread, (sigma / spread) ** 2, None, self.count, self.state.features.sizes.copy())

    def fault(self) -> str | None:
        """What no training leaves behind: squares below 0, places in memory that are not filled in order, or filled twice."""
        state, rounds = self.state, self.memory.rounds
        filled = min(self.count, self.memory.capacity)
        squares = (*self.weights[2:], state.features.sizes, state.features.squares, state.features.seen)
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
        parts: dict[str, NDArray[np.generic]] = {"parameters": self.weights}
        parts |= {f"features.{name}": values for name, values in state.features._asdict().items()}
        parts |= {f"rewards.{name}": values for name, values in state.rewards._asdict().items()}
        parts |= {"observed": state.observed, "trained": state.trained, "newest": state.newest, "kept": state.kept}
        if self.nets.keeps_draws:
            parts |= {"anchor": self.anchor} | ({} if self.additions.prior is None else {"prior": self.additions.prior})
        return parts | {f"memory.{name}": values for name, values in memory._asdict().items()}


def new_minibatch(size: int, dim: int) -> Minibatch:
    """Room for so many observations."""
    return Minibatch(np.zeros(size, np.int64), np.zeros((1 + size, dim)), np.zeros(size), np.zeros(1 + size, np.int64))


def runs(values: FloatArray) -> Pull:
    """Equal neighbours [n] as one."""
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, values.size)
    return Pull(ends, values[ends - 1])
