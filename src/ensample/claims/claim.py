"""A claim is a statement of the paper that a program can refute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

__all__ = ["Broken", "Check", "Claim", "Cost", "Curve", "Figure", "Kind", "Outcome", "Scale", "Section", "Verdict"]

Value = TypeVar("Value")


class Scale(StrEnum):
    """How much work a check may do: the whole suite takes under a minute, under 15 minutes, or hours, on two cores."""

    QUICK = "quick"
    STANDARD = "standard"
    PAPER = "paper"

    def choose(self, quick: Value, standard: Value, paper: Value) -> Value:
        """The value for this scale.

        >>> Scale.STANDARD.choose(100, 10_000, 1_000_000)
        10000
        """
        return {Scale.QUICK: quick, Scale.STANDARD: standard, Scale.PAPER: paper}[self]


class Kind(StrEnum):
    """What a claim says, which decides what evidence it needs."""

    IDENTITY = "identity"  # two computations agree up to rounding; the tolerance is stated
    INEQUALITY = "inequality"  # always true: one counterexample refutes it
    PROBABILITY = "probability"  # about the chance of an event: exact intervals at the suite's false-alarm rate
    RATE = "rate"  # about an exponent: an interval over independent replicates


class Verdict(StrEnum):
    HOLDS = "holds"  # the evidence lies on the statement's side
    REFUTED = "refuted"  # the evidence excludes the statement
    INCONCLUSIVE = "inconclusive"  # neither, and the outcome says which sample size would decide


class Section(StrEnum):
    """The parts of the paper, in its order."""

    ALGORITHM = "Ensemble sampling for linear bandits"
    GENERAL = "A general regret bound"
    ESTIMATES = "Two sources of randomness"
    OPTIMISM = "Optimism and the union bound"
    THEOREM = "Regret of linear ensemble sampling"
    HISTORY = "Perturbed-history exploration"
    LAWS = "Beyond Gaussian perturbations"
    AUXILIARY = "Auxiliary lemmas"
    LITERATURE = "From the literature"
    BEYOND = "Beyond the paper"


class Curve(NamedTuple):
    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    bound: bool = False  # a line of the theory rather than a measurement


@dataclass(frozen=True)
class Figure:
    """A small figure as plain data; a report draws it."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a check found. `ensample.claims.evidence` makes outcomes; a check rarely builds one by hand."""

    measured: float
    relation: str  # how the statement compares measured with bound: <=, >= or =
    bound: float
    margin: float  # room between the evidence's worst end and the bound, as a share of the bound; negative: none
    verdict: Verdict
    sample: int  # what was looked at: draws, runs, cases
    detail: str = ""
    decides: int | None = None  # for an inconclusive outcome: the sample size that would decide
    figure: Figure | None = None


Check = Callable[[Scale, int], Outcome]
"""check(scale, seed): a pure function of both, whatever runs beside it."""


class Broken(NamedTuple):
    """A broken twin: what was broken, and the same check on it, which must refute it."""

    description: str
    check: Check


class Cost(NamedTuple):
    """What a check takes on two cores once everything is compiled."""

    seconds: float
    megabytes: float = 100.0


@dataclass(frozen=True)
class Claim:
    """A statement, where it comes from, how to check it and a broken twin of it.

    >>> from ensample.claims.evidence import always_at_most
    >>> def check(scale, seed, size=1.0):
    ...     n = scale.choose(10, 100, 1000)
    ...     return always_at_most(max(x * (size - x) for x in (i / n for i in range(n + 1))), 0.25, n + 1)
    >>> claim = Claim(
    ...     id="product-of-parts",
    ...     title="The product of two parts of one",
    ...     statement="x (1 - x) is at most 1/4 for every x in [0, 1]",
    ...     latex=r"x (1 - x) \\le 1/4",
    ...     reference="school",
    ...     section=Section.AUXILIARY,
    ...     assumptions=("0 <= x <= 1",),
    ...     kind=Kind.INEQUALITY,
    ...     check=check,
    ...     broken=Broken("two parts of 1.1", lambda scale, seed: check(scale, seed, size=1.1)),
    ... )
    >>> claim.check(Scale.QUICK, 0).verdict.value, claim.broken.check(Scale.QUICK, 0).verdict.value
    ('holds', 'refuted')
    """

    id: str  # lower case words with hyphens
    title: str
    statement: str  # one line, in words
    latex: str
    reference: str  # a label in paper.tex, or the literature
    section: Section
    assumptions: tuple[str, ...]
    kind: Kind
    check: Check = field(repr=False)
    broken: Broken = field(repr=False)
    note: str = ""  # where the printed text is wrong, or an assumption matters
    costs: Mapping[Scale, Cost] = field(
        default_factory=lambda: {Scale.QUICK: Cost(1), Scale.STANDARD: Cost(10), Scale.PAPER: Cost(100)}, repr=False
    )
