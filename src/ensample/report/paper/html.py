"""The claims and what was measured, as one self-contained page."""

from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from ensample.claims import Scale, Section, Verdict
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.report.pages.resources import colours, resource
from ensample.report.paper import findings, prose
from ensample.report.paper.figures import for_page
from ensample.report.paper.findings import Entry
from ensample.report.paper.formula import formula
from ensample.report.paper.plain import for_html
from ensample.version import __version__

__all__ = ["page"]


def page(entries: Sequence[Entry], scale: Scale, seed: int) -> str:
    """HTML that needs nothing else: no script, no font, no picture from elsewhere."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"plain": plain, "prose": with_formulas, "formula": drawn, "figure": figure, "three": findings.three}
    environment.filters |= {"sentence": findings.sentence}
    return environment.from_string(resource("paper/paper.html.j2")).render(
        entries=entries,
        parts=[(section, found) for section in Section if (found := of_section(entries, section))],
        scale=scale,
        seed=seed,
        counts=findings.counted([entry.outcome for entry in entries]),
        seconds=sum(entry.seconds for entry in entries),
        alarm=SUITE_FALSE_ALARM,
        prose=prose,
        say=findings,
        refuted=Verdict.REFUTED,
        version=__version__,
        css=Markup(resource("pages/page.css") + resource("paper/paper.css")),
        colours=colours(),
    )


def of_section(entries: Sequence[Entry], section: Section) -> list[Entry]:
    return [entry for entry in entries if entry.claim.section is section]


def plain(text: str) -> Markup:
    return Markup(for_html(text))


def drawn(latex: str) -> Markup:
    return Markup(formula(latex))


def figure(entry: Entry) -> Markup:
    assert entry.outcome.figure is not None
    return Markup(for_page(entry.outcome.figure, entry.claim.id))


def with_formulas(text: str) -> Markup:
    """Prose, whose formulas stand between dollars."""
    parts = text.split("$")
    return Markup("").join(drawn(part) if place % 2 else plain(part) for place, part in enumerate(parts))
