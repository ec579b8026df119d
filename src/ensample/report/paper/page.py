"""Page of the paper retold as claims, and the same as Markdown with figures."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure as Drawing

from ensample.claims import Curve, Figure, Scale
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.files import write_whole
from ensample.numerals import duration
from ensample.palette import INK, variables
from ensample.report.figures import write_files
from ensample.report.pages import inline_svg, render, resource
from ensample.report.paper import text as words
from ensample.report.paper.markdown import to_html, to_inline_html, to_markdown, with_symbols
from ensample.report.paper.text import PROSE, TITLE, Finding, PaperPart, prose, three_digits
from ensample.report.style import LOOKS, PAGE_STYLE, house_style, set_log_ticks

DOCUMENT_WIDTH = 460  # pixels of a figure in the document
WIDTH, HEIGHT, LEGEND_ROW = 4.4, 2.5, 0.19  # inches
DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def page(findings: Sequence[Finding], scale: Scale, seed: int) -> str:
    """Return HTML that needs nothing else: no script, no font, no picture from elsewhere."""
    filters: dict[str, Any] = {
        "blocks": to_html,
        "inline": to_inline_html,
        "figure": lambda finding: svg(finding.outcome.figure, finding.claim.id),
        "plain": lambda text: to_inline_html(to_markdown(text)),
        "duration": duration,
    }
    return render(
        "paper/page.html.j2",
        resource("paper/page.css"),
        filters,
        title=TITLE,
        parts=words.parts(findings),
        findings=findings,
        paper=PROSE["paper"],
        about=prose(PROSE["about"]),
        reading=[prose(text) for text in (PROSE["proof"], *PROSE["reading"])],
        scale=scale,
        seed=seed,
        counts=words.count_verdicts([finding.outcome for finding in findings]),
        seconds=sum(finding.seconds for finding in findings),
        alarm=three_digits(SUITE_FALSE_ALARM),
        verdict=words.verdict,
    )


def write_document(findings: Sequence[Finding], scale: Scale, seed: int, path: Path) -> list[Path]:
    """Write the Markdown, and its figures in images/NAME beside it; return the paths."""
    folder = path.parent / "images" / path.stem
    figures = {
        f"{finding.claim.id}.svg": svg_file(finding.outcome.figure, finding.claim.id).encode()
        for finding in findings
        if finding.outcome.figure is not None
    }
    drawn = write_files(folder, figures)
    write_whole(path, document(findings, scale, seed, path.stem).encode())
    return [path, *drawn]


def document(findings: Sequence[Finding], scale: Scale, seed: int, name: str) -> str:
    """Return the Markdown; figures are in images/`name`."""
    pieces = [f"# {TITLE}", *words.opening(findings, scale, seed)]
    for part in words.parts(findings):
        pieces += part_pieces(part, name)
    return "\n\n".join(pieces) + "\n"


def part_pieces(part: PaperPart, name: str) -> list[str]:
    pieces = [f"## {part.title}", part.words]
    for article in part.articles:
        claim, figure = article.finding.claim, article.finding.outcome.figure
        pieces += [f'<a id="{claim.id}"></a>', f"### {article.title}", article.words]
        if figure is not None:
            source = f"images/{name}/{claim.id}.svg"
            alt = escape(described(figure))
            pieces.append(f'<img src="{source}" width="{DOCUMENT_WIDTH}" alt="{alt}">')
    return pieces


def draw(figure: Figure, has_title: bool = False) -> Drawing:
    """Draw measurements in colour, bounds of the theory dashed, names below."""
    with house_style(**PAGE_STYLE):
        size = WIDTH, HEIGHT + LEGEND_ROW * len(figure.curves)
        drawing = Drawing(figsize=size, layout="constrained")
        axes = drawing.subplots()
        for curve, look in zip(figure.curves, line_looks(figure.curves), strict=True):
            width = 1.2 if curve.bound else 1.6
            axes.plot(curve.x, curve.y, linewidth=width, label=with_symbols(curve.label), **look)
        axes.set(xlabel=with_symbols(figure.x_label), ylabel=with_symbols(figure.y_label))
        if figure.log_x:
            axes.set_xscale("log")
        if figure.log_y:
            axes.set_yscale("log")
        logarithmic = (axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)
        set_log_ticks(*(axis for axis, is_logarithmic in logarithmic if is_logarithmic))
        if has_title:
            axes.set_title(with_symbols(figure.title), loc="left", fontweight="bold", pad=8)
        spaces = {"handlelength": 2.2, "labelspacing": 0.3, "borderaxespad": 0.2}
        drawing.legend(loc="outside lower left", **spaces)
    return drawing


def line_looks(curves: tuple[Curve, ...]) -> list[dict[str, Any]]:
    """Return colour and dashes of each curve; where each has a bound, both have one colour."""
    bounds = sum(curve.bound for curve in curves)
    in_pairs = 1 < bounds == len(curves) - bounds
    seen = {True: 0, False: 0}
    chosen: list[dict[str, Any]] = []
    for curve in curves:
        place = seen[curve.bound]
        look = LOOKS[place % len(LOOKS)]
        if not curve.bound:
            chosen.append({"color": look.colour, "linestyle": look.dashes})
        elif in_pairs:
            chosen.append({"color": look.colour, "linestyle": DASHES[0]})
        else:
            chosen.append({"color": INK, "linestyle": DASHES[place % len(DASHES)]})
        seen[curve.bound] += 1
    return chosen


def described(figure: Figure) -> str:
    """Describe the figure for those who do not see it."""
    ends = "; ".join(
        f"{curve.label} goes from {three_digits(curve.y[0])} to {three_digits(curve.y[-1])}"
        for curve in figure.curves
    )
    return with_symbols(f"{figure.title}. {figure.y_label} against {figure.x_label}: {ends}.")


def svg(figure: Figure, name: str, has_title: bool = False) -> Markup:
    """Return an <svg> element in the page's own font and colours."""
    return inline_svg(draw(figure, has_title), name, described(figure))


def svg_file(figure: Figure, name: str) -> str:
    """Return an SVG file with a background and colours of its own, light and dark."""
    text = str(svg(figure, name, has_title=True))
    used = [key for key in variables() if f"var({key})" in text]

    def rule(mode: str) -> str:
        tones = {key: getattr(pair, mode) for key, pair in variables().items()}
        own = "".join(f"{key}:{tones[key]};" for key in used)
        return f"svg{{color:{tones['--ink']};background:{tones['--paper']};{own}}}"

    dark = f"@media (prefers-color-scheme:dark){{{rule('dark')}}}"
    style = f"<style>{rule('light')}{dark}text{{font-family:sans-serif}}</style>"
    opening, body = text.split(">", 1)
    namespace = '<svg xmlns="http://www.w3.org/2000/svg" '
    return f"{opening.replace('<svg ', namespace, 1)}>{style}{body}\n"
