"""The figures of an experiment's page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from ensample.numerals import aligned, numeral, percent, several, signed
from ensample.service.dashboard.lift import Checkpoint, Provisional
from ensample.service.dashboard.svg import (
    Frame,
    element,
    number_label,
    points,
    round_steps,
    time_labels,
)
from ensample.service.dashboard.timeline import Stretch, Width

LAST = 90  # stretches that are drawn
EARLY = 0.08  # of the looks, in which bounds are too wide to be drawn whole
Stretches = Sequence[tuple[int, Stretch]]


class Band(NamedTuple):
    """An action in the figure of shares: its place, or that of the rest, and the class of its colour."""

    name: str
    places: frozenset[int]
    colour: str


def lift_chart(
    path: Sequence[Checkpoint], provisional: Sequence[Provisional], width: float, label: str
) -> Markup:
    """Draw the lift and its bounds while decisions came in, and a `provisional` line with the open ones.

    `width` is that of the rewards' range.
    """
    looks = [Checkpoint(look.rows, *(width * number for number in look[1:])) for look in path]
    further = [Provisional(look.rows, width * look.value) for look in provisional]
    last = (further or looks)[-1].rows
    late = [look for look in looks if look.rows >= EARLY * last]
    heights = [
        0.0,
        *(look.value for look in further),
        *(look.low for look in late),
        *(look.high for look in late),
    ]
    low, high = min(heights), max(heights)
    room = 0.04 * (high - low)
    frame = Frame((0.0, float(last)), (low - room, high + room))
    below = [(step, number_label(step)) for step in round_steps(0.0, float(last), 4)]
    drawn = settled_lift(frame, looks) if looks else []
    if further:
        start = [Provisional(looks[-1].rows, looks[-1].value)] if looks else []
        line = [(frame.x(look.rows), frame.y(look.value)) for look in (*start, *further)]
        drawn.append(element("polyline", points=points(line), class_="s0 line provisional"))
        drawn.append(element("circle", cx=line[-1][0], cy=line[-1][1], r=3.0, class_="s0 line"))
    return frame.drawing(
        label,
        frame.axes(below),
        drawn,
        frame.spots([*lift_labels(looks), *provisional_labels(looks, further)]),
    )


def settled_lift(frame: Frame, looks: Sequence[Checkpoint]) -> list[Markup]:
    """Draw the lift with its bounds."""
    around = [(frame.x(look.rows), frame.y(look.high)) for look in looks]
    around += [(frame.x(look.rows), frame.y(look.low)) for look in reversed(looks)]
    line = [(frame.x(look.rows), frame.y(look.value)) for look in looks]
    return [
        element("polygon", points=points(around), class_="s0 field"),
        element("polyline", points=points(line), class_="s0 line"),
        element("circle", cx=line[-1][0], cy=line[-1][1], r=3.5, class_="s0 dot"),
    ]


def lift_labels(looks: Sequence[Checkpoint]) -> list[tuple[float, float, str]]:
    return [
        (
            before.rows,
            look.rows,
            f"after {several(look.rows, 'decision')}: {signed(look.value)} ({signed(look.low)} to {signed(look.high)})",
        )
        for before, look in pairwise([Checkpoint(0, 0.0, 0.0, 0.0), *looks])
    ]


def provisional_labels(
    looks: Sequence[Checkpoint], further: Sequence[Provisional]
) -> list[tuple[float, float, str]]:
    start = Provisional(looks[-1].rows if looks else 0, 0.0)
    return [
        (
            before.rows,
            look.rows,
            f"after {several(look.rows, 'decision')}, provisional: {signed(look.value)}",
        )
        for before, look in pairwise([start, *further])
    ]


def moment(start: int, width: Width) -> str:
    when = datetime.fromtimestamp(start, UTC)
    return f"{when:%d %b %Y}" if width.seconds >= 86_400 else f"{when:%d %b %H:%M:%S} UTC"


def span(stretches: Stretches, width: Width) -> tuple[float, float]:
    return float(stretches[0][0]), float(stretches[-1][0] + width.seconds)


def reward_chart(stretches: Stretches, width: Width, label: str) -> Markup:
    """Draw the mean reward of the decisions of each stretch, that of the holdout, and a provisional one with open decisions."""
    shown = [(start, stretch) for start, stretch in stretches if stretch.rewarded or stretch.open][
        -LAST:
    ]
    means = [
        (start, stretch.total / stretch.rewarded) for start, stretch in shown if stretch.rewarded
    ]
    further = [(start, provisional_mean(stretch)) for start, stretch in shown if stretch.open]
    held = [
        (start, stretch.held_total / stretch.held_rewarded)
        for start, stretch in shown
        if stretch.held_rewarded
    ]
    values = [mean for _, mean in (*means, *held, *further)]
    low, high = min(0.0, *values), max(0.0, *values)
    frame = Frame(span(shown, width), (low, high + 0.06 * ((high - low) or 1.0)))
    half = width.seconds / 2
    drawn = [
        element("circle", cx=frame.x(start + half), cy=frame.y(mean), r=2.5, class_="s1 dot")
        for start, mean in held
    ]
    for run in runs(means, width.seconds) if means else []:
        line = [(frame.x(start + half), frame.y(mean)) for start, mean in run]
        drawn.append(element("polyline", points=points(line), class_="s0 line"))
        if len(means) <= 40 or len(run) == 1:
            drawn += [element("circle", cx=x, cy=y, r=2.8, class_="s0 dot") for x, y in line]
    if further:
        before = [each for each in means if each[0] < further[0][0]][-1:]
        for run in runs([*before, *further], width.seconds):
            line = [(frame.x(start + half), frame.y(mean)) for start, mean in run]
            drawn.append(element("polyline", points=points(line), class_="s0 line provisional"))
            drawn += [
                element("circle", cx=x, cy=y, r=2.5, class_="s0 line")
                for x, y in line
                if len(further) <= 40
            ]
    said = [
        (start, start + width.seconds, f"{moment(start, width)}: {reward_label(stretch)}")
        for start, stretch in shown
    ]
    return frame.drawing(
        label, frame.axes(time_labels(*span(shown, width))), drawn, frame.spots(said)
    )


def provisional_mean(stretch: Stretch) -> float:
    return (stretch.total + stretch.open_total) / (stretch.rewarded + stretch.open)


def reward_label(stretch: Stretch) -> str:
    parts = []
    if stretch.rewarded:
        parts.append(
            f"{aligned(stretch.total / stretch.rewarded)} over {several(stretch.rewarded, 'reward')}"
        )
    if stretch.held_rewarded:
        parts.append(
            f"holdout {aligned(stretch.held_total / stretch.held_rewarded)} over {stretch.held_rewarded:,}"
        )
    if stretch.open:
        parts.append(f"provisional {aligned(provisional_mean(stretch))} with {stretch.open:,} open")
    return "; ".join(parts)


def runs(means: Sequence[tuple[int, float]], step: int) -> list[list[tuple[int, float]]]:
    """Cut where there is nothing for a long time, so that no line bridges it."""
    found = [[means[0]]]
    for before, after in pairwise(means):
        if after[0] - before[0] > 4 * step:
            found.append([])
        found[-1].append(after)
    return found


def share_chart(stretches: Stretches, width: Width, bands: Sequence[Band], label: str) -> Markup:
    """How often each action was chosen: columns that are full, an action above the other."""
    shown = [(start, stretch) for start, stretch in stretches if stretch.decisions][-LAST:]
    frame = Frame(span(shown, width), (0.0, 1.0))
    drawn, said = [], []
    for start, stretch in shown:
        below, words = 0.0, [f"{moment(start, width)}: {several(stretch.decisions, 'decision')}"]
        left = frame.x(start)
        across = max(frame.x(start + width.seconds) - left - 0.6, 0.6)
        for band in bands:
            count = sum(stretch.actions.get(place, 0) for place in band.places)
            share = count / stretch.decisions
            if count:
                top, foot = frame.y(below + share), frame.y(below)
                drawn.append(
                    element(
                        "rect",
                        x=left,
                        y=top,
                        width=across,
                        height=foot - top,
                        class_=f"{band.colour} fill",
                    )
                )
                words.append(f"{shortened(band.name)} {percent(share)}")
            below += share
        said.append((start, start + width.seconds, ", ".join(words)))
    return frame.drawing(
        label, frame.axes(time_labels(*span(shown, width)), percent_label), drawn, frame.spots(said)
    )


def disagreement_chart(stretches: Stretches, width: Width, label: str) -> Markup | None:
    """The mean disagreement of the decisions of each stretch; None where it is not known of two."""
    shown = [
        (start, stretch.disagreement / stretch.known)
        for start, stretch in stretches
        if stretch.known
    ][-LAST:]
    if len(shown) < 2:
        return None
    frame = Frame((float(shown[0][0]), float(shown[-1][0] + width.seconds)), (0.0, 1.0), 140.0)
    half = width.seconds / 2
    lines = [
        [(frame.x(start + half), frame.y(mean)) for start, mean in run]
        for run in runs(shown, width.seconds)
    ]
    drawn = [element("polyline", points=points(line), class_="s0 line") for line in lines]
    said = [
        (start, start + width.seconds, f"{moment(start, width)}: {percent(mean)}")
        for start, mean in shown
    ]
    below = time_labels(frame.low_x, frame.high_x)
    return frame.drawing(label, frame.axes(below, percent_label), drawn, frame.spots(said))


def shortened(name: str, most: int = 60) -> str:
    """Return a name, or its beginning.

    >>> shortened("a" * 70, most=5)
    'aaaa…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def percent_label(share: float) -> str:
    return f"{100 * share:g}%"


