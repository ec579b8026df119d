"""The paper retold as claims, in pieces of Markdown: what the document and the page are both made of.

The same findings give the same text, so that a test can call the document stale.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ensample.claims import Claim, Outcome, Scale, Section
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.claims.power import smallest
from ensample.claims.texts import place
from ensample.numerals import NOTHING
from ensample.report.paper import prose
from ensample.report.paper.findings import (
    Finding,
    claimed,
    counted,
    detail,
    margin,
    measured,
    sentence,
    size,
    three,
    verdict,
)
from ensample.report.paper.plain import for_markdown

TITLE = "The executable paper"


class Article(NamedTuple):
    """A claim: its title, and what is said, measured and broken."""

    finding: Finding
    title: str
    words: str


class PaperPart(NamedTuple):
    title: str
    words: str
    articles: Sequence[Article] = ()


def opening(findings: Sequence[Finding], scale: Scale, seed: int) -> list[str]:
    """The paragraphs before the first part."""
    run = (
        f"This page is written by `ensample verify --scale {scale.value} --seed {seed} --markdown FILE` (`make docs`), and the "
        "tests compare it with what the claims say now. The probability that a run of all claims refutes a true one is "
        f"below {three(SUITE_FALSE_ALARM)} (rates suppose slopes that are about normal). An inequality that holds was not "
        "refuted by the cases tried; an equality of laws holds up to the stated tolerance."
    )
    return [
        f"{prose.PAPER}, as {len(findings)} claims: {counted([finding.outcome for finding in findings])}.",
        *(
            with_formulas(text)
            for text in (prose.ABOUT, prose.PROOF, *prose.READING, prose.NUMBERING)
        ),
        run,
    ]


def parts(findings: Sequence[Finding]) -> list[PaperPart]:
    """All of it, in the order of the paper."""
    found = [PaperPart("Summary", summary(findings)), PaperPart("Notation", notation())]
    for section in Section:
        articles = [article(finding) for finding in findings if finding.claim.section is section]
        if articles:
            found.append(
                PaperPart(section.value, with_formulas(prose.INTRODUCTIONS[section]), articles)
            )
    return found


def summary(findings: Sequence[Finding]) -> str:
    lines = [
        "| claim | kind | measured | claimed | margin | power | verdict |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    section = None
    for finding in findings:
        if finding.claim.section is not section:
            section = finding.claim.section
            lines.append(f"| **{section.value}** | | | | | | |")
        lines.append(summary_row(finding))
    return "\n".join(lines)


def summary_row(finding: Finding) -> str:
    claim, outcome = finding.claim, finding.outcome
    numbers = f"{measured(claim, outcome)} | {claimed(outcome)} | {margin(claim, outcome)} | {sharpest(finding)}"
    said = verdict(outcome, finding.sharp)
    return (
        f"| [{for_markdown(claim.title)}](#{claim.id}) | {claim.kind.value} | {numbers} | {said} |"
    )


def sharpest(finding: Finding) -> str:
    """The smallest fault refuted, of any family."""
    if not finding.powers:
        return NOTHING
    return size(smallest(finding.powers), max(fault.largest for fault in finding.claim.faults))


def notation() -> str:
    lines = ["| symbol | meaning |", "|---|---|"]
    for symbol in prose.NOTATION:
        lines.append(
            f"| {formula(symbol.latex, table=True)} | {with_formulas(symbol.meaning, table=True)} |"
        )
    return "\n".join(lines)


def article(finding: Finding) -> Article:
    claim = finding.claim
    fence = "`" * max(3, 1 + longest_run(claim.latex))
    lines = [f"- Assumes: {'; '.join(for_markdown(text) for text in claim.assumptions)}."]
    lines += [measurement(claim, finding.outcome, finding.sharp)]
    lines += [strength(finding)] if finding.powers else []
    lines += [refutation(claim, finding.twin)]
    if claim.note:
        lines.append(f"- Note: {for_markdown(sentence(claim.note))}")
    words = [
        for_markdown(sentence(claim.statement)),
        f"{fence}math\n{claim.latex}\n{fence}",
        f"{claim.kind.value.capitalize()} · {origin(claim.reference)} · {code(f'ensample verify {claim.id}')}",
        "\n".join(lines),
    ]
    return Article(finding, for_markdown(claim.title), "\n\n".join(words))


def origin(reference: str) -> str:
    """Where a claim stands: number, name and label in the paper, or the literature."""
    found = place(reference)
    return for_markdown(reference) if found is None else f"{for_markdown(found)}, {code(reference)}"


def measurement(claim: Claim, outcome: Outcome, sharp: bool) -> str:
    """The line of what was measured."""
    left = margin(claim, outcome)
    room = "" if left == NOTHING else f", margin {left}"
    numbers = f"{measured(claim, outcome)}, claimed {claimed(outcome)}{room}, from a sample of {outcome.sample:,}"
    said = f"- Measured: {numbers}: **{verdict(outcome, sharp)}**."
    more = "; ".join(for_markdown(part) for part in detail(outcome))
    return f"{said} {sentence(more)}".strip()


def strength(finding: Finding) -> str:
    """The line of the smallest faults that are refuted."""
    told = []
    for fault, power in zip(finding.claim.faults, finding.powers, strict=True):
        if power is None:
            told.append(f"none with {fault.description}, up to {three(fault.largest)}")
        else:
            told.append(re.sub(r"\bf\b(?!.*\bf\b)", size(power, fault.largest), fault.description))
    return (
        f"- Power: the smallest faults refuted: {'; '.join(for_markdown(part) for part in told)}."
    )


def refutation(claim: Claim, twin: Outcome) -> str:
    """The line of the broken twin."""
    numbers = f"measured {measured(claim, twin)}, claimed {claimed(twin)}"
    return (
        f"- Broken twin: {for_markdown(claim.broken.description)}; {numbers}: **{verdict(twin)}**."
    )


def formula(latex: str, table: bool = False) -> str:
    """Backticks keep Markdown from reading the formula; a bar would end the cell of a table."""
    if table:
        latex = latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"$`{latex}`$"


def with_formulas(text: str, table: bool = False) -> str:
    """Prose, whose formulas stand between dollars."""
    pieces = text.split("$")
    return "".join(
        formula(piece, table) if place % 2 else for_markdown(piece)
        for place, piece in enumerate(pieces)
    )


def code(text: str) -> str:
    """
    >>> code("lma:a"), code("a `b` c")
    ('`lma:a`', '``a `b` c``')
    """
    ticks = "`" * (1 + longest_run(text))
    return f"{ticks}{text}{ticks}"


def longest_run(text: str) -> int:
    """Of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
