"""Sections of a report: which figures and tables each has. Their words are in the template."""

from dataclasses import dataclass, field

from ensample.lab.results import Results
from ensample.report.study.answers import answer_table, answers
from ensample.report.study.measures import (
    bound_plate,
    cost_plates,
    hindsight,
    hindsight_plate,
    pull_plate,
)
from ensample.report.study.panels import Looks
from ensample.report.study.plates import Plate
from ensample.report.study.regret import axis_plates, category_plates, curve_plates, final_plate
from ensample.report.study.reproduction import grid_tables
from ensample.report.study.tables import (
    StudyTable,
    best_table,
    bound_table,
    final_table,
    published_table,
    ratio_table,
)


@dataclass(frozen=True)
class PageSection:
    """A part of the page."""

    name: str  # in the page's address
    title: str
    plates: list[Plate] = field(default_factory=list)
    tables: list[tuple[str, StudyTable]] = field(default_factory=list)  # heading, rows
    axis: str = ""  # of numbers or categories, where regret is shown against one


def sections(results: Results, baseline: str, stuck: list[str]) -> list[PageSection]:
    """Return the sections of a report on these results; one that does not apply is left out."""
    asked = PageSection("asked", "What was asked", tables=grid_tables(results.study))
    again = PageSection("again", "How to reproduce it")
    if not results.outcomes:
        return [asked, again]
    looks, found = Looks(results.study, baseline), answers(results)
    ratios, costs = hindsight(results), cost_plates(results, looks)
    best, bounds = best_table(results), bound_table(results)
    tables = [
        ("The lowest mean on each problem", best),
        ("All cells", final_table(results, baseline)),
    ]
    against = axis_plates(results, looks) | category_plates(results, looks)
    candidates = [
        section("final", "Final regret", [final_plate(results, looks)], tables),
        section(
            "hindsight",
            "Against the best in hindsight",
            [hindsight_plate(ratios)] if ratios else [],
            [("", ratio_table(ratios))] if ratios else [],
        ),
        section("published", "Published figures beside ours", [], [("", published_table(results))]),
        *(
            PageSection(plate.name, plate.title, [plate], [], axis)
            for axis, plate in against.items()
        ),
        section("bounds", "The theorem's bound", [bound_plate(results, looks)], [("", bounds)]),
        section("pulls", "Which arms were played", [pull_plate(results, looks)]),
        section("cost", "Cost per round", [*costs]),
    ]
    answer = section("answer", "The answer", [], [("", answer_table(found))])
    curves = PageSection("curves", "Regret over the rounds", curve_plates(results, looks))
    shown = [part for part in candidates if part.plates or part.tables]
    return [*([answer] if found or stuck else []), asked, curves, *shown, again]


def section(
    name: str,
    title: str,
    plates: list[Plate | None],
    tables: list[tuple[str, StudyTable | None]] | None = None,
) -> PageSection:
    """Return a section of those plates and tables that there are."""
    rows = [(heading, table) for heading, table in tables or [] if table is not None]
    return PageSection(name, title, [plate for plate in plates if plate is not None], rows)
