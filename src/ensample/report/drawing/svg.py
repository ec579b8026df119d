"""Figures inside a page: text in the page's own font, colours by the page's own names."""

import html
import re

from matplotlib.figure import Figure

from ensample.report.drawing.files import rendered
from ensample.report.drawing.marks import frame_of
from ensample.report.drawing.style import house_style, variables

ID = re.compile(r'\sid="([^"]*)"')
MARK = re.compile(r'\sid="(line|band)-([0-9a-f]{8})"')
REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]*)')
FONT = re.compile(r"font: ([\d.]+px)[^;\"]*")
PREAMBLE = re.compile(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL)
SIZE = re.compile(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>")


def inline(figure: Figure, name: str, label: str, framed: bool = False) -> str:
    """The figure as an <svg> element; `name` keeps its ids apart from those of other figures, `label` is read aloud.

    Curves that have marks keep them. `framed`: the page's script is told where the axes are, to say values.
    """
    with house_style(**{"svg.fonttype": "none"}):
        text = rendered(figure, "svg", transparent=True).decode()
    text = PREAMBLE.sub("", text[text.index("<svg ") :])
    box = SIZE.search(text)
    assert box is not None
    plot = f' data-plot="{html.escape(frame_of(figure.axes[0]))}"' if framed else ""
    opening = (
        f'<svg viewBox="{box[1]}" width="100%" role="img" aria-label="{html.escape(label)}"{plot}>'
    )
    body = text[box.end() :].replace(' xlink:href="', ' href="')
    return opening + themed(FONT.sub(r"font-size: \1", renamed(body, name))).strip()


def renamed(text: str, name: str) -> str:
    """Ids that are referred to get the figure's name before them; the others go."""
    text = MARK.sub(r' data-kind="\1" data-line="\2"', text)
    used = set(REFERENCE.findall(text))
    text = ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    return REFERENCE.sub(lambda found: found[0].replace("#", f"#{name}-", 1), text)


def themed(text: str) -> str:
    """Our colours by name, so that they change with the page."""
    for variable, pair in variables().items():
        text = text.replace(
            f": {pair.light}", ": currentColor" if variable == "--ink" else f": var({variable})"
        )
    return text
