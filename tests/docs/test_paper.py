"""docs/paper.md, all but its numbers; the tests of the claims compare those."""

import re

from documented import DOCUMENT, SEED, STALE
from ensample.claims import CLAIMS, Outcome, Scale, Section, Verdict
from ensample.report.paper import Finding
from ensample.report.paper.page import document
from ensample.report.paper.text import PROSE

ANY = Outcome(0.5, "<=", 1.0, 0.5, Verdict.HOLDS, 1)
MEASURED = re.compile(r"^(\| \[|- Measured:|- Power:|- Broken twin:).*$", re.MULTILINE)


def fixed(text: str) -> list[str]:
    """Paragraphs without what is measured."""
    return [
        part.strip()
        for part in MEASURED.sub(r"\1", text).split("\n\n")
        if not part.startswith("<img ")
    ]


def test_the_words_are_those_of_the_claims() -> None:
    now = document(
        [Finding(claim, ANY, ANY, powers=(2.0,) * len(claim.faults)) for claim in CLAIMS],
        Scale.QUICK,
        SEED,
        DOCUMENT.stem,
    )
    assert fixed(DOCUMENT.read_text()) == fixed(now), STALE


def test_every_claim_is_there_once_and_in_order() -> None:
    text = DOCUMENT.read_text()
    assert re.findall(r'<a id="([^"]*)"></a>', text) == [claim.id for claim in CLAIMS]
    assert (
        text.count("- Measured: ")
        == text.count("- Broken twin: ")
        == text.count("```math")
        == len(CLAIMS)
    )
    assert (
        text.count("- Power: ")
        == text.count(": **refuted**.")
        == len(re.findall(r": \*\*holds[^*]*\*\*\.", text))
        == len(CLAIMS)
    )


def test_every_link_leads_somewhere() -> None:
    text = DOCUMENT.read_text()
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) == set(re.findall(r'<a id="([^"]*)"', text))
    shown = set(re.findall(r'<img src="([^"]*)"', text))
    drawn = {
        f"images/paper/{path.name}" for path in (DOCUMENT.parent / "images" / "paper").iterdir()
    }
    assert shown == drawn and shown


def test_every_section_is_introduced() -> None:
    assert set(PROSE["sections"]) == {section.name.lower() for section in Section}
    for text in map(str.strip, PROSE["sections"].values()):
        assert text.count("$") % 2 == 0 and 2 <= len(re.findall(r"[.:;](?: |$)", text)) <= 9


def test_nothing_of_a_machine_is_in_it() -> None:
    assert not re.search(r"\d s\b|seconds|\d{4}-\d\d-\d\d|/tmp|/home", DOCUMENT.read_text())


def test_numbers_beside_axes_are_numbers() -> None:
    """A page would show a formula of the drawing library, such as `\\mathdefault{2}`, as it is."""
    for path in (DOCUMENT.parent / "images" / "paper").iterdir():
        text = re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.DOTALL)
        assert "mathdefault" not in text and "\\" not in text, path.name
