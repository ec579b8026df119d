"""Write claims.json: texts of every claim, and findings of its checks at quick scale.

python -m golden.claims    (in tests/)
"""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ensample.claims import CLAIMS, Claim, Outcome, Scale
from ensample.claims.claim import SOUND, Judge
from ensample.claims.verification import Checked

STORED = Path(__file__).with_name("claims.json")
FAULT_SIZES = SOUND, 1.2, 2.0, 10.0
NOT_STORED = "seconds", "sharp", "power"


def texts(claim: Claim, outcome: Outcome) -> dict[str, Any]:
    """Return the texts of `ensample verify --json`, the families of faults and the stated costs."""
    data = Checked(claim, outcome, 0.0).as_data()
    return {key: value for key, value in data.items() if key not in NOT_STORED} | {
        "largest": [fault.largest for fault in claim.faults],
        "costs": {scale.value: list(cost) for scale, cost in claim.costs.items()},
    }


def numbers(outcome: Outcome) -> dict[str, Any]:
    figure = None if outcome.figure is None else summary(asdict(outcome.figure))
    return {
        "measured": finite(outcome.measured),
        "bound": finite(outcome.bound),
        "margin": finite(outcome.margin),
        "verdict": outcome.verdict.value,
        "sample": outcome.sample,
        "decides": outcome.decides,
        "figure": figure,
    }


def finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def summary(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a figure with the sums of its curves in place of their points."""
    curves = [
        [curve.label, len(curve.x), sum(curve.x), sum(curve.y), curve.bound]
        for curve in figure.pop("curves")
    ]
    return figure | {"curves": curves}


def record(claim: Claim, judge: Judge, scale: Scale = Scale.QUICK, seed: int = 0) -> dict[str, Any]:
    """Return all that is stored of a claim; `judge` is its measurement at this scale and seed."""
    others = [fault.measure(scale, seed) for fault in claim.faults[1:]]
    return {
        "texts": texts(claim, judge(SOUND)),
        "faults": [
            {str(size): numbers(family(size)) for size in FAULT_SIZES}
            for family in (judge, *others)
        ],
        "broken": numbers(claim.check_broken(scale, seed, judge)),
    }


def main() -> None:
    stored = [record(claim, claim.measure(Scale.QUICK, 0)) for claim in CLAIMS]
    lines = (json.dumps(claim, ensure_ascii=False) for claim in stored)
    STORED.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
