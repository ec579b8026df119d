"""Parts of pages: templates with our style sheet, and figures as <svg> elements.

A figure calls our colours by the names of CSS variables, so that one drawing serves light and dark.
"""

import re
from html import escape
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from ensample.palette import sheet, variables
from ensample.report.figures import rendered
from ensample.report.style import house_style
from ensample.version import __version__

ID = re.compile(r'\sid="([^"]*)"')
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


def inline_svg(figure: Figure, name: str, label: str) -> Markup:
    """Return the figure as an <svg> element in the page's own font and colours.

    `name` keeps its ids apart from those of other figures, `label` is read aloud.
    """
    with house_style(**{"svg.fonttype": "none"}):
        text = rendered(figure, "svg", transparent=True).decode()
    width, height = (72.0 * inches for inches in figure.get_size_inches())
    size = f'viewBox="0 0 {width:.10g} {height:.10g}" width="100%"'
    opening = f'<svg {size} role="img" aria-label="{escape(label)}">'
    body = text[text.index("<g id=") :].replace(' xlink:href="', ' href="')
    body = FONT.sub(r"font-size: \1", with_own_ids(body, name))
    for variable, pair in variables().items():
        colour = "currentColor" if variable == "--ink" else f"var({variable})"
        body = body.replace(f": {pair.light}", f": {colour}")
    return Markup(opening + body.strip())


def with_own_ids(text: str, name: str) -> str:
    """Put the figure's name before ids that are referred to, and remove the others."""
    used = set(REFERENCE.findall(text))
    text = ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    return REFERENCE.sub(lambda found: found[0].replace("#", f"#{name}-", 1), text)
