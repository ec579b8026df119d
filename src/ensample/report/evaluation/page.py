"""Evaluations as one self-contained page."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ensample.evaluation import Estimate, Evaluation
from ensample.evaluation.evaluation import warnings_of
from ensample.numerals import aligned, numeral, signed
from ensample.report.drawing.svg import inline
from ensample.report.evaluation import figures
from ensample.report.pages.resources import colours, environment, resource
from ensample.version import __version__

MEANINGS = {
    "ips": "rewards, weighted by how much likelier the policy was to choose so: unbiased, and as noisy as its largest weights",
    "snips": "the same, divided by the sum of the weights: a little bias for much less noise",
    "dm": "what a model of the rewards expects: no noise of weights, and whatever the model gets wrong",
    "dr": "the model, corrected by the weighted rewards: unbiased as IPS is, with the noise of what the model misses",
}
DRAWN = (
    ("over_time", "DR while the rows came in", "The interval holds at all rows at once."),
    (
        "side_by_side",
        "The estimators side by side",
        "DM has no interval: nothing bounds what its model gets wrong.",
    ),
    ("weights", "Weights", "Rows of weight 0 say nothing; a few large weights decide the rest."),
)


class PolicyPart(NamedTuple):
    """One policy as the page shows it."""

    name: str
    found: Evaluation
    answer: str
    pictures: list[tuple[str, Markup, str]]
    rows: list[tuple[str, str, str, str]]
    segments: list[tuple[str, Estimate, Estimate]]


def page(found: Sequence[Evaluation], log: str) -> str:
    """HTML that needs nothing else: no script, no font, no picture from elsewhere."""
    pages = environment()
    pages.filters |= {"aligned": aligned, "numeral": numeral, "signed": signed}
    return pages.from_string(resource("evaluation/evaluation.html.j2")).render(
        log=log,
        first=found[0],
        same_rows=len({(each.rows, each.logged) for each in found}) == 1,
        forest=forest(found) if len(found) > 1 else "",
        parts=[part(each, f"policy-{place}") for place, each in enumerate(found)],
        warnings=warnings_of(found),
        sure=f"{1.0 - found[0].alarm:.0%}",
        meanings=MEANINGS,
        version=__version__,
        css=Markup(resource("pages/page.css")),
        colours=colours(),
    )


def forest(found: Sequence[Evaluation]) -> Markup:
    said = "; ".join(f"{each.target}: {span(each['dr'])}" for each in found)
    return Markup(
        inline(figures.forest(found), "forest", f"Reward a row by DR, with its interval: {said}")
    )


def part(found: Evaluation, name: str) -> PolicyPart:
    pictures = []
    for kind, title, note in DRAWN:
        figure = getattr(figures, kind)(found)
        pictures.append(
            (title, Markup(inline(figure, f"{name}-{kind}", f"{title}: {found.target}")), note)
        )
    rows = [
        (key.upper(), aligned(found[key].value), span(found[key]), MEANINGS[key]) for key in found
    ]
    segments = [
        (label, each["dr"], each["lift"]) for label, each in sorted(found.segments().items())
    ]
    return PolicyPart(name, found, answer(found), pictures, rows, segments)


def answer(found: Evaluation) -> str:
    """The first thing one wants to know."""
    lift = found.lift
    if lift.low > 0.0:
        said = "more than what was logged"
    elif lift.high < 0.0:
        said = "less than what was logged"
    else:
        said = "and the log does not say whether that is more or less than what was logged"
    return f"{found.target} would have earned {numeral(found['dr'].value)} a row, {said}."


def span(found: Estimate) -> str:
    return "" if math.isnan(found.low) else f"{aligned(found.low)} to {aligned(found.high)}"
