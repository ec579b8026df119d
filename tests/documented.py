"""Checks that docs/paper.md says what the claims say: the test of each compares its own lines.

Numbers may differ by one in their third digit: other processors round differently, and that is not
what makes a page stale.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ensample.claims import Claim, Kind, Outcome
from ensample.report.paper import Finding
from ensample.report.paper.page import svg_file
from ensample.report.paper.text import measurement, refutation, strength, summary_row

DOCUMENT = Path(__file__).parent.parent / "docs" / "paper.md"
SEED = 0
STALE = "docs/paper.md is stale: run `make docs`"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
CLOSE = 0.011  # one in the third digit
NOISE = 1e-8  # smaller numbers are errors of rounding
PIXEL = 0.5


def alike(now: str, then: str, apart: float = NOISE) -> bool:
    """The same words, and numbers that differ by no more than arithmetic does.

    >>> pairs = ("0.123 of 4,000", "0.124 of 4,000"), ("0.123", "0.128"), ("1 holds", "1 fails")
    >>> tuple(alike(*pair) for pair in pairs)
    (True, False, False)
    """
    if NUMBER.split(now) != NUMBER.split(then):
        return False
    pairs = zip(numbers(now), numbers(then), strict=True)
    # the name of an SVG path may read as an infinite number, such as 7e1234
    return all(
        one == other or abs(one - other) <= max(apart, CLOSE * max(one, other))
        for one, other in pairs
    )


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def says_what_was_found(finding: Finding) -> None:
    """Compare row, measurement and, unless it is a rounding error, the first family's power."""
    claim, outcome = finding.claim, finding.outcome
    says(claim, summary_row(finding), without_power)
    says(claim, measurement(claim, outcome, finding.sharp))
    if claim.kind is not Kind.IDENTITY:
        says(claim, strength(finding), first_power)
    drawing = DOCUMENT.parent / "images" / DOCUMENT.stem / f"{claim.id}.svg"
    assert drawing.exists() == (outcome.figure is not None), STALE
    if outcome.figure is not None and not alike(
        svg_file(outcome.figure, claim.id), drawing.read_text(), PIXEL
    ):
        pytest.fail(f"{drawing.name} is stale: run `make docs`")


def says_what_became_of_the_twin(claim: Claim, twin: Outcome) -> None:
    says(claim, refutation(claim, twin))


def says(claim: Claim, line: str, part: Callable[[str], str] = str) -> None:
    """Compare a part of this line with the lines of the claim's section, or of the summary."""
    text = DOCUMENT.read_text()
    summary, start = text.split("## Notation")[0], text.find(f'<a id="{claim.id}"></a>')
    assert start >= 0, STALE
    own = [*summary.splitlines(), *text[start:].split("<a id=", 2)[1].splitlines()]
    assert any(alike(part(line), part(written)) for written in own), (
        f"{STALE}; it should say: {line}"
    )


def without_power(row: str) -> str:
    cells = row.split(" | ")
    return " | ".join([*cells[:5], *cells[6:]])


def first_power(line: str) -> str:
    return line.removesuffix(".").partition("; ")[0]
