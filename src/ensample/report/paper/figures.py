"""The small figures of claims, drawn from plain data: inside a page, and as files for light and dark screens."""

from typing import Any

from matplotlib.figure import Figure as Drawing

from ensample.claims import Curve, Figure
from ensample.report.drawing.axes import logarithmic
from ensample.report.drawing.style import INK, LOOKS, ON_A_PAGE, house_style, variables
from ensample.report.drawing.svg import inline
from ensample.report.paper.findings import three
from ensample.report.paper.plain import symbols

WIDTH, HEIGHT, LEGEND_LINE = 4.4, 2.5, 0.19  # inches
DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
SVG = '<svg xmlns="http://www.w3.org/2000/svg" '


def draw(figure: Figure, titled: bool = False) -> Drawing:
    """Measurements in colour, lines of the theory dashed, names below."""
    with house_style(**ON_A_PAGE):
        drawing = Drawing(
            figsize=(WIDTH, HEIGHT + LEGEND_LINE * len(figure.curves)), layout="constrained"
        )
        axes = drawing.subplots()
        for curve, (colour, dashes) in zip(figure.curves, looks(figure.curves), strict=True):
            width = 1.2 if curve.bound else 1.6
            axes.plot(
                curve.x,
                curve.y,
                color=colour,
                linestyle=dashes,
                linewidth=width,
                label=symbols(curve.label),
            )
        axes.set(xlabel=symbols(figure.x_label), ylabel=symbols(figure.y_label))
        axes.set(
            xscale="log" if figure.log_x else "linear", yscale="log" if figure.log_y else "linear"
        )
        for axis, is_logarithmic in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
            if is_logarithmic:
                logarithmic(axis)
        if titled:
            axes.set_title(symbols(figure.title), loc="left", fontweight="bold", pad=8)
        drawing.legend(
            loc="outside lower left", handlelength=2.2, labelspacing=0.3, borderaxespad=0.2
        )
    return drawing


def looks(curves: tuple[Curve, ...]) -> list[tuple[str, Any]]:
    """Colour and dashes of each curve; a bound takes the colour of its measurement where each has one of its own."""
    bounds = sum(curve.bound for curve in curves)
    in_pairs = 1 < bounds == len(curves) - bounds
    seen = {True: 0, False: 0}
    chosen: list[tuple[str, Any]] = []
    for curve in curves:
        place = seen[curve.bound]
        look = LOOKS[place % len(LOOKS)]
        if not curve.bound:
            chosen.append((look.colour, look.dashes))
        else:
            chosen.append(
                (look.colour, DASHES[0]) if in_pairs else (INK, DASHES[place % len(DASHES)])
            )
        seen[curve.bound] += 1
    return chosen


def described(figure: Figure) -> str:
    """The figure for those who do not see it."""
    ends = "; ".join(
        f"{curve.label} goes from {three(curve.y[0])} to {three(curve.y[-1])}"
        for curve in figure.curves
    )
    return symbols(f"{figure.title}. {figure.y_label} against {figure.x_label}: {ends}.")


def for_page(figure: Figure, name: str) -> str:
    """An <svg> element in the page's own font and colours."""
    return inline(draw(figure), name, described(figure))


def for_file(figure: Figure, name: str) -> str:
    """A file of its own, with a background, so that it can be read on any page."""
    light, dark = (
        {key: getattr(pair, mode) for key, pair in variables().items()}
        for mode in ("light", "dark")
    )
    text = inline(draw(figure, titled=True), name, described(figure))
    used = [key for key in variables() if f"var({key})" in text]
    rules = [
        f"svg{{color:{tone['--ink']};background:{tone['--paper']};{named(tone, used)}}}"
        for tone in (light, dark)
    ]
    style = f"<style>{rules[0]}@media (prefers-color-scheme:dark){{{rules[1]}}}text{{font-family:sans-serif}}</style>"
    opening, body = text.split(">", 1)
    return f"{opening.replace('<svg ', SVG, 1)}>{style}{body}\n"


def named(tones: dict[str, str], used: list[str]) -> str:
    return "".join(f"{key}:{tones[key]};" for key in used)
