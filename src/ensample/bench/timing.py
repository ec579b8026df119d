"""Contestants take turns, so that a busy machine slows all of them; a result is the median over the turns."""

import statistics
from collections.abc import Callable

Turn = Callable[[], float]
"""Runs a contestant once and answers with its microseconds a round."""

Times = dict[str, list[float]]
"""Microseconds a round of each contestant, turn by turn."""


def take_turns(contestants: dict[str, Turn], turns: int, progress: Callable[[], None]) -> Times:
    """Each contestant warms up once, then all take `turns` turns; `progress` is called after each of them."""
    times: Times = {name: [] for name in contestants}
    for turn in range(turns + 1):
        for name, run in contestants.items():
            value = run()
            progress()
            if turn > 0:
                times[name].append(value)
    return times


def median(times: Times, name: str) -> float:
    return statistics.median(times[name])


def ratio(times: Times, over: str, under: str) -> float:
    """The median over the turns of time(over) / time(under), both of the same turn."""
    return statistics.median(a / b for a, b in zip(times[over], times[under], strict=True))
