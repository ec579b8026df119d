"""Inline SVG: elements whose words are escaped, and a frame with axes. Colours are classes: pages may have no inline style."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

from ensample.numerals import MINUS

WIDTH, HEIGHT = 460.0, 210.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 10.0, 10.0, 24.0
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAY = 86_400


def element(name: str, *content: str, **attributes: object) -> Markup:
    """
    >>> element("text", "<b>", x=1.25, class_="quiet")
    Markup('<text x="1.2" class="quiet">&lt;b&gt;</text>')
    """
    words = (
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{''.join(words)}>{''.join(escape(part) for part in content)}</{name}>")


def shown(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two others.

    >>> round_steps(0.0, 1.0), round_steps(-0.03, 0.11)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.05, 0.1])
    """
    width = (high - low) / most
    power = 10.0 ** math.floor(math.log10(width))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def number_label(x: float) -> str:
    """Beside an axis."""
    if abs(x) >= 1e6:
        return f"{x / 1e6:g} M".replace("-", MINUS)
    return (f"{x:,.0f}" if abs(x) >= 1_000 else f"{x:g}").replace("-", MINUS)


def time_labels(start: float, stop: float, most: int = 4) -> list[tuple[float, str]]:
    """Round moments between two others (seconds since 1970), in UTC.

    >>> time_labels(1_700_000_000, 1_700_000_090)
    [(1700000010, '22:13:30'), (1700000040, '22:14:00'), (1700000070, '22:14:30')]
    """
    steps = (
        1,
        5,
        10,
        15,
        30,
        60,
        300,
        600,
        1_800,
        3_600,
        7_200,
        21_600,
        43_200,
        DAY,
        2 * DAY,
        7 * DAY,
        14 * DAY,
        30 * DAY,
    )
    step = next(
        (step for step in steps if (stop - start) / step <= most),
        30 * DAY * math.ceil((stop - start) / (120 * DAY)),
    )
    moments = range(-(-int(start) // step) * step, int(stop) + 1, step)
    return [(moment, moment_label(moment, step)) for moment in moments]


def moment_label(moment: int, step: int) -> str:
    when = datetime.fromtimestamp(moment, UTC)
    if step >= DAY or (step >= 3_600 and moment % DAY == 0):
        return f"{when.day} {MONTHS[when.month - 1]}"
    return f"{when:%H:%M}" if step >= 60 else f"{when:%H:%M:%S}"


class Frame:
    """From numbers to places, with a line and a number for each step of y, and words below for x."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], height: float = HEIGHT
    ) -> None:
        self.low_x, self.high_x = x if x[1] > x[0] else (x[0] - 0.5, x[0] + 0.5)
        self.low_y, self.high_y = y if y[1] > y[0] else (y[0] - 0.5, y[0] + 0.5)
        self.height = height
        self.top, self.bottom, self.left, self.right = TOP, height - BOTTOM, LEFT, WIDTH - RIGHT

    def x(self, value: float) -> float:
        return self.left + (value - self.low_x) / (self.high_x - self.low_x) * (
            self.right - self.left
        )

    def y(self, value: float) -> float:
        inside = min(max(value, self.low_y), self.high_y)
        return self.bottom - (inside - self.low_y) / (self.high_y - self.low_y) * (
            self.bottom - self.top
        )

    def axes(
        self, below: Sequence[tuple[float, str]], label: Callable[[float], str] = number_label
    ) -> list[Markup]:
        drawn = []
        for step in round_steps(self.low_y, self.high_y, 4):
            y = self.y(step)
            drawn.append(
                element(
                    "line",
                    x1=self.left,
                    x2=self.right,
                    y1=y,
                    y2=y,
                    class_="zero" if step == 0 else "grid",
                )
            )
            drawn.append(
                element("text", label(step), x=self.left - 6.0, y=y + 4.0, text_anchor="end")
            )
        for value, words in below:
            x = self.x(value)
            anchor = (
                "end" if x > self.right - 24.0 else "start" if x < self.left + 12.0 else "middle"
            )
            drawn.append(element("text", words, x=x, y=self.height - 6.0, text_anchor=anchor))
        return drawn

    def drawing(self, label: str, *parts: Iterable[Markup]) -> Markup:
        """Read aloud as its label."""
        inside = Markup("").join(part for group in parts for part in group)
        return element(
            "svg", inside, viewBox=f"0 0 {WIDTH:g} {self.height:g}", role="img", aria_label=label
        )

    def spots(self, said: Sequence[tuple[float, float, str]]) -> list[Markup]:
        """What the pointer finds: words from one x to another."""
        return [
            element(
                "rect",
                element("title", words),
                x=self.x(start),
                y=self.top,
                width=max(self.x(stop) - self.x(start), 0.5),
                height=self.bottom - self.top,
                class_="spot",
            )
            for start, stop, words in said
        ]
