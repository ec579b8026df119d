"""Sums over stretches of time, which become longer as an experiment does."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from ensample.experiments.reward import SECOND


class Width(NamedTuple):
    """The length of a stretch, a multiple of the one before."""

    seconds: int
    says: str


WIDTHS = (
    Width(1, "second"),
    Width(5, "5 seconds"),
    Width(15, "15 seconds"),
    Width(60, "minute"),
    Width(300, "5 minutes"),
    Width(900, "15 minutes"),
    Width(3_600, "hour"),
    Width(86_400, "day"),
)
MOST = 48  # stretches; of days there may be more


@dataclass
class Stretch:
    """Sums of the decisions of a stretch of time, and of their rewards, whenever those came."""

    actions: Counter[int] = field(default_factory=Counter)  # decisions by place of the action
    decisions: int = 0
    known: int = 0  # decisions whose propensities are known
    disagreement: float = 0.0
    rewarded: int = 0
    total: float = 0.0
    held_rewarded: int = 0  # those that the holdout drew
    held_total: float = 0.0
    open: int = 0  # decisions within their wait, by their provisional rewards
    open_total: float = 0.0
    open_gains: int = 0  # those with a part in the lift: sums of r scaled to [0, 1], d and d r
    open_r: float = 0.0
    open_d: float = 0.0
    open_dr: float = 0.0

    def join(self, other: "Stretch") -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


class Timeline:
    """The stretches of an experiment.

    >>> timeline = Timeline()
    >>> for second in range(100):
    ...     timeline.at(second * 1_000_000).decisions += 1
    >>> timeline.width.says, [stretch.decisions for _, stretch in timeline.stretches()][:3]
    ('5 seconds', [5, 5, 5])
    """

    def __init__(self) -> None:
        self._level = 0
        self._found: dict[int, Stretch] = {}

    @property
    def width(self) -> Width:
        return WIDTHS[self._level]

    def at(self, time: int) -> Stretch:
        """Return the stretch that a time (microseconds since 1970) belongs to."""
        number = time // (self.width.seconds * SECOND)
        found = self._found.get(number)
        if found is None:
            if len(self._found) >= MOST and self._level < len(WIDTHS) - 1:
                self._widen()
                return self.at(time)
            found = self._found[number] = Stretch()
        return found

    def _widen(self) -> None:
        before = self.width.seconds
        self._level += 1
        narrow, self._found = self._found, {}
        for number, stretch in narrow.items():
            wide = number * before // self.width.seconds
            self._found.setdefault(wide, Stretch()).join(stretch)

    def stretches(self) -> list[tuple[int, Stretch]]:
        """Return when each begins (seconds since 1970), and the stretch, in order."""
        return [
            (number * self.width.seconds, self._found[number]) for number in sorted(self._found)
        ]
