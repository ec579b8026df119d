"""Contestants that run in turns, so that a busy machine slows all, and ratios of their times."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from ensample.numerals import terminal

Turn = Callable[[], float]
"""Runs a contestant once and returns its microseconds a round."""

Times = dict[str, list[float]]
"""Microseconds a round of each contestant, turn by turn."""

Step = Callable[[], None]
"""Called after each turn of a contestant."""


@dataclass(frozen=True)
class Ratio:
    """One row of the benchmark.

    `measured` is None if it could not be measured; `note` says why, or gives the times.
    """

    name: str
    measured: float | None
    target: float | None
    at_least: bool  # the target is a lower limit, otherwise an upper one
    note: str

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without a target or a measurement."""
        if self.measured is None or self.target is None:
            return None
        return self.measured >= self.target if self.at_least else self.measured <= self.target


@dataclass(frozen=True)
class Target:
    """A ratio to reach: its name, its limit if any, and the side of the limit to be on."""

    name: str
    limit: float | None
    at_least: bool = False

    def ratio(self, measured: float | None, note: str) -> Ratio:
        return Ratio(self.name, measured, self.limit, self.at_least, note)


def take_turns(contestants: dict[str, Turn], turns: int, step: Step) -> Times:
    """Run each contestant once to warm up, then all of them `turns` times, one after the other."""
    times: Times = {name: [] for name in contestants}
    for turn in range(turns + 1):
        for name, run in contestants.items():
            value = run()
            step()
            if turn > 0:
                times[name].append(value)
    return times


def median(times: Times, name: str) -> float:
    return statistics.median(times[name])


def ratio(times: Times, over: str, under: str) -> float:
    """Return the median over the turns of time(over) / time(under), both of the same turn."""
    return statistics.median(a / b for a, b in zip(times[over], times[under], strict=True))


def microseconds(times: Times, name: str) -> str:
    """Return a contestant's time a round as text."""
    return f"{terminal(median(times, name))} us"


def compare(target: Target, over: Turn, under: Turn, turns: int, step: Step) -> Ratio:
    """Measure time(over) / time(under); the note has both times."""
    times = take_turns({"over": over, "under": under}, turns, step)
    note = f"{microseconds(times, 'over')} over {microseconds(times, 'under')}"
    return target.ratio(ratio(times, "over", "under"), note)
