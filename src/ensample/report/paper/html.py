"""The claims and what was measured, as one self-contained page: the Markdown of `text`, rendered."""

from collections.abc import Sequence

from markupsafe import Markup

from ensample.claims import Scale
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.numerals import duration
from ensample.report.pages.resources import colours, environment, resource
from ensample.report.paper import findings as say
from ensample.report.paper import prose
from ensample.report.paper.figures import for_page
from ensample.report.paper.findings import Finding
from ensample.report.paper.plain import for_markdown
from ensample.report.paper.rendering import blocks, inline
from ensample.report.paper.text import TITLE, parts, with_formulas
from ensample.version import __version__


def page(findings: Sequence[Finding], scale: Scale, seed: int) -> str:
    """HTML that needs nothing else: no script, no font, no picture from elsewhere."""
    pages = environment()
    pages.filters |= {
        "blocks": blocks,
        "inline": inline,
        "figure": figure,
        "slug": slug,
        "plain": plain,
        "duration": duration,
    }
    return pages.from_string(resource("paper/paper.html.j2")).render(
        title=TITLE,
        parts=parts(findings),
        findings=findings,
        paper=prose.PAPER,
        about=with_formulas(prose.ABOUT),
        reading=[with_formulas(text) for text in (prose.PROOF, *prose.READING)],
        scale=scale,
        seed=seed,
        counts=say.counted([finding.outcome for finding in findings]),
        seconds=sum(finding.seconds for finding in findings),
        alarm=say.three(SUITE_FALSE_ALARM),
        say=say,
        version=__version__,
        css=Markup(resource("pages/page.css") + resource("paper/paper.css")),
        colours=colours(),
    )


def plain(text: str) -> Markup:
    return inline(for_markdown(text))


def figure(finding: Finding) -> Markup:
    assert finding.outcome.figure is not None
    return Markup(for_page(finding.outcome.figure, finding.claim.id))


def slug(title: str) -> str:
    """
    >>> slug("Two sources of randomness")
    'two-sources-of-randomness'
    """
    return title.lower().replace(" ", "-")
