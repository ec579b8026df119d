"""Words of the paper retold as claims: pieces of Markdown for the document and the page.

The same findings give the same text on every machine, so that a test can call the document stale.
Numbers have three digits: few enough that the last bits of a processor's arithmetic do not show.
Errors of rounding have no digit that two machines agree on, so they are called rounding.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from ensample.claims import Claim, Kind, Outcome, Scale, Section, Verdict
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.claims.power import smallest
from ensample.claims.texts import place
from ensample.numerals import NOTHING, numeral
from ensample.report.paper.markdown import (
    code,
    math_block,
    quoted_formula,
    to_markdown,
    with_formulas,
)

TITLE = "The executable paper"
PROSE: dict[str, Any] = tomllib.loads(
    files("ensample.report.paper").joinpath("prose.toml").read_text(encoding="utf-8")
)
ROUNDING = 1e-9  # below this a number that should be 0 is the noise of arithmetic
RELATIONS = {"<=": "≤", ">=": "≥", "=": "="}
MOST_DETAILS = 6
SYMBOL_NAMES = ("theta", "lam", "beta")


class Finding(NamedTuple):
    """A claim, what its check found, and what the same check found about its broken twin."""

    claim: Claim
    outcome: Outcome
    twin: Outcome
    seconds: float = 0.0
    sharp: bool = True
    powers: tuple[float | None, ...] = ()


class Article(NamedTuple):
    """A claim in words: what is said, measured and broken."""

    finding: Finding
    title: str
    words: str


class PaperPart(NamedTuple):
    title: str
    words: str
    articles: Sequence[Article] = ()


def prose(text: str, table: bool = False) -> str:
    """Return a text of prose.toml as Markdown, in one line."""
    return with_formulas(" ".join(text.split()), table)


def opening(findings: Sequence[Finding], scale: Scale, seed: int) -> list[str]:
    """Return the paragraphs before the first part."""
    command = f"ensample verify --scale {scale.value} --seed {seed} --markdown FILE"
    run = (
        f"This page is written by `{command}` (`make docs`), and the "
        "tests compare it with what the claims say now. The probability that a run of all claims "
        f"refutes a true one is below {three_digits(SUITE_FALSE_ALARM)} (rates suppose slopes that "
        "are about normal). An inequality that holds was not refuted by the cases tried; an "
        "equality of laws holds up to the stated tolerance."
    )
    counts = count_verdicts([finding.outcome for finding in findings])
    texts = PROSE["about"], PROSE["proof"], *PROSE["reading"], PROSE["numbering"]
    first = f"{PROSE['paper']}, as {len(findings)} claims: {counts}."
    return [first, *map(prose, texts), run]


def parts(findings: Sequence[Finding]) -> list[PaperPart]:
    """Return summary, notation and the sections, in the order of the paper."""
    found = [PaperPart("Summary", summary(findings)), PaperPart("Notation", notation())]
    for section in Section:
        articles = [article(finding) for finding in findings if finding.claim.section is section]
        if articles:
            words = prose(PROSE["sections"][section.name.lower()])
            found.append(PaperPart(section.value, words, articles))
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
    power = NOTHING
    if finding.powers:
        power = fault_size(smallest(finding.powers), max(fault.largest for fault in claim.faults))
    cells = [
        f"[{to_markdown(claim.title)}](#{claim.id})",
        claim.kind.value,
        measured(claim, outcome),
        claimed(outcome),
        margin(claim, outcome),
        power,
        verdict(outcome, finding.sharp),
    ]
    return f"| {' | '.join(cells)} |"


def notation() -> str:
    lines = ["| symbol | meaning |", "|---|---|"]
    for symbol in PROSE["notation"]:
        latex = quoted_formula(symbol["latex"], table=True)
        lines.append(f"| {latex} | {prose(symbol['meaning'], table=True)} |")
    return "\n".join(lines)


def article(finding: Finding) -> Article:
    claim = finding.claim
    assumptions = "; ".join(map(to_markdown, claim.assumptions))
    lines = [f"- Assumes: {assumptions}."]
    lines.append(measurement(claim, finding.outcome, finding.sharp))
    lines += [strength(finding)] if finding.powers else []
    lines.append(refutation(claim, finding.twin))
    lines += [f"- Note: {to_markdown(sentence(claim.note))}"] if claim.note else []
    numbered = place(claim.reference)
    origin = to_markdown(claim.reference)
    if numbered is not None:
        origin = f"{to_markdown(numbered)}, {code(claim.reference)}"
    words = [
        to_markdown(sentence(claim.statement)),
        math_block(claim.latex),
        f"{claim.kind.value.capitalize()} · {origin} · {code(f'ensample verify {claim.id}')}",
        "\n".join(lines),
    ]
    return Article(finding, to_markdown(claim.title), "\n\n".join(words))


def measurement(claim: Claim, outcome: Outcome, sharp: bool) -> str:
    """Return the line of what was measured."""
    left = margin(claim, outcome)
    room = "" if left == NOTHING else f", margin {left}"
    numbers = f"{measured(claim, outcome)}, claimed {claimed(outcome)}{room}"
    sample = f"from a sample of {outcome.sample:,}"
    line = f"- Measured: {numbers}, {sample}: **{verdict(outcome, sharp)}**."
    more = "; ".join(map(to_markdown, details(outcome)))
    return f"{line} {sentence(more)}".strip()


def strength(finding: Finding) -> str:
    """Return the line of the smallest faults that are refuted."""
    found = []
    for fault, power in zip(finding.claim.faults, finding.powers, strict=True):
        if power is None:
            words = f"none with {fault.description}, up to {three_digits(fault.largest)}"
        else:
            size = fault_size(power, fault.largest)
            words = re.sub(r"\bf\b(?!.*\bf\b)", size, fault.description)
        found.append(to_markdown(words))
    return f"- Power: the smallest faults refuted: {'; '.join(found)}."


def refutation(claim: Claim, twin: Outcome) -> str:
    """Return the line of the broken twin."""
    numbers = f"measured {measured(claim, twin)}, claimed {claimed(twin)}"
    spoiled = to_markdown(claim.broken.description)
    return f"- Broken twin: {spoiled}; {numbers}: **{verdict(twin)}**."


def three_digits(x: float) -> str:
    """Round to three digits, of the whole part too.

    >>> three_digits(0.158655), three_digits(123_456.0), three_digits(4.57e12)
    ('0.159', '123,000', '4.57 × 10¹²')
    """
    return numeral(float(f"{x:.3g}"))


def measured(claim: Claim, outcome: Outcome) -> str:
    if is_rounding(claim, outcome):
        return "rounding"
    return three_digits(0.0 if abs(outcome.measured) < ROUNDING else outcome.measured)


def is_rounding(claim: Claim, outcome: Outcome) -> bool:
    """Return whether an error within its tolerance was measured, and nothing counted."""
    is_within = outcome.verdict is Verdict.HOLDS and outcome.bound > 0.0
    return claim.kind is Kind.IDENTITY and is_within


def claimed(outcome: Outcome) -> str:
    return f"{RELATIONS[outcome.relation]} {three_digits(outcome.bound)}"


def margin(claim: Claim, outcome: Outcome) -> str:
    """Return the room left as a share of the bound; a dash where there is no room to speak of.

    >>> from ensample.claims.evidence import always_at_most
    >>> from ensample.claims import find
    >>> [margin(*find(["chi-square"]), always_at_most(x, 1.0, 1)) for x in (0.25, 1.0, 3.0)]
    ['75%', '0', '−200%']
    """
    if is_rounding(claim, outcome):
        return NOTHING
    if abs(outcome.margin) < 5e-4:
        return "0"
    if outcome.bound == 0.0:  # there is no share of it, so the room is the number itself
        return three_digits(outcome.margin)
    if abs(outcome.margin) < 10.0:
        return f"{three_digits(100.0 * outcome.margin)}%"
    return f"{three_digits(outcome.margin)} times"


def verdict(outcome: Outcome, sharp: bool = True) -> str:
    """Return the verdict in words."""
    word = outcome.verdict.value
    if outcome.verdict is Verdict.HOLDS and not sharp:
        return f"{word}, not tested sharply"
    if outcome.decides is not None:
        return f"{word}: a sample of {outcome.decides:,} would decide"
    return word


def fault_size(power: float | None, largest: float) -> str:
    """Return the size of the smallest fault that is refuted."""
    if power is None:
        return f"> {three_digits(largest)}"
    return three_digits(power) if power >= 1.01 else f"1 + {numeral(float(f'{power - 1.0:.1g}'))}"


def details(outcome: Outcome) -> list[str]:
    """Return what the check adds; of many intervals without a name only those with one."""
    found = [part for part in outcome.detail.split("; ") if part]
    if len(found) > MOST_DETAILS:
        found = [part for part in found if not part.startswith("interval ")]
    more = len(found) - MOST_DETAILS
    return found if more <= 0 else [*found[:MOST_DETAILS], f"and {more} more"]


def count_verdicts(outcomes: list[Outcome]) -> str:
    """Return how many claims hold, are refuted and are inconclusive."""
    found = []
    for kind in Verdict:
        count = sum(outcome.verdict is kind for outcome in outcomes)
        word = "hold" if kind is Verdict.HOLDS and count > 1 else kind.value
        found += [f"{count} {word}"] if count else []
    return ", ".join(found)


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop; a symbol stays as it is.

    >>> sentence("a line, in words"), sentence("x* is best"), sentence("")
    ('A line, in words.', 'x* is best.', '')
    """
    first = text.split(" ")[0]
    is_word = first.isalpha() and first.islower() and (len(first) > 1 or first == "a")
    if is_word and first not in SYMBOL_NAMES:
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".!?" else f"{text}."
