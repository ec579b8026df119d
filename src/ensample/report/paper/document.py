"""The paper retold as claims: a Markdown file, its figures beside it."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ensample.claims import Scale
from ensample.files import write_whole
from ensample.report.drawing.files import keep
from ensample.report.paper.figures import described, for_file
from ensample.report.paper.findings import Finding
from ensample.report.paper.text import TITLE, Article, PaperPart, opening, parts

FIGURE_WIDTH = 460


def write_document(findings: Sequence[Finding], scale: Scale, seed: int, path: Path) -> list[Path]:
    """Write the document, and its figures in images/NAME beside it; say what was written."""
    folder = path.parent / "images" / path.stem
    figures = {
        finding.claim.id: finding.outcome.figure
        for finding in findings
        if finding.outcome.figure is not None
    }
    drawn = keep(
        folder, {f"{name}.svg": for_file(figure, name).encode() for name, figure in figures.items()}
    )
    write_whole(path, document(findings, scale, seed, path.stem).encode())
    return [path, *drawn]


def document(findings: Sequence[Finding], scale: Scale, seed: int, name: str) -> str:
    """All of it; figures are in images/`name`."""
    pieces = [f"# {TITLE}", *opening(findings, scale, seed)]
    for part in parts(findings):
        pieces += of_part(part, name)
    return "\n\n".join(pieces) + "\n"


def of_part(part: PaperPart, name: str) -> list[str]:
    pieces = [f"## {part.title}", part.words]
    for article in part.articles:
        pieces += of_article(article, name)
    return pieces


def of_article(article: Article, name: str) -> list[str]:
    claim, figure = article.finding.claim, article.finding.outcome.figure
    pieces = [f'<a id="{claim.id}"></a>', f"### {article.title}", article.words]
    if figure is not None:
        alt = escape(described(figure))
        pieces.append(
            f'<img src="images/{name}/{claim.id}.svg" width="{FIGURE_WIDTH}" alt="{alt}">'
        )
    return pieces
