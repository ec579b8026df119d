"""Texts of the claims, from claims.toml, and `claim`, which joins them with their checks."""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from ensample.claims.claim import (
    SOUND,
    Broken,
    Check,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Measure,
    Outcome,
    Scale,
    Section,
)

LARGEST = 100.0  # size of a fault that is tried, unless its claim says otherwise
MEGABYTES = [100.0] * len(Scale)

DATA = tomllib.loads((files("ensample.claims") / "claims.toml").read_text(encoding="utf-8"))
TEXTS: dict[str, dict[str, Any]] = {text["id"]: text for text in DATA["claims"]}
PLACES: dict[str, str] = DATA["places"]
CHECKED: dict[str, Claim] = {}
"""Claims by their ids, in the order in which their checks are imported."""


def claim(id: str, *measures: Measure, broken: Check | float) -> None:
    """Register the checks of a claim: a measure for each family of faults, and the broken twin."""
    text = dict(TEXTS[id])
    latex, note = text.pop("latex"), text.pop("note", "")
    faults = text.pop("faults")
    largest = text.pop("largest", [LARGEST] * len(faults))
    seconds, megabytes = text.pop("seconds"), text.pop("megabytes", MEGABYTES)
    CHECKED[id] = Claim(
        **text
        | {
            "section": Section[text["section"]],
            "kind": Kind(text["kind"]),
            "latex": latex if isinstance(latex, str) else "".join(latex),
            "note": note,
            "assumptions": tuple(text["assumptions"]),
            "faults": tuple(map(Fault, faults, measures, map(float, largest))),
            "broken": Broken(text["broken"], broken),
            "costs": dict(zip(Scale, map(Cost, seconds, megabytes), strict=True)),
        }
    )


def twin(measure: Callable[..., Judge], f: float = SOUND, **options: Any) -> Check:
    """Return the check of a broken twin: `measure` with other options or a fault of size f."""

    def check(scale: Scale, seed: int) -> Outcome:
        return measure(scale, seed, **options)(f)

    return check


def place(reference: str) -> str | None:
    """Return the number and name of a label of the paper; None if it is not one.

    >>> place("lma:rpe result"), place("Janz 2026")
    ('Lemma 3 (concentration and anti-concentration suffice)', None)
    """
    return PLACES.get(reference)


def cited(reference: str) -> str:
    """Return a reference in words: number, name and label, or the literature as it is.

    >>> cited("thm:enssamp"), cited("Janz 2026")
    ('Theorem 1 (regret bound of linear ensemble sampling), thm:enssamp', 'Janz 2026')
    """
    found = place(reference)
    return reference if found is None else f"{found}, {reference}"
