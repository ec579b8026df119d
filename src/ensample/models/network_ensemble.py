"""Algorithm 1 with networks: every member trained on its own perturbed rewards, all of them together.

An update is worked out beside the state it starts from and takes its place in one assignment: whatever comes before that, an
error or Ctrl-C, has changed nothing. Then `settle` keeps the newest observation in memory.
"""

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.errors import InvalidArgument, PropensityError
from ensample.kernels.networks import Pull, adam, sgd
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


class NetworkState(NamedTuple):
    """What an observation changes, but for its place in memory."""

    weights: FloatArray  # [3, n] with the optimiser's two moments, or [1, n]
    features: FeatureUnits
    rewards: RewardUnits
    observed: IntArray  # [1]
    trained: IntArray  # [1] minibatches so far
    newest: FloatArray  # [d + 1] features and reward of the newest observation
    kept: IntArray  # [2] its round, and its place in memory


class Minibatch(NamedTuple):
    """Observations to learn from."""

    seen: FloatArray  # [1 + B, d] as networks see them, after the newest one
    rewards: FloatArray  # [B]
    z: FloatArray  # [B, m] perturbations
    prior: FloatArray | None  # [B, m] what prior networks say


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
        self.anchor = nets.draw(address.generator(Stream.INITIAL, 0))
        self._variances = runs(np.square(nets.spreads()))
        prior = nets.draw(address.generator(Stream.INITIAL, 1)) if training.prior else None
        self.recall = Recall(nets, prior, law, address, training.memory)
        self.memory: Memory = new_memory(training.memory, nets.dim)
        weights = np.zeros((3 if training.adam else 1, nets.count))
        weights[0] = self.anchor
        self._spare = np.zeros_like(weights), weights
        self._room = nets.room()
        self._seen_rows: FloatArray | None = None  # of the standing arms, and what prior networks say of them, as it is asked
        self._prior_rows: dict[int, FloatArray] = {}
        self.state = NetworkState(
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
        seen = self._seen(rows)
        outputs = self.nets.member(self.state.weights[0], member, seen)
        if self.recall.prior is not None:
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
        assert self.recall.prior is not None
        if rows is not self.rows:
            return self.nets.member(self.recall.prior, member, seen)
        if member not in self._prior_rows:
            self._prior_rows[member] = self.nets.member(self.recall.prior, member, seen)
        return self._prior_rows[member]

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
        seen = self._seen(rows)
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
        steps = self._steps(count)
        after = NetworkState(
            self._spare[self._spare[0] is before.weights],
            before.features.after(x, count, self.standing),
            before.rewards,  # until it is known by how much they were missed
            np.array([count]),
            before.trained + steps,
            np.append(x, y),
            np.array([round, reservoir_place(self.address, round, count, self.memory.capacity)]),
        )
        self.state = self._trained(before, after)

    def _steps(self, count: int) -> int:
        """More minibatches in the first rounds, where they are small and all is new."""
        training = self.training
        return max(training.steps, min(MOST, EARLY * training.batch // count))

    def _trained(self, before: NetworkState, after: NetworkState) -> NetworkState:
        """The state after the round's minibatches, whose weights go from one array to the other.

        The newest observation comes before each of them, in its first pass to tell what members expected of it: it is taught
        there only if it was drawn.
        """
        training, count, round = self.training, int(after.observed[0]), int(after.kept[0])
        steps, filled = int(after.trained[0] - before.trained[0]), min(count, self.memory.capacity)
        old, descend = before.weights, adam if training.adam else sgd
        with np.errstate(all="ignore"):  # what diverges is refused below
            for step, places in enumerate(drawn_places(self.address, round, steps, training.batch, filled), 1):
                batch = self._minibatch(places, before, after)
                tape, outputs = self.nets.forward(old[0], batch.seen, self._room)
                if step == 1:
                    after = after._replace(rewards=self._missed(before, after, batch.seen[0], outputs[0]))
                delta = self._delta(outputs, batch, after)
                gradient = self.nets.gradient(old[0], batch.seen, tape, delta, self._room)
                number = int(before.trained[0]) + step
                descend(old, after.weights, gradient, self.anchor, self._pull(after), training.rate, number)
                old = after.weights
        if not np.isfinite(after.weights[0].sum()):
            raise InvalidArgument("rate", training.rate, "a smaller one: the weights do not stay finite")
        return after

    def _minibatch(self, places: IntArray, before: NetworkState, after: NetworkState) -> Minibatch:
        """What is in these places of the memory once the newest observation is, which also comes first."""
        memory, sizes = self.memory, after.features.sizes
        rows, rewards, rounds = memory.features[places], memory.rewards[places], memory.rounds[places]
        fresh = places == after.kept[1]
        rows[fresh], rewards[fresh], rounds[fresh] = after.newest[:-1], after.newest[-1], after.kept[0]
        seen = in_units(rows, sizes)
        newest = in_units(after.newest[None, :-1], before.features.sizes)
        return Minibatch(np.concatenate([newest, seen]), rewards, *self.recall.rows(places, rounds, seen, sizes))

    def _missed(self, before: NetworkState, after: NetworkState, seen: FloatArray, outputs: FloatArray) -> RewardUnits:
        """Units of the rewards after the newest, of which members gave these outputs [m] before they learned it."""
        count, y = int(after.observed[0]), float(after.newest[-1])
        if self.recall.prior is not None:
            outputs = outputs + self.training.prior * self.recall.outputs(seen)
        units = before.rewards
        expected = self.training.loss.rewards(outputs, float(units.mean[0]), units.spread(count - 1))
        return units.after(y, count, y - float(expected.mean()))

    def _delta(self, outputs: FloatArray, batch: Minibatch, after: NetworkState) -> FloatArray:
        """The derivative of the minibatch's mean loss by outputs [1 + B, m]: 0 for the newest, which only came to be seen."""
        training, units, count = self.training, after.rewards, int(after.observed[0])
        given, spread = outputs[1:], units.spread(count)
        if batch.prior is not None:
            given = given + training.prior * batch.prior
        scale = training.loss.scale(spread, units.sigma(count), training.boldness)
        standard = (batch.rewards - units.mean[0]) / spread
        delta = np.zeros_like(outputs)
        delta[1:] = training.loss.slope(given, standard, batch.rewards, scale, batch.z) / len(given)
        return delta

    def _pull(self, after: NetworkState) -> Pull:
        """To the initial weights, in a loss that is a mean: lam / n times the inverse of their variances."""
        count, given = int(after.observed[0]), self.training.pull
        lam = self.training.loss.pull(after.rewards.spread(count), after.rewards.sigma(count)) if given is None else given
        return Pull(self._variances.ends, (lam / count) / self._variances.strengths)

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
        return Calibration(sigma, spread, (sigma / spread) ** 2, None, self.count, self.state.features.sizes.copy())

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
        if self.nets.keeps_draws:
            parts |= {"anchor": self.anchor} | ({} if self.recall.prior is None else {"prior": self.recall.prior})
        return parts | {f"memory.{name}": values for name, values in memory._asdict().items()}


def first_equal(rows: FloatArray, x: FloatArray) -> int:
    """The lowest index of a row: products of matrices may give equal rows scores that differ in their last digit."""
    return int(np.argmax((rows == x).all(axis=1)))


def runs(values: FloatArray) -> Pull:
    """Equal neighbours [n] as one."""
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, values.size)
    return Pull(ends, values[ends - 1])
