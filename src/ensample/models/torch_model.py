"""Networks of the user's own, by torch, and the training in NumPy that they need."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensample.arms import Offer
from ensample.errors import WrongType
from ensample.extras import package, require
from ensample.models.base import listed
from ensample.models.network_ensemble import SQUARED, NetworkEnsemble, NewObservation
from ensample.models.networks import Nets
from ensample.models.neural import Trained
from ensample.models.training_state import EMPTY, RewardUnits, in_units
from ensample.randomness import Address, Stream
from ensample.types import FloatArray, IntArray

LARGEST_GRADIENT = 1e150  # beyond it squares may not be finite
TINY = 1e-8  # keeps Adam's quotient finite where a weight has no gradient


class NumpyTrainedEnsemble(NetworkEnsemble):
    """Ensemble of any `Nets`, trained in NumPy."""

    whole: ClassVar[bool] = False

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        _, x = super().best(member, offer)
        return first_equal(listed(offer), x), x

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        (chosen, promised), rows = super().votes(offer), listed(offer)
        first = [first_equal(rows, rows[arm]) for arm in chosen.tolist()]
        return np.array(first, np.int64), promised

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
                rewards = self.loss.rewards(expected, mean, spread)
                units = units.after(observation.y, count, observation.y - float(rewards.mean()))
            combined = self._with_prior(outputs[:, others], self.memory.prior_outputs[places].T)
            slopes, z = np.zeros(outputs.shape), self.memory.perturbations[places].T
            np.add.at(slopes.T, others, self._slopes(combined, y, z, units, count).T)
            gradient = np.asarray(gradient_of(slopes), np.float64)
            if not (np.abs(gradient) < LARGEST_GRADIENT).all():
                return False
            self._descend(weights, gradient, units, count, int(state.counts[1]) + step + 1)
        self._commit(observation, weights, units)
        return True

    def _drawn(
        self, observation: NewObservation, places: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return features in units and rewards of a minibatch."""
        is_newest = places == observation.place
        features = np.where(is_newest[:, None], observation.x, self.memory.features[places])
        rewards = np.where(is_newest, observation.y, self.memory.rewards[places])
        return in_units(features, observation.feature_units[0]), rewards

    def _with_prior(self, outputs: FloatArray, prior_outputs: FloatArray) -> FloatArray:
        """Return the outputs of members [m, ...] plus those of their prior networks, scaled."""
        return outputs if self.prior is None else outputs + self.training.prior * prior_outputs

    def _slopes(
        self, outputs: FloatArray, y: FloatArray, z: FloatArray, units: RewardUnits, count: int
    ) -> FloatArray:
        """Return the derivatives of the mean loss by outputs [m, B]."""
        training, spread = self.training, units.spread(count)
        scale = training.scale
        if self.loss == SQUARED:
            sigma = units.sigma(count) if training.learns_scale else 1.0
            return (outputs - (y - units.mean) / spread - scale * sigma / spread * z) / y.size
        mean = self.loss.rewards(outputs.mean(axis=0), 0.0, 1.0)
        noise = scale * np.sqrt(mean * (1.0 - mean))
        return (self.loss.rewards(outputs, 0.0, 1.0) - y - noise * z) / y.size

    def _descend(
        self, weights: FloatArray, gradient: FloatArray, units: RewardUnits, count: int, number: int
    ) -> None:
        """Take step `number` of Adam or gradient descent, in place."""
        training, anchor = self.training, self._anchor
        pull = 1.0 if training.learns_pull else training.pull
        if training.learns_pull and self.loss == SQUARED:
            pull = (units.sigma(count) / units.spread(count)) ** 2
        strengths = pull / count * np.repeat(anchor.strengths, np.diff(anchor.ends, prepend=0))
        g = gradient + strengths * (weights[0] - anchor.weights)
        if not self.schedule.adam:
            weights[0] -= training.rate * g
            return
        root = math.sqrt(1.0 - 0.999**number)
        weights[1] = 0.1 * g + 0.9 * weights[1]
        weights[2] = 0.001 * g**2 + 0.999 * weights[2]
        rate = training.rate * root / (1.0 - 0.9**number)
        weights[0] -= rate * weights[1] / (np.sqrt(weights[2]) + TINY * root)

    def _commit(self, observation: NewObservation, weights: FloatArray, units: RewardUnits) -> None:
        """Write the new state. The number of observations changes last, as `Model` asks."""
        state, memory, place = self.state, self.memory, observation.place
        state.weights[:] = weights
        state.feature_units[:] = observation.feature_units
        state.newest[:] = np.append(observation.x, observation.y)
        state.numbers[-3:] = np.concatenate(units)
        if place != EMPTY:
            memory.features[place], memory.rewards[place] = observation.x, observation.y
            memory.rounds[place] = observation.round
        trained = state.counts[1] + len(observation.places)
        state.counts[1:] = trained, observation.round, place
        state.counts[0] += 1


def first_equal(rows: FloatArray, x: FloatArray) -> int:
    """Return the lowest index of a row: by products of matrices equal rows may score unequally."""
    return int((rows == x).all(axis=1).argmax())


@dataclass(frozen=True)
class TorchModel(Trained):
    """E[Y | x] is a torch module of x: `Neural`'s ensemble with modules of your own.

    `module_factory(d)` makes a `torch.nn.Module` that takes rows of d features [B, d] and gives [B]
    or [B, 1]. It is called for every member, whose initial parameters W^j are those that the module
    comes with; members are then trained together, by `torch.func.vmap` over stacked parameters, in
    double precision on the CPU. Everything else is as in `Neural`: units, perturbed rewards, the
    pull to W^j, the memory. What `prior` multiplies is a module of the same make that is never
    trained, divided by the typical size of its outputs.

    ```python
    def module(d):
        return torch.nn.Sequential(torch.nn.Linear(d, 50), torch.nn.GELU(), torch.nn.Linear(50, 1))

    policy = es.EnsembleSampling(30, model=es.TorchModel(module)).start(arms)
    ```

    Modules are used as functions of their parameters: dropout is off, and buffers are refused.
    Random numbers come from the policy's seed, and torch's own generator is left alone. A replay
    gives the same bits on the same machine with the same version of torch and number of its
    threads. A snapshot has the parameters and not the module: `load(path, recipe=...)`.

    It needs torch: `pip install torch`. Nothing is proved.

    Reference: as for `Neural`.
    """

    module_factory: Callable[[int], Any]
    ensemble_of: ClassVar[type[NumpyTrainedEnsemble]] = NumpyTrainedEnsemble

    def __post_init__(self) -> None:
        if not callable(self.module_factory):
            expected = "a function of the number of features that makes a module"
            raise WrongType("module_factory", self.module_factory, expected)
        self.check_training()

    def nets(self, dim: int, size: int, address: Address) -> Nets:
        require("torch", user="TorchModel")
        torch_nets = package("ensample.models.torch_nets", "TorchModel")
        rng = address.generator(Stream.INITIAL, 2)
        nets: Nets = torch_nets.TorchNets(self.module_factory, dim, size, rng)
        return nets
