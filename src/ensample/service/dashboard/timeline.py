"""Sums over stretches of time, which become longer as an experiment does."""

from typing import NamedTuple

from ensample.experiments.reward import SECOND


class Width(NamedTuple):
    """How long a stretch is; each is some of the one before."""

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


class Stretch:
    """Sums of the decisions of a stretch of time, and of their rewards, whenever those came.

    Those that begin with `open` are of decisions within their wait, by their provisional rewards.
    The last four are of those with a part in the lift, their rewards r scaled to [0, 1]: how
    many, and the sums of r, d and d r.
    """

    SUMS = (
        "decisions",
        "known",
        "disagreement",
        "rewarded",
        "total",
        "held_rewarded",
        "held_total",
    )
    OPEN = ("open", "open_total", "open_gains", "open_r", "open_d", "open_dr")
    __slots__ = ("actions", *SUMS, *OPEN)

    def __init__(self) -> None:
        self.open, self.open_total = 0, 0.0
        self.open_gains, self.open_r, self.open_d, self.open_dr = 0, 0.0, 0.0, 0.0
        self.decisions = 0
        self.actions: dict[int, int] = {}  # decisions by place of the action
        self.known, self.disagreement = 0, 0.0  # decisions whose propensities are known
        self.rewarded, self.total = 0, 0.0
        self.held_rewarded, self.held_total = 0, 0.0  # of those, what the holdout drew

    def reward(self, value: float, held: bool) -> None:
        self.rewarded += 1
        self.total += value
        if held:
            self.held_rewarded += 1
            self.held_total += value

    def join(self, other: "Stretch") -> None:
        for name in (*self.SUMS, *self.OPEN):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for action, count in other.actions.items():
            self.actions[action] = self.actions.get(action, 0) + count


class Timeline:
    """
    >>> timeline = Timeline()
    >>> for second in range(100):
    ...     timeline.at(second * 1_000_000).decisions += 1
    >>> timeline.width.says, [stretch.decisions for _, stretch in timeline.stretches()][:3]
    ('5 seconds', [5, 5, 5])
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._level = 0
        self._found: dict[int, Stretch] = {}

    @property
    def width(self) -> Width:
        return WIDTHS[self._level]

    def at(self, time: int) -> Stretch:
        """The stretch that a time (microseconds since 1970) belongs to."""
        number = time // (self.width.seconds * SECOND)
        found = self._found.get(number)
        if found is None:
            if len(self._found) >= self.most and self._level < len(WIDTHS) - 1:
                self._widen()
                return self.at(time)
            found = self._found[number] = Stretch()
        return found

    def _widen(self) -> None:
        before = self.width.seconds
        self._level += 1
        factor = self.width.seconds // before
        joined: dict[int, Stretch] = {}
        for number, stretch in self._found.items():
            joined.setdefault(number // factor, Stretch()).join(stretch)
        self._found = joined

    def stretches(self) -> list[tuple[int, Stretch]]:
        """(when it begins, in seconds since 1970; what happened), in order."""
        return [
            (number * self.width.seconds, self._found[number]) for number in sorted(self._found)
        ]
