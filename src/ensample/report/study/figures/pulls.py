"""Which arms were played."""

import numpy as np

from ensample.lab.results import CellOutcome, Results
from ensample.numerals import numeral
from ensample.report.drawing.style import BANDS, HEAT
from ensample.report.study.figures.arrange import Looks, evenly
from ensample.report.study.figures.plates import LegendKey, Picture, Plate
from ensample.report.study.figures.rows import heat, heat_inches
from ensample.report.study.figures.series import Series, at_last_horizon, lowest, scenarios, singles
from ensample.report.study.words import assigned
from ensample.types import FloatArray

STRIPS, PANELS = 12, 6


def pull_plate(results: Results, looks: Looks) -> Plate | None:
    """Which arms were played; None where arms are not numbered."""
    pulled = [one for one in at_last_horizon(singles(results)) if one.outcomes[0].pulls is not None]
    pictures = []
    for group in evenly(list(scenarios(pulled).values()), PANELS):
        rows = [(row_name(one), shares(one.outcomes[0])) for one in representatives(group)]
        pictures.append(
            Picture(
                group[0].title(looks.several),
                lambda axes, rows=rows: heat(axes, rows),  # type: ignore[misc]
                height=heat_inches(len(rows)),
            )
        )
    if not pictures:
        return None
    labels = [
        f"below {numeral(100.0 * BANDS[1])}%",
        *(f"{numeral(100.0 * low)}% and more" for low in BANDS[1:-1]),
    ]
    legend = [LegendKey(look, label, "field") for look, label in zip(HEAT, labels, strict=True)]
    return Plate("pulls", "Share of the rounds by arm", pictures, legend)


def shares(outcome: CellOutcome) -> FloatArray:
    """Of the rounds, by arm."""
    assert outcome.pulls is not None
    return np.asarray(outcome.pulls.mean(axis=0) / outcome.cell.horizon)


def representatives(group: list[Series]) -> list[Series]:
    """All policies on a problem or, where these are many, each at its best number."""
    return (
        group if len(group) <= STRIPS else evenly(lowest(group, lambda one: one.identity), STRIPS)
    )


def row_name(one: Series) -> str:
    return ", ".join(filter(None, [one.policy, assigned(one.own)]))
