"""`write_report`: the results of a study as one page, and as figures and tables in files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from ensample.checks import boolean, file_path, instance
from ensample.errors import InvalidArgument, WrongType
from ensample.files import check_file, check_folder
from ensample.lab.results import Results, as_csv
from ensample.report.figures import save, write_files
from ensample.report.pages import render
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
from ensample.report.study.regret import (
    axis_plates,
    category_plates,
    curve_plate,
    curve_plates,
    final_plate,
)
from ensample.report.study.reproduction import all_code, as_toml, grid_tables, versions
from ensample.report.study.series import enumerated, split_axes
from ensample.report.study.tables import (
    StudyTable,
    best_table,
    bound_table,
    final_table,
    published_table,
    ratio_table,
)

FRAMES = ("cells", "final", "curves")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PageSection:
    """A part of the page."""

    name: str  # in the page's address
    title: str
    plates: list[Plate] = field(default_factory=list)
    tables: list[tuple[str, StudyTable]] = field(default_factory=list)  # heading, rows
    axis: str = ""  # of numbers or categories, where regret is shown against one


def write_report(
    results: Results,
    out: str | Path | None = None,
    *,
    baseline: str = "",
    figures: bool = False,
    csv: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the page of a study and return the paths of all files written.

    The page is `report.html` in the folder of the results, unless `out` names a file. `baseline` is
    the policy that others are compared with; the study's own unless given. `figures` also writes
    every figure as PNG and SVG into `figures/`, `csv` the frames into `csv/`, both in the folder of
    the results. `progress` is called with (figures done, all figures). The same results give the
    same bytes.
    """
    instance("results", results, Results, "the Results of a study")
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of two numbers, or None")
    page = results.folder / "report.html" if out is None else file_path("out", out)
    check_file("out", page)
    for wanted, name in ((figures, "figures"), (csv, "csv")):
        if boolean(name, wanted):
            check_folder(name, results.folder / name)
    chosen, stuck = choose_baseline(results, baseline), stuck_words(results)
    parts = sections(results, chosen, stuck)
    words = page_words(results, chosen) | {"stuck": stuck}
    text = study_page(results, parts, words, progress or (lambda done, total: None))
    paths = write_files(page.parent, {page.name: text.encode()}, follow=out is not None)
    if figures:
        for plate in (plate for part in parts for plate in part.plates):
            paths += save(plate.for_file(), results.folder / "figures", plate.name)
    if csv:
        paths += write_frames(results, baseline)
    return paths


def choose_baseline(results: Results, asked: str) -> str:
    """Return the policy to compare with: as asked, as the study says, or the first."""
    if not isinstance(asked, str):
        raise WrongType("baseline", asked, "the label of a policy")
    results.differences(asked)  # raises for a policy that there is not
    return asked or results.study.baseline or results.study.cells[0].policy


def study_page(
    results: Results, parts: list[PageSection], words: dict[str, Any], progress: Progress
) -> str:
    plates = {plate.name: plate for part in parts for plate in part.plates}
    drawn: dict[str, list[Markup]] = {}
    for done, (name, plate) in enumerate(plates.items()):
        progress(done, len(plates))
        drawn[name] = plate.for_page()
    progress(len(plates), len(plates))
    data: dict[str, Any] = {
        "results": results,
        "study": results.study,
        "parts": parts,
        "drawn": drawn,
    }
    return render("study/page.html.j2", **data, **words)


def page_words(results: Results, baseline: str) -> dict[str, Any]:
    """Return what the template says besides figures and tables."""
    study, found = results.study, answers(results)
    finished = {outcome.cell.number for outcome in results.outcomes}
    missing = [cell.name for cell in study.cells if cell.number not in finished]
    horizons = sorted({cell.horizon for cell in study.cells})
    policies = {outcome.cell.policy for outcome in results.outcomes}
    has_baseline = len(results.outcomes) > 1 and baseline in policies
    own = [split_axes(study, cell)[1] for cell in study.cells if cell.policy == baseline]
    answer = answer_words(found) if found else []
    return {
        "answer": answer + ([surely_words(found)] if found and study.runs > 1 else []),
        "baseline": baseline if has_baseline else "",
        "baseline_has_axes": any(own),
        "horizons": enumerated(f"{horizon:,}" for horizon in horizons),
        "missing": missing,
        "missing_words": enumerated(missing, between="; "),
        "toml": as_toml(study),
        "code": all_code(study),
        "versions": versions,
    }


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


def write_frames(results: Results, baseline: str) -> list[Path]:
    """Write the frames as CSV; one that has no rows has no file."""
    frames: dict[str, Any] = {name: getattr(results, name) for name in FRAMES}
    frames["differences"] = results.differences(baseline)
    frames |= {"slopes": results.slopes(), "published": results.published()}
    files = {f"{name}.csv": as_csv(frame) for name, frame in frames.items() if len(frame)}
    return write_files(results.folder / "csv", files)


def plot_results(results: Results, log: bool) -> Figure:
    """Draw regret over the rounds, a panel a problem: the first figure of the report."""
    if not results.outcomes:
        raise InvalidArgument("results", results, "at least one finished cell")
    looks = Looks(results.study, choose_baseline(results, ""))
    return curve_plate(results, looks, boolean("log", log)).for_file()
