"""`write_report`: the results of a study as one page, and as figures and tables in files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ensample.checks import boolean, file_path, instance
from ensample.errors import WrongType
from ensample.files import check_file, check_folder
from ensample.lab.csv import as_csv
from ensample.lab.results import Results
from ensample.report.drawing.files import keep, save
from ensample.report.pages.resources import colours, content_policy, environment, resource
from ensample.report.study.sections import PageSection, sections
from ensample.report.study.tables import missing_cells
from ensample.report.study.words import listed, named
from ensample.version import __version__

FRAMES = ("cells", "final", "curves")


def write_report(
    results: Results,
    out: str | Path | None = None,
    *,
    baseline: str = "",
    figures: bool = False,
    csv: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the page (`report.html` in the folder of the results unless `out` names a file), and say which files were written.

    `baseline` is the policy that others are compared with; the study's own unless given. `figures` also writes every figure as
    PNG and SVG into `figures/`, `csv` the frames into `csv/`, both in the folder of the results. The same results give the same
    bytes. `progress` is called with (figures done, all figures).
    """
    instance("results", results, Results, "the Results of a study")
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of two numbers, or None")
    page = results.folder / "report.html" if out is None else file_path("out", out)
    check_file("out", page)
    for asked, name in ((figures, "figures"), (csv, "csv")):
        if boolean(name, asked):
            check_folder(name, results.folder / name)
    parts = sections(results, chosen_baseline(results, baseline))
    text = render(results, parts, progress or (lambda done, total: None))
    paths = keep(page.parent, {page.name: text.encode()}, follow=out is not None)
    if figures:
        for plate in (plate for part in parts for plate in part.plates):
            paths += save(plate.for_file(), results.folder / "figures", plate.name)
    if csv:
        paths += write_frames(results, baseline)
    return paths


def chosen_baseline(results: Results, asked: str) -> str:
    """The policy to compare with: as asked, as the study says, or the first. Raises for a policy that there is not."""
    if not isinstance(asked, str):
        raise WrongType("baseline", asked, "the label of a policy")
    results.differences(asked)
    return asked or results.study.baseline or results.study.cells[0].policy


def render(results: Results, parts: list[PageSection], progress: Callable[[int, int], None]) -> str:
    """The page."""
    panels = {plate.name: plate for part in parts for plate in part.plates}
    drawn: dict[str, list[Markup]] = {}
    for done, (name, plate) in enumerate(panels.items()):
        progress(done, len(panels))
        drawn[name] = [Markup(svg) for svg in plate.for_page()]
    progress(len(panels), len(panels))
    template = environment().from_string(resource("study/study.html.j2"))
    css = Markup(resource("pages/page.css"))
    script = Markup(resource("pages/curves.js"))
    missing = missing_cells(results)
    return template.render(
        results=results,
        study=results.study,
        version=__version__,
        horizons=listed(
            [f"{horizon:,}" for horizon in sorted({cell.horizon for cell in results.study.cells})]
        ),
        missing=missing,
        missing_words=named(missing),
        parts=parts,
        drawn=drawn,
        css=css,
        colours=colours(),
        script=script,
        policy=Markup(content_policy(script)),
    )


def write_frames(results: Results, baseline: str) -> list[Path]:
    """The frames as CSV; one that has no rows has no file."""
    frames: dict[str, Any] = {name: getattr(results, name) for name in FRAMES}
    frames |= {
        "differences": results.differences(baseline),
        "slopes": results.slopes(),
        "published": results.published(),
    }
    return keep(
        results.folder / "csv",
        {f"{name}.csv": as_csv(frame) for name, frame in frames.items() if len(frame)},
    )
