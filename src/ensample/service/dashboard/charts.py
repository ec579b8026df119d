"""Charts of an experiment's page, as data for static/dashboard.js and as tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from ensample.numerals import aligned, numeral, percent, several, signed
from ensample.service.dashboard.lift import Checkpoint, Provisional
from ensample.service.dashboard.timeline import Stretch, Width

LAST = 90  # stretches that are drawn
EARLY = 0.08  # of the looks: their bounds are too wide to be drawn whole
GAP = 4  # stretches without anything, after which a line is interrupted
Stretches = Sequence[tuple[int, Stretch]]
Values = Sequence[float | None]


class ChartSeries(NamedTuple):
    """Values over x. `draw`: line, dashed, dots, bars, low or high (the bounds of a line)."""

    label: str
    values: Values
    draw: str = "line"
    colour: str = "--s0"


@dataclass(frozen=True)
class Chart:
    """A chart. `said` has the words of each x."""

    label: str
    x: Sequence[float]
    said: Sequence[str]
    series: Sequence[ChartSeries]
    word: Callable[[float], str] = aligned
    time: bool = False  # whether x is seconds since 1970
    stacked: bool = False
    limits: tuple[float, float] | None = None  # of y; None: those of the values, and 0

    def data(self) -> dict[str, Any]:
        """Return what the script draws."""
        return {
            "x": list(self.x),
            "said": list(self.said),
            "series": [
                series._asdict() | {"values": list(series.values)} for series in self.series
            ],
            "percent": self.word is percent,
            "time": self.time,
            "stacked": self.stacked,
            "limits": self.limits,
        }

    def rows(self) -> list[list[str]]:
        """Return the same as a table: the words of x, and a cell of each series."""
        columns = [
            ["" if value is None else self.word(value) for value in series.values]
            for series in self.series
        ]
        return [list(row) for row in zip(self.said, *columns, strict=True) if any(row[1:])]


def lift_chart(
    path: Sequence[Checkpoint], provisional: Sequence[Provisional], width: float, label: str
) -> Chart:
    """Return the lift and its bounds while decisions came in.

    `width` is that of the rewards' range.
    """
    looks = [Checkpoint(look.rows, *(width * number for number in look[1:])) for look in path]
    further = [Provisional(look.rows, width * look.value) for look in provisional]
    rows = [look.rows for look in looks] + [look.rows for look in further]
    late = [look for look in looks if look.rows >= EARLY * rows[-1]]
    heights = [number for look in late for number in look[1:]] + [look.value for look in further]
    none: list[float | None] = [None] * len(further)
    series = []
    if looks:
        series = [
            ChartSeries("low", [*(look.low for look in looks), *none], "low"),
            ChartSeries("high", [*(look.high for look in looks), *none], "high"),
            ChartSeries("lift", [*(look.value for look in looks), *none]),
        ]
    if further:
        before: list[float | None] = [None] * len(looks)
        before[-1:] = [look.value for look in looks[-1:]]  # the line goes on from there
        series.append(
            ChartSeries("provisional", before + [look.value for look in further], "dashed")
        )
    low, high = min(0.0, *heights), max(0.0, *heights)
    room = 0.04 * (high - low)
    said = [f"after {several(count, 'decision')}" for count in rows]
    limits = (low - room, high + room)
    return Chart(label, rows, said, series, word=signed, limits=limits)


def time_chart(
    label: str, shown: Stretches, width: Width, series: Sequence[ChartSeries], **options: Any
) -> Chart:
    """Return a chart over time. Lines are interrupted where there is nothing for long."""
    x = [start + width.seconds / 2 for start, _ in shown]
    said = [moment(start, width) for start, _ in shown]
    columns = [list(each.values) for each in series]
    gaps = [i + 1 for i, (a, b) in enumerate(pairwise(x)) if b - a > GAP * width.seconds]
    for place in reversed(gaps):
        x.insert(place, x[place - 1] + width.seconds)
        said.insert(place, "")
        for column in columns:
            column.insert(place, None)
    drawn = [each._replace(values=column) for each, column in zip(series, columns, strict=True)]
    return Chart(label, x, said, drawn, time=True, **options)


def moment(start: int, width: Width) -> str:
    when = datetime.fromtimestamp(start, UTC)
    return f"{when:%d %b %Y}" if width.seconds >= 86_400 else f"{when:%d %b %H:%M:%S} UTC"


def reward_chart(stretches: Stretches, width: Width, label: str) -> Chart:
    """Return the mean reward over time, that of the holdout, and one with open decisions."""
    shown = [(start, each) for start, each in stretches if each.rewarded or each.open][-LAST:]
    means = [share(each.total, each.rewarded) for _, each in shown]
    held = [share(each.held_total, each.held_rewarded) for _, each in shown]
    series = [ChartSeries("mean reward", means)]
    if any(mean is not None for mean in held):
        series.append(ChartSeries("holdout", held, "dots", "--s1"))
    if any(each.open for _, each in shown):
        open_means: list[float | None] = [
            share(each.total + each.open_total, each.rewarded + each.open) if each.open else None
            for _, each in shown
        ]
        first = next(i for i, mean in enumerate(open_means) if mean is not None)
        if first:
            open_means[first - 1] = means[first - 1]  # the line goes on from there
        series.append(ChartSeries("provisional", open_means, "dashed"))
    return time_chart(label, shown, width, series)


def share(total: float, count: int) -> float | None:
    return total / count if count else None


def share_chart(
    stretches: Stretches, width: Width, bands: Sequence[tuple[str, frozenset[int], str]], label: str
) -> Chart:
    """Return how often each action was chosen.

    A band is a name, the places of its actions and a colour.
    """
    shown = [(start, each) for start, each in stretches if each.decisions][-LAST:]
    series = []
    for name, places, colour in bands:
        counts = [sum(each.actions.get(place, 0) for place in places) for _, each in shown]
        shares = [count / each.decisions for count, (_, each) in zip(counts, shown, strict=True)]
        series.append(ChartSeries(shortened(name), shares, "bars", f"--{colour}"))
    options: Any = {"word": percent, "stacked": True, "limits": (0.0, 1.0)}
    return time_chart(label, shown, width, series, **options)


def disagreement_chart(stretches: Stretches, width: Width, label: str) -> Chart | None:
    """Return the mean disagreement over time, or None if it is known of one stretch only."""
    shown = [(start, each) for start, each in stretches if each.known][-LAST:]
    if len(shown) < 2:
        return None
    series = [ChartSeries("disagreement", [each.disagreement / each.known for _, each in shown])]
    return time_chart(label, shown, width, series, word=percent, limits=(0.0, 1.0))


def delay_chart(counts: Sequence[int], label: str) -> Chart:
    """Return how many rewards took how long, by factors of 2."""
    used = [slot for slot, count in enumerate(counts) if count]
    slots = range(max(used[0] - 1, 0), min(used[-1] + 2, len(counts)))
    shares = [counts[slot] / sum(counts) for slot in slots]
    said = [f"up to {brief(2.0**slot / 1e3)}" for slot in slots]
    return Chart(label, list(slots), said, [ChartSeries("rewards", shares, "bars")], word=percent)


def brief(seconds: float) -> str:
    """Return a time in few letters.

    >>> [brief(x) for x in (0.001, 0.512, 4.096, 65.5, 7200, 200_000)]
    ['1 ms', '512 ms', '4.1 s', '66 s', '2 h', '2.3 d']
    """
    for unit, size in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or (unit == "s" and seconds >= 1.0):
            return f"{seconds / size:.2g} {unit}"
    return f"{numeral(1e3 * seconds)} ms"


def shortened(name: str, most: int = 60) -> str:
    """Return a name, or its beginning.

    >>> shortened("a" * 70, most=5)
    'aaaa…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"
