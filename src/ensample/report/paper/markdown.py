"""The paper retold as claims, in Markdown: the same text for the same scale and seed, so that a test can call it stale."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ensample.claims import Claim, Outcome, Scale, Section
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.report.drawing.files import written
from ensample.report.paper import prose
from ensample.report.paper.figures import described, for_file
from ensample.report.paper.findings import (
    NOTHING,
    Entry,
    claimed,
    counted,
    detail,
    kind_of_reference,
    margin,
    measured,
    sentence,
    three,
    verdict,
)
from ensample.report.paper.plain import for_markdown

__all__ = ["document", "finding", "refutation", "summary_row", "write_document"]

FIGURE_WIDTH = 460


def write_document(entries: Sequence[Entry], scale: Scale, seed: int, path: Path) -> list[Path]:
    """Write the document, and its figures in images/NAME beside it; say what was written."""
    folder = path.parent / "images" / path.stem
    figures = {entry.claim.id: entry.outcome.figure for entry in entries if entry.outcome.figure is not None}
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [written(folder / f"{name}.svg", for_file(figure, name).encode()) for name, figure in figures.items()]
    return [written(path, document(entries, scale, seed, path.stem).encode()), *drawn]


def document(entries: Sequence[Entry], scale: Scale, seed: int, name: str) -> str:
    """All of it; figures are in images/`name`."""
    parts = [*opening(entries, scale, seed), summary(entries), notation()]
    for section in Section:
        found = [entry for entry in entries if entry.claim.section is section]
        if found:
            parts += [f"## {section.value}", with_formulas(prose.INTRODUCTIONS[section])]
            parts += [block(entry, name) for entry in found]
    return "\n\n".join(parts) + "\n"


def opening(entries: Sequence[Entry], scale: Scale, seed: int) -> list[str]:
    run = (
        f"This page is written by `ensample verify --scale {scale.value} --seed {seed} --markdown FILE` (`make docs`), and the "
        "tests compare it with what the claims say now. The probability that a run of all claims refutes a true one is "
        f"below {three(SUITE_FALSE_ALARM)} (rates suppose slopes that are about normal). An inequality that holds was not "
        "refuted by the cases tried; an equality of laws holds up to the stated tolerance."
    )
    return [
        "# The executable paper",
        f"{prose.PAPER}, as {len(entries)} claims: {counted([entry.outcome for entry in entries])}.",
        *(with_formulas(text) for text in (prose.ABOUT, *prose.READING)),
        run,
    ]


def summary(entries: Sequence[Entry]) -> str:
    lines = ["## Summary", "", "| claim | kind | measured | claimed | margin | verdict |", "|---|---|--:|--:|--:|---|"]
    section = None
    for entry in entries:
        if entry.claim.section is not section:
            section = entry.claim.section
            lines.append(f"| **{section.value}** | | | | | |")
        lines.append(summary_row(entry.claim, entry.outcome))
    return "\n".join(lines)


def notation() -> str:
    lines = ["## Notation", "", "| symbol | meaning |", "|---|---|"]
    for symbol in prose.NOTATION:
        lines.append(f"| {formula(symbol.latex, table=True)} | {with_formulas(symbol.meaning, table=True)} |")
    return "\n".join(lines)


def summary_row(claim: Claim, outcome: Outcome) -> str:
    numbers = f"{measured(claim, outcome)} | {claimed(outcome)} | {margin(claim, outcome)}"
    return f"| [{for_markdown(claim.title)}](#{claim.id}) | {claim.kind.value} | {numbers} | {verdict(outcome)} |"


def block(entry: Entry, name: str) -> str:
    """A claim: what it says, what was found, what became of its twin."""
    claim = entry.claim
    lines = [f"- Assumes: {'; '.join(for_markdown(text) for text in claim.assumptions)}."]
    lines += [finding(claim, entry.outcome), refutation(claim, entry.twin)]
    if claim.note:
        lines.append(f"- Note: {for_markdown(sentence(claim.note))}")
    parts = [heading(claim), "\n".join(lines)]
    figure = entry.outcome.figure
    if figure is not None:
        alt = escape(described(figure))
        parts.append(f'<img src="images/{name}/{claim.id}.svg" width="{FIGURE_WIDTH}" alt="{alt}">')
    return "\n\n".join(parts)


def heading(claim: Claim) -> str:
    origin = f"{kind_of_reference(claim.reference)} `{claim.reference}`".strip() if ":" in claim.reference else claim.reference
    return "\n\n".join(
        [
            f'<a id="{claim.id}"></a>',
            f"### {for_markdown(claim.title)}",
            for_markdown(sentence(claim.statement)),
            f"```math\n{claim.latex}\n```",
            f"{claim.kind.value.capitalize()} · {origin} · `ensample verify {claim.id}`",
        ]
    )


def finding(claim: Claim, outcome: Outcome) -> str:
    """The line of what was measured."""
    left = margin(claim, outcome)
    room = "" if left == NOTHING else f", margin {left}"
    numbers = f"{measured(claim, outcome)}, claimed {claimed(outcome)}{room}, from a sample of {outcome.sample:,}"
    said = f"- Measured: {numbers}: **{verdict(outcome)}**."
    more = "; ".join(for_markdown(part) for part in detail(outcome))
    return f"{said} {sentence(more)}".strip()


def refutation(claim: Claim, twin: Outcome) -> str:
    """The line of the broken twin."""
    numbers = f"measured {measured(claim, twin)}, claimed {claimed(twin)}"
    return f"- Broken twin: {for_markdown(claim.broken.description)}; {numbers}: **{verdict(twin)}**."


def formula(latex: str, table: bool = False) -> str:
    """Backticks keep Markdown from reading the formula; a bar would end the cell of a table."""
    if table:
        latex = latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"$`{latex}`$"


def with_formulas(text: str, table: bool = False) -> str:
    """Prose, whose formulas stand between dollars."""
    parts = text.split("$")
    return "".join(formula(part, table) if place % 2 else for_markdown(part) for place, part in enumerate(parts))
