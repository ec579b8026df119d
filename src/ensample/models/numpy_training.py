"""Training in NumPy of networks that the core cannot train, such as modules of torch.

The steps are the same.
"""

import math
from typing import ClassVar

import numpy as np

from ensample.arms import Offer
from ensample.models.loss import SquaredLoss
from ensample.models.network_ensemble import NetworkEnsemble, NewObservation
from ensample.models.units import RewardUnits, in_units
from ensample.types import FloatArray, IntArray

LARGEST_GRADIENT = 1e150  # beyond it squares may not be finite
TINY = 1e-8  # keeps Adam's quotient finite where a weight has no gradient


class NumpyTrainedEnsemble(NetworkEnsemble):
    """Ensemble of any `Nets`, trained in NumPy."""

    whole: ClassVar[bool] = False

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        _, x = super().best(member, offer)
        assert offer.rows is not None
        return first_equal(offer.rows, x), x

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        chosen, promised = super().votes(offer)
        assert offer.rows is not None
        return np.array(
            [first_equal(offer.rows, offer.rows[arm]) for arm in chosen.tolist()], np.int64
        ), promised

    def _train(self, observation: NewObservation) -> bool:
        state, count = self.state, self.count + 1
        weights, units = state.weights.copy(), state.rewards
        newest = in_units(observation.x[None], state.features.sizes)
        for step, places in enumerate(observation.places):
            drawn, y = self._drawn(observation, places)
            rows, which = np.unique(np.concatenate([newest, drawn]), axis=0, return_inverse=True)
            first, others = which.ravel()[0], which.ravel()[1:]
            outputs, gradient_of = self.nets.differentiate(weights[0], rows)
            if step == 0:
                expected = self._with_prior(outputs[:, first], observation.prior_outputs)
                mean, spread = float(units.mean[0]), units.spread(count - 1)
                miss = observation.y - float(
                    self.training.loss.rewards(expected, mean, spread).mean()
                )
                units = units.after(observation.y, count, miss)
            combined = self._with_prior(outputs[:, others], self.memory.prior_outputs[places].T)
            slopes = np.zeros(outputs.shape)
            np.add.at(
                slopes.T,
                others,
                self._slopes(combined, y, self.memory.perturbations[places].T, units, count).T,
            )
            gradient = np.asarray(gradient_of(slopes), np.float64)
            if not (np.abs(gradient) < LARGEST_GRADIENT).all():
                return False
            self._descend(weights, gradient, units, count, int(state.trained[0]) + step + 1)
        self._commit(observation, weights, units)
        return True

    def _drawn(
        self, observation: NewObservation, places: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return features in units and rewards of a minibatch, the newest observation taken to be in its place."""
        is_newest = places == observation.place
        features = np.where(is_newest[:, None], observation.x, self.memory.features[places])
        return in_units(features, observation.feature_units[0]), np.where(
            is_newest, observation.y, self.memory.rewards[places]
        )

    def _with_prior(self, outputs: FloatArray, prior_outputs: FloatArray) -> FloatArray:
        """Return the outputs of members [m, ...] plus those of their prior networks, scaled."""
        return outputs if self.prior is None else outputs + self.training.prior * prior_outputs

    def _slopes(
        self, outputs: FloatArray, y: FloatArray, z: FloatArray, units: RewardUnits, count: int
    ) -> FloatArray:
        """Return the derivatives of the mean loss by outputs.

        They are [m, B], as outputs and perturbations z are.
        """
        training, spread = self.training, units.spread(count)
        scale = 1.0 if training.boldness is None else training.boldness
        if isinstance(training.loss, SquaredLoss):
            sigma = 1.0 if training.boldness is None else units.sigma(count)
            return (outputs - (y - units.mean) / spread - scale * sigma / spread * z) / y.size
        mean = training.loss.rewards(outputs.mean(axis=0), 0.0, 1.0)
        noise = scale * np.sqrt(mean * (1.0 - mean))
        return (training.loss.rewards(outputs, 0.0, 1.0) - y - noise * z) / y.size

    def _descend(
        self, weights: FloatArray, gradient: FloatArray, units: RewardUnits, count: int, number: int
    ) -> None:
        """Take step `number` of Adam or gradient descent, in place."""
        training, anchor = self.training, self._anchor
        pull = training.pull
        if pull is None:
            pull = (
                (units.sigma(count) / units.spread(count)) ** 2
                if isinstance(training.loss, SquaredLoss)
                else 1.0
            )
        strengths = pull / count * np.repeat(anchor.strengths, np.diff(anchor.ends, prepend=0))
        g = gradient + strengths * (weights[0] - anchor.weights)
        if not training.adam:
            weights[0] -= training.rate * g
            return
        root = math.sqrt(1.0 - 0.999**number)
        weights[1] = 0.1 * g + 0.9 * weights[1]
        weights[2] = 0.001 * g**2 + 0.999 * weights[2]
        weights[0] -= (
            training.rate
            * root
            / (1.0 - 0.9**number)
            * weights[1]
            / (np.sqrt(weights[2]) + TINY * root)
        )

    def _commit(self, observation: NewObservation, weights: FloatArray, units: RewardUnits) -> None:
        """Write the new state. The number of observations changes last, as `Model` asks."""
        state, memory = self.state, self.memory
        state.weights[:] = weights
        state.feature_units[:] = observation.feature_units
        state.newest[:] = np.append(observation.x, observation.y)
        state.numbers[-3:] = np.concatenate(units)
        if observation.place >= 0:
            (
                memory.features[observation.place],
                memory.rewards[observation.place],
                memory.rounds[observation.place],
            ) = (observation.x, observation.y, observation.round)
        state.counts[1:] = (
            state.counts[1] + len(observation.places),
            observation.round,
            observation.place,
        )
        state.counts[0] += 1


def first_equal(rows: FloatArray, x: FloatArray) -> int:
    """Return the lowest index of a row.

    By products of matrices equal rows may have unequal scores.
    """
    return int((rows == x).all(axis=1).argmax())
