"""Sections of a report; one that does not apply is left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ensample.lab.results import Results
from ensample.report.study.answers import (
    answer_table,
    answer_words,
    answers,
    stuck_words,
    surely_words,
)
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
from ensample.report.study.reproduction import (
    all_code,
    as_toml,
    grid_tables,
    own_code_words,
    provenance,
)
from ensample.report.study.series import split_axes
from ensample.report.study.tables import (
    StudyTable,
    best_table,
    bound_table,
    final_table,
    published_table,
    ratio_table,
)

ASKED = (
    "Every policy on every problem; a list of values is an axis of the grid, "
    "and every combination is a cell."
)
REGRET = (
    "Regret is what the best arm would have earned on average, "
    "less what the chosen arms earn on average."
)
LONGEST = (
    "Curves are those of the longest horizon; "
    "the others are in the table and in the figure against it."
)
HINDSIGHT = (
    "The best in hindsight is, on each problem, the lowest mean of all policies whose numbers "
    "are a choice. A ratio is a policy's mean regret over that; "
    "it is below 1 where a policy without a choice does better."
)
PUBLISHED = (
    "Published for these cells: ± is a standard error, "
    "the distance is in joint ones where theirs is known."
)
PULLS = (
    "Arms are ordered by their means in each run, "
    "so that the first field is the best arm of every run."
)
COST = (
    "Time of one thread, the median of the runs, on the machine named below. "
    "A busy machine shows here."
)


@dataclass(frozen=True)
class PageSection:
    """A part of the page: words, figures, tables, text to unfold."""

    name: str  # in the page's address
    title: str
    words: list[str] = field(default_factory=list)
    plates: list[Plate] = field(default_factory=list)
    tables: list[tuple[str, StudyTable]] = field(default_factory=list)  # heading, rows
    texts: list[tuple[str, str]] = field(default_factory=list)  # heading, what it unfolds to
    facts: list[dict[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # easily overlooked


def sections(results: Results, baseline: str) -> list[PageSection]:
    """Return the sections of a report on these results."""
    study = results.study
    file = ("The study as a file", as_toml(study))
    asked = PageSection("asked", "What was asked", [ASKED], [], grid_tables(study), [file])
    if not results.outcomes:
        return [asked, reproduction_section(results)]
    looks = Looks(study, baseline)
    return [
        *answer_section(results),
        asked,
        *regret_sections(results, looks, baseline),
        *measure_sections(results, looks),
        reproduction_section(results),
    ]


def answer_section(results: Results) -> Iterator[PageSection]:
    """Yield the answer, if there is anything to compare or a run is stuck."""
    found, stuck = answers(results), stuck_words(results)
    words = answer_words(found) if found else []
    if found and results.study.runs > 1:
        words.append(surely_words(found))
    table = answer_table(found)
    if found or stuck:
        tables = [("", table)] if table else []
        yield PageSection("answer", "The answer", words, tables=tables, notices=stuck)


def regret_sections(results: Results, looks: Looks, baseline: str) -> Iterator[PageSection]:
    words = [REGRET, LONGEST] if "horizon" in results.axes else [REGRET]
    plates = curve_plates(results, looks)
    yield PageSection("curves", "Regret over the rounds", words, plates)
    policies = {outcome.cell.policy for outcome in results.outcomes}
    has_baseline = len(results.outcomes) > 1 and baseline in policies
    plate, best = final_plate(results, looks), best_table(results)
    tables = [("The lowest mean on each problem", best)] if best else []
    tables.append(("All cells", final_table(results, baseline)))
    words = final_words(results, baseline if has_baseline else "")
    yield PageSection("final", "Final regret", words, [plate] if plate else [], tables)
    if found := hindsight(results):
        plates, tables = [hindsight_plate(found)], [("", ratio_table(found))]
        title = "Against the best in hindsight"
        yield PageSection("hindsight", title, [HINDSIGHT], plates, tables)
    published = published_table(results)
    if published is not None:
        tables = [("", published)]
        yield PageSection("published", "Published figures beside ours", [PUBLISHED], [], tables)
    for axis, plate in (axis_plates(results, looks) | category_plates(results, looks)).items():
        yield PageSection(plate.name, plate.title, slope_words(plate, axis), [plate])


def measure_sections(results: Results, looks: Looks) -> Iterator[PageSection]:
    """Yield sections about bounds, arms and cost."""
    table, bounds = bound_table(results), bound_plate(results, looks)
    if table is not None and bounds is not None:
        words = bound_words(table)
        yield PageSection("bounds", "The theorem's bound", words, [bounds], [("", table)])
    pulls = pull_plate(results, looks)
    if pulls is not None:
        yield PageSection("pulls", "Which arms were played", [PULLS], [pulls])
    costs = cost_plates(results, looks)
    if costs:
        yield PageSection("cost", "Cost per round", [COST], costs)


def final_words(results: Results, baseline: str) -> list[str]:
    study = results.study
    words = ["One run a cell, so there are no intervals."] if study.runs == 1 else []
    if not baseline:
        return words
    paired = "in a run all policies face the same problem and noise"
    words.append(f"Differences are from {baseline}, run by run: {paired}.")
    if any(split_axes(study, cell)[1] for cell in study.cells if cell.policy == baseline):
        words.append(
            f"Of the cells of {baseline} it is the one with the same values of its axes, "
            "else the first, without a mark: another of them may be better."
        )
    if study.runs > 1:
        words.append(
            "▼ is lower and ▲ higher than the baseline, "
            "where the 95% interval of that one comparison leaves out zero."
        )
    return words


def slope_words(plate: Plate, axis: str) -> list[str]:
    """Explain the numbers below the panels, if there are any."""
    if not any(picture.remarks for picture in plate.pictures):
        return []
    return [
        f"With each panel: the slope of log regret against log {axis}, with a 95% interval "
        "(bootstrap over the runs). Slope 0.5 is growth like a square root, 0 is no growth; "
        "of a line that bends a slope says little."
    ]


def bound_words(table: StudyTable) -> list[str]:
    rows = [row for group in table.groups for row in group.rows]
    vacuous = sum(row[-1].text.startswith("above") for row in rows)
    words = [
        "A bound holds for all rounds up to the horizon, with the probability named beside it."
    ]
    if vacuous:
        words.append(
            f"In {vacuous:,} of {table.size:,} cells it is above 2ST, which no policy can exceed "
            "when means lie in [-S, S]: there it says nothing yet at this horizon."
        )
    return words


def reproduction_section(results: Results) -> PageSection:
    study = results.study
    words = [
        f"ensample {results.version}, seed {study.seed}. Save the study as study.toml and run "
        "“ensample run study.toml”; engine, threads and order do not change the numbers.",
        *own_code_words(study.own_code),
    ]
    code, facts = ("Each cell in Python", all_code(study)), provenance(results)
    return PageSection("again", "How to reproduce it", words, texts=[code], facts=facts)