def delay_chart(counts: Sequence[int], label: str) -> Markup:
    """How many rewards took how long, by factors of 2."""
    used = [slot for slot, count in enumerate(counts) if count]
    first, last = max(used[0] - 1, 0), min(used[-1] + 2, len(counts))
    total = sum(counts)
    frame = Frame((float(first), float(last)), (0.0, 1.05 * max(counts) / total), 150.0)
    drawn, said = [], []
    for slot in range(first, last):
        top = frame.y(counts[slot] / total)
        across = frame.x(slot + 1.0) - frame.x(slot) - 1.5
        drawn.append(
            element(
                "rect",
                x=frame.x(slot),
                y=top,
                width=across,
                height=frame.bottom - top,
                class_="s0 fill",
            )
        )
        said.append(
            (
                slot,
                slot + 1,
                f"up to {brief(2.0**slot / 1e3)}: {several(counts[slot], 'reward')} ({percent(counts[slot] / total)})",
            )
        )
    every = max(1, -(-(last - first) // 5))
    below = [(slot + 1.0, brief(2.0**slot / 1e3)) for slot in range(first, last, every)]
    return frame.drawing(label, frame.axes(below, percent_label), drawn, frame.spots(said))


def brief(seconds: float) -> str:
    """A time in few letters.

    >>> [brief(x) for x in (0.001, 0.512, 4.096, 65.5, 7200, 200_000)]
    ['1 ms', '512 ms', '4.1 s', '66 s', '2 h', '2.3 d']
    """
    for unit, size in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or (unit == "s" and seconds >= 1.0):
            return f"{seconds / size:.2g} {unit}"
    return f"{numeral(1e3 * seconds)} ms"


def bar(share: float, colour: str, label: str) -> Markup:
    """A share of 1 as a bar."""
    inside = element("rect", width="100%", height="100%", class_="track")
    inside += element(
        "rect",
        width=f"{100 * min(max(share, 0.0), 1.0):.2f}%",
        height="100%",
        class_=f"{colour} fill",
    )
    return element("svg", inside, class_="bar", role="img", aria_label=label)


def interval_strip(place: float, low: float, high: float, label: str) -> Markup:
    """Draw a number and its interval, all of them shares of the width."""
    x = [f"{4.0 + 92.0 * min(max(share, 0.0), 1.0):.1f}%" for share in (place, low, high)]
    inside = element("rect", width="100%", height="100%", class_="track")
    inside += element("line", x1=x[1], x2=x[2], y1="50%", y2="50%", class_="s0 line")
    inside += element("circle", cx=x[0], cy="50%", r=4.0, class_="s0 dot")
    return element("svg", inside, class_="bar", role="img", aria_label=label)


def bound_strip(difference: float, bound: float, passed: bool, label: str) -> Markup:
    """Where a difference lies between its bounds, which are at the edges of the field in the middle."""
    place = 50.0 + 40.0 * min(max(difference / bound, -1.2), 1.2) if bound else 50.0
    inside = element("rect", x="10%", width="80%", height="100%", class_="track")
    inside += element("line", x1="50%", x2="50%", y1="0", y2="100%", class_="zero")
    inside += element(
        "circle", cx=f"{place:.1f}%", cy="50%", r=4.5, class_="s8 dot" if passed else "s2 dot"
    )
    return element("svg", inside, class_="bar", role="img", aria_label=label)
