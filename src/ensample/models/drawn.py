"""Linear models that are drawn afresh for each round."""

from abc import abstractmethod

from ensample.models.linear import LinearModel
from ensample.types import FloatArray


class DrawnModel(LinearModel):
    """theta_t, a pure function of (seed, round) and what was learned: model number t acts in round t."""

    size = None
    _last: tuple[int, int, FloatArray] | None = None  # round, count, theta

    @abstractmethod
    def draw(self, round: int) -> FloatArray:
        """theta_t: [d]."""

    def theta(self, member: int) -> FloatArray:
        """`draw`, kept until the round or the state changes."""
        count = self.count
        if self._last is None or self._last[:2] != (member, count):
            self._last = member, count, self.draw(member)
        return self._last[2]
