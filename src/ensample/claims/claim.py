"""A claim is a statement of the paper that a program can refute."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

SOUND = 1.0
"""The size of a fault that spoils nothing."""

Value = TypeVar("Value")


class Scale(StrEnum):
    """How much work a check may do.

    On two cores the whole suite takes under a minute, under 15 minutes, or hours.
    """

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
    """Kinds of claims, which need different evidence."""

    IDENTITY = "identity"  # two computations agree up to rounding; the tolerance is stated
    INEQUALITY = "inequality"  # always true: one counterexample refutes it
    PROBABILITY = "probability"  # about the chance of an event: exact intervals
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
    """A line of a figure; `curve` makes one of any numbers."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    bound: bool = False  # a line of the theory rather than a measurement


def curve(label: str, x: Iterable[float], y: Iterable[float], bound: bool = False) -> Curve:
    return Curve(label, tuple(map(float, x)), tuple(map(float, y)), bound)


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
    """The finding of a check, returned by the functions of `ensample.claims.evidence`."""

    measured: float
    relation: str  # how the statement compares measured with bound: <=, >= or =
    bound: float
    margin: float  # between the evidence's worst end and the bound, as a share of the bound
    verdict: Verdict
    sample: int  # what was looked at: draws, runs, cases
    detail: str = ""
    decides: int | None = None  # for an inconclusive outcome: the sample size that would decide
    figure: Figure | None = None


Judge = Callable[[float], Outcome]
"""judge(f): the verdict on the statement spoiled by a fault of size f; size 1 spoils nothing."""

Measure = Callable[[Scale, int], Judge]
"""measure(scale, seed): the work, done once for all faults, and a pure function of both."""

Check = Callable[[Scale, int], Outcome]


class Fault(NamedTuple):
    """A family of faults: what a fault of size f spoils, and the check of what is spoiled."""

    description: str  # names f: "the radius divided by f"
    measure: Measure
    largest: float = 100.0  # size that is tried


class Broken(NamedTuple):
    """A broken twin: what was broken, and the same check on it, which must refute it.

    A number in place of a check is the size of a fault of the claim's first family.
    """

    description: str
    check: Check | float


class Cost(NamedTuple):
    """Seconds and megabytes that a check takes on two cores."""

    seconds: float
    megabytes: float = 100.0


@dataclass(frozen=True)
class Claim:
    """A statement, where it comes from, how to check it, faults of any size and a broken twin.

    >>> from ensample.claims.evidence import always_at_most
    >>> def measure(scale, seed):
    ...     n = scale.choose(10, 100, 1000)
    ...     largest = max(x * (1 - x) for x in (i / n for i in range(n + 1)))
    ...     return lambda f: always_at_most(largest, 0.25 / f, n + 1)
    >>> claim = Claim(
    ...     id="product-of-parts",
    ...     title="The product of two parts of one",
    ...     statement="x (1 - x) is at most 1/4 for every x in [0, 1]",
    ...     latex=r"x (1 - x) \\le 1/4",
    ...     reference="school",
    ...     section=Section.AUXILIARY,
    ...     assumptions=("0 <= x <= 1",),
    ...     kind=Kind.INEQUALITY,
    ...     faults=(Fault("the bound divided by f", measure),),
    ...     broken=Broken("1/8 for 1/4", 2.0),
    ... )
    >>> claim.check(Scale.QUICK, 0).verdict.value, claim.check_broken(Scale.QUICK, 0).verdict.value
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
    faults: tuple[Fault, ...] = field(repr=False)  # the first spoils what is claimed
    broken: Broken = field(repr=False)
    note: str = ""  # where the printed text is wrong, or an assumption matters
    costs: Mapping[Scale, Cost] = field(
        default_factory=lambda: {
            Scale.QUICK: Cost(1),
            Scale.STANDARD: Cost(10),
            Scale.PAPER: Cost(100),
        },
        repr=False,
    )

    def measure(self, scale: Scale, seed: int) -> Judge:
        """The check's work, to be judged at any size of the first family's faults."""
        return self.faults[0].measure(scale, seed)

    def check(self, scale: Scale, seed: int) -> Outcome:
        """Check the statement as it is."""
        return self.measure(scale, seed)(SOUND)

    def check_broken(self, scale: Scale, seed: int, judge: Judge | None = None) -> Outcome:
        """Check the broken twin; `judge` is this claim's own at this scale and seed, if known."""
        broken = self.broken.check
        if callable(broken):
            return broken(scale, seed)
        return (judge or self.measure(scale, seed))(broken)
