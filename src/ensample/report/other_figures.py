"""The other figures: cost, arms that were played, bounds."""

import math

import numpy as np

from ensample.lab.results import Outcome, Results
from ensample.report import draw
from ensample.report.arrange import Looks, arrange, evenly
from ensample.report.plates import Key, Picture, Plate, keys_of, shared_legend
from ensample.report.rows import Dot, Row, dots, heat, heat_inches, inches
from ensample.report.series import Series, along, at_last_horizon, lowest, numeric_axes, scenarios, singles
from ensample.report.style import BANDS, HEAT, LOOKS
from ensample.report.words import assigned
from ensample.types import FloatArray

__all__ = ["bound_plate", "cost_plates", "pull_plate"]

ROWS, HEAT_ROWS, HEAT_PANELS, COST_PANELS = 24, 12, 6, 4
STEADY = ("horizon", "scale", "noise", "regularization")  # axes that change no round's cost


def cost_plates(results: Results, looks: Looks) -> list[Plate]:
    """Time a round against each axis of numbers that may change it; of each policy where there is none."""
    if len(results.outcomes) < 2 or any(math.isnan(outcome.seconds_per_round) for outcome in results.outcomes):
        return []
    plates = []
    for axis in (axis for axis in numeric_axes(results) if axis not in STEADY):
        lines = [one for one in at_last_horizon(along(results, axis)) if axis in one.outcomes[0].cell.axes]
        panels = arrange(lines, looks, COST_PANELS).panels
        pictures = [
            Picture(
                panel.title,
                lambda axes, panel=panel, axis=axis: draw.against(axes, panel.lines, axis, "µs a round", draw.cost),  # type: ignore[misc]
                keys_of(panel),
            )
            for panel in panels
        ]
        plates.append(Plate(f"cost-{axis}", f"Time a round against {axis}", pictures, shared_legend(pictures)))
    return plates or [cost_by_policy(results, looks)]


def cost_by_policy(results: Results, looks: Looks) -> Plate:
    pictures = []
    for group in evenly(list(scenarios(at_last_horizon(singles(results))).values()), COST_PANELS):
        named = [(one.name, Dot(*draw.cost(one.outcomes[0]), looks.of(one))) for one in group]
        rows = [Row(name, [dot for other, dot in named if other == name]) for name in dict.fromkeys(name for name, _ in named)]
        shown = evenly(rows, ROWS)
        pictures.append(
            Picture(
                group[0].title(looks.several),
                lambda axes, shown=shown: dots(axes, shown, "µs a round"),  # type: ignore[misc]
                height=inches([row.depth for row in shown]),
            )
        )
    return Plate("cost", "Time a round", pictures)


def pull_plate(results: Results, looks: Looks) -> Plate | None:
    """Which arms were played; None where arms are not numbered."""
    pulled = [one for one in at_last_horizon(singles(results)) if one.outcomes[0].pulls is not None]
    pictures = []
    for group in evenly(list(scenarios(pulled).values()), HEAT_PANELS):
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
    labels = [f"below {100.0 * BANDS[1]:g}%", *(f"{100.0 * low:g}% and more" for low in BANDS[1:-1])]
    legend = [Key(look, label, "field") for look, label in zip(HEAT, labels, strict=True)]
    return Plate("pulls", "Share of the rounds by arm", pictures, legend)


def shares(outcome: Outcome) -> FloatArray:
    """Of the rounds, by arm."""
    assert outcome.pulls is not None
    return np.asarray(outcome.pulls.mean(axis=0) / outcome.cell.horizon)


def representatives(group: list[Series]) -> list[Series]:
    """All policies on a problem or, where these are many, each at its best number."""
    return group if len(group) <= HEAT_ROWS else evenly(lowest(group, lambda one: one.identity), HEAT_ROWS)


def row_name(one: Series) -> str:
    return ", ".join(filter(None, [one.policy, assigned(one.own)]))


def bound_plate(results: Results, looks: Looks) -> Plate | None:
    """Mean and worst regret, the theorem's bound and the trivial one, on a logarithmic axis; None without a theorem."""
    bounded = {row["cell"]: row["bound"] for row in results.cells.to_dicts() if row["bound"] is not None}
    groups: dict[str, list[Outcome]] = {}
    for outcome in results.outcomes:
        if outcome.cell.number in bounded:
            groups.setdefault(outcome.cell.policy, []).append(outcome)
    if not groups:
        return None
    pictures = []
    for policy, outcomes in groups.items():
        rows = [bound_row(outcome, bounded[outcome.cell.number], looks.several) for outcome in evenly(outcomes, ROWS)]
        pictures.append(
            Picture(
                policy,
                lambda axes, rows=rows: dots(axes, rows, "regret"),  # type: ignore[misc]
                height=inches([row.depth for row in rows]),
            )
        )
    return Plate("bounds", "Regret and its bound", pictures, bound_legend())


MEAN, WORST, BOUND, TRIVIAL = (LOOKS[place]._replace(marker="o", dashes="-") for place in (0, 6, 8, 9))


def bound_legend() -> list[Key]:
    names = {"mean regret": MEAN, "worst run": WORST, "bound of the theorem": BOUND, "2ST, true of anything": TRIVIAL}
    return [Key(look, name, "dot") for name, look in names.items()]


def bound_row(outcome: Outcome, bound: float, several: bool) -> Row:
    regret, setting = outcome.regret[:, -1], outcome.cell.recipe.setting
    assert setting is not None
    values = (float(regret.mean()), float(regret.max()), bound, 2.0 * setting.norm * setting.horizon)
    dots = [Dot(x, math.nan, math.nan, look) for x, look in zip(values, (MEAN, WORST, BOUND, TRIVIAL), strict=True)]
    name = ", ".join(filter(None, [outcome.cell.problem if several else "", assigned(dict(outcome.cell.axes))]))
    return Row(name or outcome.cell.problem, dots, level=True)
