"""Parts of pages: templates with our style sheet, and figures as <svg> elements.

A figure calls our colours by the names of CSS variables, so that one drawing serves light and dark.
"""

import base64
import hashlib
import json
import re
import zlib
from html import escape
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ensample.palette import sheet, variables
from ensample.report.figures import rendered
from ensample.report.style import house_style
from ensample.version import __version__

ID = re.compile(r'\sid="([^"]*)"')
CURVE_ID = re.compile(r'\sid="(line|band)-([0-9a-f]{8})"')
REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]*)')
FONT = re.compile(r"font: ([\d.]+px)[^;\"]*")


def resource(name: str) -> str:
    """Return the text of a file of `ensample.report`."""
    return files("ensample.report").joinpath(name).read_text(encoding="utf-8")


def render(template: str, css: str = "", filters: dict[str, Any] | None = None, **data: Any) -> str:
    """Return a page that needs no other file; in templates only `Markup` is taken for markup."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.loader = jinja2.PackageLoader("ensample", "report")
    environment.filters |= filters or {}
    css = Markup(sheet() + resource("page.css") + css)
    return environment.get_template(template).render(css=css, version=__version__, **data)


def content_policy(script: str) -> str:
    """Return what a browser lets the page do: load nothing, and run no script but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def inline_svg(figure: Figure, name: str, label: str, has_curves: bool = False) -> Markup:
    """Return the figure as an <svg> element in the page's own font and colours.

    `name` keeps its ids apart from those of other figures, `label` is read aloud. With `has_curves`
    the page's script is told where the axes are, so that it can say the values of curves.
    """
    with house_style(**{"svg.fonttype": "none"}):
        text = rendered(figure, "svg", transparent=True).decode()
    width, height = (72.0 * inches for inches in figure.get_size_inches())
    plot = f' data-plot="{escape(plot_frame(figure.axes[0]))}"' if has_curves else ""
    size = f'viewBox="0 0 {width:.10g} {height:.10g}" width="100%"'
    opening = f'<svg {size} role="img" aria-label="{escape(label)}"{plot}>'
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
