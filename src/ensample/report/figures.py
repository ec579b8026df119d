"""Figures as files, in notebooks, and as <svg> elements inside pages.

A page calls our colours by the names of CSS variables, so that one drawing serves light and dark.
"""

import html
import io
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.errors import InvalidArgument
from ensample.files import write_whole
from ensample.palette import variables
from ensample.report.style import house_style

NOTEBOOK_DPI, SHARPNESS = 100.0, 2.0  # pixels an inch on the page; pixels of the picture for each
ID = re.compile(r'\sid="([^"]*)"')
CURVE_ID = re.compile(r'\sid="(line|band)-([0-9a-f]{8})"')
REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]*)')
FONT = re.compile(r"font: ([\d.]+px)[^;\"]*")


class NotebookFigure(Figure):
    """Figure that notebooks show, whether or not pyplot has been imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        with house_style(**{"savefig.dpi": SHARPNESS * NOTEBOOK_DPI}):
            data = rendered(self, "png")
        width, height = (round(NOTEBOOK_DPI * float(size)) for size in self.get_size_inches())
        return data, {"width": width, "height": height}


def rendered(figure: Figure, kind: str, transparent: bool = False) -> bytes:
    """Return the figure as PNG or SVG, without a date or a version that would change the bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata, transparent=transparent)
    return buffer.getvalue()


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg; the same figure gives the same bytes."""
    with house_style():
        drawn = {f"{name}.{kind}": rendered(figure, kind) for kind in ("png", "svg")}
    return write_files(folder, drawn)


def write_files(folder: Path, files: Mapping[str, bytes], follow: bool = False) -> list[Path]:
    """Write files into a folder, each whole or not at all; they replace links unless `follow`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_whole(folder / name, data, follow=follow)
    except OSError as error:
        expected = f"a directory to write in: {error.strerror or error}"
        raise InvalidArgument("out", str(folder), expected) from None
    return [folder / name for name in files]


def inline_svg(figure: Figure, name: str, label: str, has_curves: bool = False) -> Markup:
    """Return the figure as an <svg> element in the page's own font and colours.

    `name` keeps its ids apart from those of other figures, `label` is read aloud. With `has_curves`
    the page's script is told where the axes are, so that it can say the values of curves.
    """
    with house_style(**{"svg.fonttype": "none"}):
        text = rendered(figure, "svg", transparent=True).decode()
    width, height = (72.0 * inches for inches in figure.get_size_inches())
    plot = f' data-plot="{html.escape(plot_frame(figure.axes[0]))}"' if has_curves else ""
    size = f'viewBox="0 0 {width:.10g} {height:.10g}" width="100%"'
    opening = f'<svg {size} role="img" aria-label="{html.escape(label)}"{plot}>'
    body = text[text.index("<g id=") :].replace(' xlink:href="', ' href="')
    body = FONT.sub(r"font-size: \1", with_own_ids(body, name))
    for variable, pair in variables().items():
        colour = "currentColor" if variable == "--ink" else f"var({variable})"
        body = body.replace(f": {pair.light}", f": {colour}")
    return Markup(opening + body.strip())


def with_own_ids(text: str, name: str) -> str:
    """Put the figure's name before ids that are referred to, and remove the others."""
    text = CURVE_ID.sub(r' data-kind="\1" data-line="\2"', text)
    used = set(REFERENCE.findall(text))
    text = ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    return REFERENCE.sub(lambda found: found[0].replace("#", f"#{name}-", 1), text)


def curve_id(label: str) -> str:
    """Return the name by which the page's script knows a curve, in figures and legends alike.

    >>> curve_id("LinUCB") == curve_id("LinUCB") != curve_id("greedy")
    True
    """
    return f"{zlib.crc32(label.encode()):08x}"


def plot_frame(axes: Axes) -> str:
    """Return as JSON where the axes of a drawn figure are, and which values are at their ends."""
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
