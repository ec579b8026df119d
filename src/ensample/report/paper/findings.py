"""What a check found, in words that are the same on every machine.

Three digits are enough to read, and few enough for the last bits of a processor's arithmetic not to show. Errors of rounding
have no digit that two machines agree on, so they are called that.
"""

from typing import NamedTuple

from ensample.claims import Claim, Kind, Outcome, Verdict
from ensample.numerals import NOTHING, numeral

ROUNDING = 1e-9  # below this a number that should be 0 is the noise of arithmetic
RELATIONS = {"<=": "≤", ">=": "≥", "=": "="}
MOST_DETAILS = 6


class Finding(NamedTuple):
    """A claim, what its check found and what the same check found about its broken twin."""

    claim: Claim
    outcome: Outcome
    twin: Outcome
    seconds: float = 0.0
    sharp: bool = True
    powers: tuple[float | None, ...] = ()


def three(x: float) -> str:
    """Three digits, of the whole part too.

    >>> three(0.158655), three(123_456.0), three(4.57e12)
    ('0.159', '123,000', '4.57 × 10¹²')
    """
    return numeral(float(f"{x:.3g}"))


def measured(claim: Claim, outcome: Outcome) -> str:
    if only_rounding(claim, outcome):
        return "rounding"
    return three(0.0 if abs(outcome.measured) < ROUNDING else outcome.measured)


def only_rounding(claim: Claim, outcome: Outcome) -> bool:
    """Whether the measurement is an error within its tolerance. Where none is tolerated, things were counted."""
    return claim.kind is Kind.IDENTITY and outcome.verdict is Verdict.HOLDS and outcome.bound > 0.0


def claimed(outcome: Outcome) -> str:
    return f"{RELATIONS[outcome.relation]} {three(outcome.bound)}"


def margin(claim: Claim, outcome: Outcome) -> str:
    """Room as a share of the bound; a dash where there is no room to speak of.

    >>> from ensample.claims.evidence import always_at_most
    >>> from ensample.claims import find
    >>> [margin(*find(["chi-square"]), always_at_most(x, 1.0, 1)) for x in (0.25, 1.0, 3.0)]
    ['75%', '0', '−200%']
    """
    if only_rounding(claim, outcome):
        return NOTHING
    if abs(outcome.margin) < 5e-4:
        return "0"
    if outcome.bound == 0.0:  # then there is no share, and the room is the number itself
        return three(outcome.margin)
    return (
        f"{three(100.0 * outcome.margin)}%"
        if abs(outcome.margin) < 10.0
        else f"{three(outcome.margin)} times"
    )


def verdict(outcome: Outcome, sharp: bool = True) -> str:
    """
    >>> from ensample.claims.evidence import always_at_most
    >>> verdict(always_at_most(0.0, 1.0, 1)), verdict(always_at_most(0.0, 1.0, 1), sharp=False)
    ('holds', 'holds, not tested sharply')
    """
    said = outcome.verdict.value
    if outcome.verdict is Verdict.HOLDS and not sharp:
        return f"{said}, not tested sharply"
    return (
        said if outcome.decides is None else f"{said}: a sample of {outcome.decides:,} would decide"
    )


def size(power: float | None, largest: float) -> str:
    """The smallest fault that is refuted, as a size.

    >>> size(1.2345, 100.0), size(1 + 3.2e-9, 100.0), size(None, 100.0)
    ('1.23', '1 + 3 × 10⁻⁹', '> 100')
    """
    if power is None:
        return f"> {three(largest)}"
    return three(power) if power >= 1.01 else f"1 + {numeral(float(f'{power - 1.0:.1g}'))}"


def detail(outcome: Outcome) -> list[str]:
    """What the check adds; of many intervals without a name only those with one.

    >>> from dataclasses import replace
    >>> from ensample.claims.evidence import always_at_most
    >>> detail(replace(always_at_most(0.0, 1.0, 1), detail="; ".join(["interval [0, 1]"] * 50 + ["n = 2: least 0.3"])))
    ['n = 2: least 0.3']
    """
    parts = [part for part in outcome.detail.split("; ") if part]
    if len(parts) > MOST_DETAILS:
        parts = [part for part in parts if not part.startswith("interval ")]
    more = len(parts) - MOST_DETAILS
    return parts if more <= 0 else [*parts[:MOST_DETAILS], f"and {more} more"]


def counted(outcomes: list[Outcome]) -> str:
    """
    >>> from ensample.claims.evidence import always_at_most
    >>> counted([always_at_most(0.0, 1.0, 1), always_at_most(2.0, 1.0, 1)])
    '1 holds, 1 refuted'
    """
    counts = {
        verdict: sum(outcome.verdict is verdict for outcome in outcomes) for verdict in Verdict
    }
    words = {
        Verdict.HOLDS: "hold",
        Verdict.REFUTED: "refuted",
        Verdict.INCONCLUSIVE: "inconclusive",
    }
    said = {
        verdict: "holds" if verdict is Verdict.HOLDS and count == 1 else words[verdict]
        for verdict, count in counts.items()
    }
    return ", ".join(f"{count} {said[verdict]}" for verdict, count in counts.items() if count)


def sentence(text: str) -> str:
    """With a capital and a full stop; a symbol stays as it is.

    >>> sentence("a line, in words"), sentence("x* is best"), sentence("")
    ('A line, in words.', 'x* is best.', '')
    """
    first = text.split(" ")[0]
    if (
        first.isalpha()
        and first.islower()
        and (len(first) > 1 or first == "a")
        and first not in ("theta", "lam", "beta")
    ):
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".!?" else f"{text}."
