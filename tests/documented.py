"""Whether docs/paper.md says what the claims say now. The test of each claim compares its own lines: nothing runs twice.

Numbers may differ by one in their third digit: other processors round differently, and that is not what makes a page stale.
"""

import re
from pathlib import Path

import pytest

from ensample.claims import Claim, Outcome
from ensample.report.paper.figures import for_file
from ensample.report.paper.text import measurement, refutation, summary_row

__all__ = ["DOCUMENT", "SEED", "alike", "says_what_became_of_the_twin", "says_what_was_found"]

DOCUMENT = Path(__file__).parent.parent / "docs" / "paper.md"
SEED = 0
STALE = "docs/paper.md is stale: run `make docs`"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
CLOSE = 0.011  # one in the third digit
NOISE = 1e-8  # smaller numbers are errors of rounding
PIXEL = 0.5


def alike(now: str, then: str, apart: float = NOISE) -> bool:
    """The same words, and numbers that differ by no more than arithmetic does.

    >>> alike("holds: 0.123 of 4,000", "holds: 0.124 of 4,000"), alike("0.123", "0.128"), alike("1 holds", "1 fails")
    (True, False, False)
    """
    if NUMBER.split(now) != NUMBER.split(then):
        return False
    pairs = zip(numbers(now), numbers(then), strict=True)
    # the name of an SVG path may read as an infinite number, such as 7e1234
    return all(one == other or abs(one - other) <= max(apart, CLOSE * max(one, other)) for one, other in pairs)


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def says_what_was_found(claim: Claim, outcome: Outcome) -> None:
    says(claim, summary_row(claim, outcome))
    says(claim, measurement(claim, outcome))
    drawing = DOCUMENT.parent / "images" / DOCUMENT.stem / f"{claim.id}.svg"
    assert drawing.exists() == (outcome.figure is not None), STALE
    if outcome.figure is not None and not alike(for_file(outcome.figure, claim.id), drawing.read_text(), PIXEL):
        pytest.fail(f"{drawing.name} is stale: run `make docs`")


def says_what_became_of_the_twin(claim: Claim, twin: Outcome) -> None:
    says(claim, refutation(claim, twin))


def says(claim: Claim, line: str) -> None:
    text = DOCUMENT.read_text()
    summary, start = text.split("## Notation")[0], text.find(f'<a id="{claim.id}"></a>')
    assert start >= 0, STALE
    own = [*summary.splitlines(), *text[start:].split("<a id=", 2)[1].splitlines()]
    assert any(alike(line, written) for written in own), f"{STALE}; it should say: {line}"
