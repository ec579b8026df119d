"""Names by which a page's script knows the curves of its figures."""

import json
import zlib

from matplotlib.axes import Axes

LINE, BAND = "line", "band"


def mark_of(label: str) -> str:
    """Of a curve, in figures and legends alike.

    >>> mark_of("LinUCB") == mark_of("LinUCB") != mark_of("greedy")
    True
    """
    return f"{zlib.crc32(label.encode()):08x}"


def mark(label: str, kind: str = LINE) -> str:
    """As an id that matplotlib writes; `svg.inline` makes attributes of it."""
    return f"{kind}-{mark_of(label)}"


def frame_of(axes: Axes) -> str:
    """Where the axes are in the picture, once that is drawn, and what they count: for values of a place. As JSON."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = (72.0 * inches for inches in figure.get_size_inches())
    place = axes.get_position()
    frame = {
        "left": round(width * place.x0, 3),
        "right": round(width * place.x1, 3),
        "bottom": round(height * (1.0 - place.y0), 3),
        "top": round(height * (1.0 - place.y1), 3),
        "x": [*axes.get_xlim(), axes.get_xscale() == "log"],
        "y": [*axes.get_ylim(), axes.get_yscale() == "log"],
        "across": axes.get_xlabel(),
    }
    return json.dumps(frame, separators=(",", ":"))
