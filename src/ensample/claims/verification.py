"""Find claims and run them: `find` and `verify`."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ensample.claims.statements  # noqa: F401 (registers the claims)
from ensample.checks import instance, whole
from ensample.claims.claim import SOUND, Claim, Cost, Outcome, Scale, Verdict
from ensample.claims.power import is_sharp, powers
from ensample.claims.texts import CHECKED, TEXTS, place
from ensample.errors import InvalidArgument
from ensample.memory import free_megabytes
from ensample.registry import one_of
from ensample.statistics import require_scipy

CLAIMS: tuple[Claim, ...] = tuple(CHECKED[id] for id in TEXTS)
"""Every claim, in the order of the paper."""


def find(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Return claims by their ids, in the order of the paper; all of them if none is named.

    >>> [claim.id for claim in find(["chi-square"])]
    ['chi-square']
    """
    names = [claim.id for claim in CLAIMS]
    for name in ids:
        if name not in names:
            raise InvalidArgument("claim", name, one_of(str(name), names))
    return tuple(claim for claim in CLAIMS if not ids or claim.id in ids)


class Checked(NamedTuple):
    """One claim's outcome, how long it took, and what else was asked for."""

    claim: Claim
    outcome: Outcome
    seconds: float
    sharp: bool = True  # False: it holds, and would with a tenfold fault
    powers: tuple[float | None, ...] | None = None  # of each family of faults; None: not asked for
    twin: Outcome | None = None  # what was found about the broken twin, at quick scale

    def as_data(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        claim, outcome = self.claim, self.outcome
        return {
            "claim": claim.id,
            "title": claim.title,
            "statement": claim.statement,
            "latex": claim.latex,
            "reference": claim.reference,
            "place": place(claim.reference),
            "section": claim.section.value,
            "assumptions": list(claim.assumptions),
            "note": claim.note,
            "kind": claim.kind.value,
            "measured": outcome.measured,
            "relation": outcome.relation,
            "bound": outcome.bound,
            "margin": outcome.margin,
            "verdict": outcome.verdict.value,
            "sharp": self.sharp,
            "faults": [fault.description for fault in claim.faults],
            "power": None if self.powers is None else list(self.powers),
            "sample": outcome.sample,
            "decides": outcome.decides,
            "detail": outcome.detail,
            "broken": claim.broken.description,
            "seconds": self.seconds,
        }


def verify(
    claims: Sequence[Claim],
    scale: Scale = Scale.QUICK,
    seed: int = 0,
    progress: Callable[[int, Claim | None], None] | None = None,
    power: bool = False,
    twins: bool = False,
) -> list[Checked]:
    """Check claims one after the other; those that simulate use all cores.

    The outcomes are a pure function of (claim, scale, seed): neither the order nor the company of a
    claim matters. `progress` is called with the number of finished claims and the claim that comes
    next. With `power` the smallest fault of each family that is refuted is looked for too, which
    takes several times as long; with `twins` the broken twins are checked, at quick scale, which is
    enough to refute them.

    >>> from ensample.claims import find
    >>> [row] = verify(find(["chi-square"]))
    >>> row.outcome.verdict.value
    'holds'
    """
    for claim in claims:
        instance("claims", claim, Claim, "claims, as find() gives them")
    scale = Scale(instance("scale", scale, Scale, "a Scale such as Scale.QUICK"))
    seed = whole("seed", seed, 0)
    require_scipy()
    require_memory(claims, scale)
    rows: list[Checked] = []
    for claim in claims:
        if progress is not None:
            progress(len(rows), claim)
        rows.append(checked(claim, scale, seed, power, twins))
    if progress is not None:
        progress(len(rows), None)
    return rows


def checked(claim: Claim, scale: Scale, seed: int, power: bool, twins: bool) -> Checked:
    start = time.perf_counter()
    judge = claim.measure(scale, seed)
    outcome = judge(SOUND)
    sharp = outcome.verdict is not Verdict.HOLDS or is_sharp(judge)
    seconds = time.perf_counter() - start
    found = powers(claim, scale, seed, judge) if power else None
    twin = (
        claim.check_broken(Scale.QUICK, seed, judge if scale is Scale.QUICK else None)
        if twins
        else None
    )
    return Checked(claim, outcome, seconds, sharp, found, twin)


def total_cost(claims: Sequence[Claim], scale: Scale) -> Cost:
    """Seconds of all claims together, megabytes of the largest."""
    costs = [claim.costs[scale] for claim in claims]
    return Cost(
        sum(cost.seconds for cost in costs), max((cost.megabytes for cost in costs), default=0.0)
    )


def require_memory(claims: Sequence[Claim], scale: Scale) -> None:
    """Raise, before any work, if a claim needs more memory than there is."""
    available = free_megabytes()
    for claim in claims:
        needed = claim.costs[scale].megabytes
        if available is not None and needed > available:
            raise InvalidArgument(
                "scale",
                scale.value,
                f"a scale that fits: {claim.id} needs {needed:,.0f} MB and {available:,.0f} MB are "
                "free",
            )
