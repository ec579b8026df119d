"""What a round costs."""

import math

from ensample.lab.results import Results
from ensample.report.study.figures import draw
from ensample.report.study.figures.arrange import Looks, arrange, evenly
from ensample.report.study.figures.plates import LOGARITHMIC, Picture, Plate, keys_of, shared_legend
from ensample.report.study.figures.rows import MOST_ROWS, Dot, DotRow, dots, inches
from ensample.report.study.figures.series import (
    along,
    at_last_horizon,
    numeric_axes,
    scenarios,
    singles,
)

PANELS = 4
STEADY = ("horizon", "scale", "noise", "regularization")  # axes that change no round's cost


def cost_plates(results: Results, looks: Looks) -> list[Plate]:
    """Time a round against each axis of numbers that may change it; of each policy where there is none."""
    if len(results.outcomes) < 2 or any(
        math.isnan(outcome.seconds_per_round) for outcome in results.outcomes
    ):
        return []
    plates = []
    for axis in (axis for axis in numeric_axes(results) if axis not in STEADY):
        lines = [
            one
            for one in at_last_horizon(along(results, axis))
            if axis in one.outcomes[0].cell.axes
        ]
        panels = arrange(lines, looks, PANELS).panels
        pictures = [
            Picture(
                panel.title,
                lambda axes, panel=panel, axis=axis: draw.against(
                    axes, panel.lines, axis, "µs a round", draw.cost
                ),  # type: ignore[misc]
                keys_of(panel),
                scale=LOGARITHMIC,
                framed=True,
            )
            for panel in panels
        ]
        plates.append(
            Plate(f"cost-{axis}", f"Time a round against {axis}", pictures, shared_legend(pictures))
        )
    return plates or [cost_by_policy(results, looks)]


def cost_by_policy(results: Results, looks: Looks) -> Plate:
    pictures = []
    for group in evenly(list(scenarios(at_last_horizon(singles(results))).values()), PANELS):
        named = [(one.name, Dot(*draw.cost(one.outcomes[0]), looks.of(one))) for one in group]
        rows = [
            DotRow(name, [dot for other, dot in named if other == name])
            for name in dict.fromkeys(name for name, _ in named)
        ]
        shown = evenly(rows, MOST_ROWS)
        pictures.append(
            Picture(
                group[0].title(looks.several),
                lambda axes, shown=shown: dots(axes, shown, "µs a round"),  # type: ignore[misc]
                height=inches([row.depth for row in shown]),
            )
        )
    return Plate("cost", "Time a round", pictures)
