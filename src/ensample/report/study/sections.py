"""The sections of a report; one that does not apply is left out."""

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
from ensample.report.study.asked import as_toml, code_line, grid_tables, provenance
from ensample.report.study.figures.arrange import Looks
from ensample.report.study.figures.bounds import bound_plate
from ensample.report.study.figures.cost import cost_plates
from ensample.report.study.figures.hindsight import hindsight, hindsight_plate
from ensample.report.study.figures.plates import Plate
from ensample.report.study.figures.pulls import pull_plate
from ensample.report.study.figures.regret import (
    axis_plates,
    category_plates,
    curve_plates,
    final_plate,
)
from ensample.report.study.figures.series import split
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
    """A part of the page: words, figures, tables, text to unfold."""

    name: str  # in the page's address
    title: str
    words: list[str] = field(default_factory=list)
    plates: list[Plate] = field(default_factory=list)
    tables: list[tuple[str, StudyTable]] = field(default_factory=list)  # heading, rows
    texts: list[tuple[str, str]] = field(default_factory=list)  # heading, what it unfolds to
    facts: list[dict[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # of what is easily overlooked


def sections(results: Results, baseline: str) -> list[PageSection]:
    """All that these results have something to say in."""
    looks = Looks(results.study, baseline)
    if not results.outcomes:
        return [asked(results), again(results)]
    return [*answered(results), asked(results), *measured(results, looks, baseline), again(results)]


def answered(results: Results) -> list[PageSection]:
    """The first thing that one wants to know; nothing where there is nothing to compare and no run is stuck."""
    found, stuck = answers(results), stuck_words(results)
    if not found and not stuck:
        return []
    words = answer_words(found) if found else []
    if found and results.study.runs > 1:
        words.append(surely_words(found))
    table = answer_table(found)
    return [
        PageSection(
            "answer", "The answer", words, tables=[("", table)] if table else [], notices=stuck
        )
    ]


def asked(results: Results) -> PageSection:
    return PageSection(
        "asked",
        "What was asked",
        [
            "Every policy on every problem; a list of values is an axis of the grid, and every combination is a cell."
        ],
        tables=grid_tables(results.study),
        texts=[("The study as a file", as_toml(results.study))],
    )


def measured(results: Results, looks: Looks, baseline: str) -> Iterator[PageSection]:
    """From regret to cost."""
    yield PageSection(
        "curves",
        "Regret over the rounds",
        curve_words(results),
        plates=curve_plates(results, looks),
    )
    yield final_section(results, looks, baseline)
    found = hindsight(results)
    if found:
        words = [
            "The best in hindsight is, on each problem, the lowest mean of all policies whose numbers are a choice. "
            "A ratio is a policy's mean regret over that; it is below 1 where a policy without a choice does better."
        ]
        tables = [("", ratio_table(found))]
        yield PageSection(
            "hindsight", "Against the best in hindsight", words, [hindsight_plate(found)], tables
        )
    published = published_table(results)
    if published is not None:
        words = [
            "Published for these cells: ± is a standard error, the distance is in joint ones where theirs is known."
        ]
        yield PageSection(
            "published", "Published figures beside ours", words, tables=[("", published)]
        )
    for axis, plate in (axis_plates(results, looks) | category_plates(results, looks)).items():
        yield PageSection(
            plate.name, f"Regret against {axis}", slope_words(plate, axis), plates=[plate]
        )
    table, bounds = bound_table(results), bound_plate(results, looks)
    if table is not None and bounds is not None:
        yield PageSection(
            "bounds",
            "The theorem's bound",
            bound_words(table),
            plates=[bounds],
            tables=[("", table)],
        )
    pulls = pull_plate(results, looks)
    if pulls is not None:
        words = [
            "Arms are ordered by their means in each run, so that the first field is the best arm of every run."
        ]
        yield PageSection("pulls", "Which arms were played", words, plates=[pulls])
    costs = cost_plates(results, looks)
    if costs:
        words = [
            "Time of one thread, the median of the runs, on the machine named below. A busy machine shows here."
        ]
        yield PageSection("cost", "Cost per round", words, plates=costs)


def curve_words(results: Results) -> list[str]:
    """How to read the curves."""
    words = [
        "Regret is what the best arm would have earned on average, less what the chosen arms earn on average."
    ]
    if "horizon" in results.axes:
        words.append(
            "Curves are those of the longest horizon; the others are in the table and in the figure against it."
        )
    return words


def final_section(results: Results, looks: Looks, baseline: str) -> PageSection:
    plate, best = final_plate(results, looks), best_table(results)
    tables = [("The lowest mean on each problem", best)] if best else []
    policies = {outcome.cell.policy for outcome in results.outcomes}
    return PageSection(
        "final",
        "Final regret",
        final_words(
            results, baseline if len(results.outcomes) > 1 and baseline in policies else ""
        ),
        plates=[plate] if plate else [],
        tables=[*tables, ("All cells", final_table(results, baseline))],
    )


def final_words(results: Results, baseline: str) -> list[str]:
    words = ["One run a cell, so there are no intervals."] if results.study.runs == 1 else []
    if baseline:
        own = any(
            split(results.study, cell)[1] for cell in results.study.cells if cell.policy == baseline
        )
        words.append(
            f"Differences are from {baseline}, run by run: in a run all policies face the same problem and noise."
        )
        if own:
            words.append(
                f"Of the cells of {baseline} it is the one with the same values of its axes, else the first, without a mark: "
                "another of them may be better."
            )
    if baseline and results.study.runs > 1:
        words.append(
            "▼ is lower and ▲ higher than the baseline, where the 95% interval of that one comparison leaves out zero."
        )
    return words


def slope_words(plate: Plate, axis: str) -> list[str]:
    """What the numbers below the panels are, if there are any."""
    if not any(picture.remarks for picture in plate.pictures):
        return []
    return [
        f"With each panel: the slope of log regret against log {axis}, with a 95% interval (bootstrap over the runs). "
        "Slope 0.5 is growth like a square root, 0 is no growth; of a line that bends a slope says little."
    ]


def bound_words(table: StudyTable) -> list[str]:
    vacuous = sum(row[-1].text.startswith("above") for group in table.groups for row in group.rows)
    words = [
        "A bound holds for all rounds up to the horizon, with the probability named beside it."
    ]
    if vacuous:
        words.append(
            f"In {vacuous:,} of {table.size:,} cells it is above 2ST, which no policy can exceed when means lie in [-S, S]: "
            "there it says nothing yet at this horizon."
        )
    return words


def again(results: Results) -> PageSection:
    """How to get the same numbers."""
    study = results.study
    lines = ["import ensample as es", *(f"import {module}" for module in study.own_code), ""]
    for cell in study.cells:
        lines += [f"# {' '.join(cell.name.split())}", code_line(study, cell)]
    return PageSection(
        "again",
        "How to reproduce it",
        [
            f"ensample {results.version}, seed {study.seed}. Save the study as study.toml and run "
            "“ensample run study.toml”; engine, threads and order do not change the numbers.",
            *own_words(study.own_code),
        ],
        texts=[("Each cell in Python", "\n".join(lines) + "\n")],
        facts=provenance(results),
    )


def own_words(code: dict[str, str]) -> list[str]:
    """Which modules it takes besides ours."""
    if not code:
        return []
    said = ", ".join(f"{module} ({digest})" for module, digest in code.items())
    return [
        f"The study also needs modules that are not ensample's, beside study.toml: {said}. In brackets is what their sources' "
        "SHA-256 begins with, as in study.json; what they import is not looked at."
    ]
