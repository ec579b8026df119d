"""Policies that act greedily on one model a round."""

from abc import abstractmethod

from ensample.arms import Arms, FiniteArms
from ensample.errors import PropensityError
from ensample.kernels import ensemble
from ensample.policies.policy import Policy
from ensample.types import FloatArray

__all__ = ["ModelPolicy"]


class ModelPolicy(Policy):
    """Plays argmax_x x'theta_t. Its one member in round t is model number t."""

    _coming: tuple[int, int, FloatArray] | None = None

    @property
    def estimates(self) -> FloatArray:
        """The model of the coming round: [1, d]."""
        return self._estimate(self.round)[None].copy()

    @abstractmethod
    def _model(self, round: int) -> FloatArray:
        """theta_t, a pure function of (seed, round) and what was learned: [d]."""

    def _estimate(self, round: int) -> FloatArray:
        """`_model`, kept until the round or the state changes."""
        if self._coming is None or self._coming[:2] != (round, self.version):
            self._coming = round, self.version, self._model(round)
        return self._coming[2]

    def _choose(self, round: int, offered: Arms) -> tuple[int, int | None, FloatArray]:
        theta = self._estimate(round)
        if isinstance(offered, FiniteArms):
            arm = ensemble.greedy(theta, offered.by_coordinate)
            return round, arm, offered.features[arm]
        return round, *self._best(theta, offered)

    def _weights(self, round: int, offered: Arms) -> FloatArray:
        name = type(self.recipe).__name__
        raise PropensityError(f"the propensities of {name} have no closed form: EnsembleSampling's are exact")
