"""Regret beside what a theorem says of it."""

import math

from ensample.lab.results import CellOutcome, Results
from ensample.report.drawing.style import LOOKS
from ensample.report.study.figures.arrange import Looks, evenly
from ensample.report.study.figures.plates import LegendKey, Picture, Plate
from ensample.report.study.figures.rows import MOST_ROWS, Dot, DotRow, dots, inches
from ensample.report.study.words import assigned

MEAN, WORST, BOUND, TRIVIAL = (
    LOOKS[place]._replace(marker="o", dashes="-") for place in (0, 6, 8, 9)
)


def bound_plate(results: Results, looks: Looks) -> Plate | None:
    """Mean and worst regret, the theorem's bound and the trivial one, on a logarithmic axis; None without a theorem."""
    bounded = {
        row["cell"]: row["bound"] for row in results.cells.to_dicts() if row["bound"] is not None
    }
    groups: dict[str, list[CellOutcome]] = {}
    for outcome in results.outcomes:
        if outcome.cell.number in bounded:
            groups.setdefault(outcome.cell.policy, []).append(outcome)
    if not groups:
        return None
    pictures = []
    for policy, outcomes in groups.items():
        rows = [
            bound_row(outcome, bounded[outcome.cell.number], looks.several)
            for outcome in evenly(outcomes, MOST_ROWS)
        ]
        pictures.append(
            Picture(
                policy,
                lambda axes, rows=rows: dots(axes, rows, "regret"),  # type: ignore[misc]
                height=inches([row.depth for row in rows]),
            )
        )
    return Plate("bounds", "Regret and its bound", pictures, bound_legend())


def bound_legend() -> list[LegendKey]:
    names = {
        "mean regret": MEAN,
        "worst run": WORST,
        "bound of the theorem": BOUND,
        "2ST, true of anything": TRIVIAL,
    }
    return [LegendKey(look, name, "dot") for name, look in names.items()]


def bound_row(outcome: CellOutcome, bound: float, several: bool) -> DotRow:
    regret, setting = outcome.regret[:, -1], outcome.cell.recipe.setting
    assert setting is not None
    values = (
        float(regret.mean()),
        float(regret.max()),
        bound,
        2.0 * setting.norm * setting.horizon,
    )
    dots = [
        Dot(x, math.nan, math.nan, look)
        for x, look in zip(values, (MEAN, WORST, BOUND, TRIVIAL), strict=True)
    ]
    name = ", ".join(
        filter(None, [outcome.cell.problem if several else "", assigned(dict(outcome.cell.axes))])
    )
    return DotRow(name or outcome.cell.problem, dots, level=True)
