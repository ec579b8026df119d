"""`ensample report`: the results of a study as one page."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ensample.cli.console import output, progress, warnings_shown
from ensample.cli.waiting import LateProgress
from ensample.extras import require


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="a folder of results, as `ensample run` makes it")
    ],
    open_page: Annotated[bool, typer.Option("--open", help="show the page in the browser")] = False,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="also write every figure as PNG and SVG into DIR/figures"),
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="also write the numbers as CSV into DIR/csv")
    ] = False,
    baseline: Annotated[
        str,
        typer.Option(
            help="the label of the policy that others are compared with",
            show_default="the study's own",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="the file of the page", show_default="DIR/report.html")
    ] = None,
) -> None:
    """Write the results of a study as one self-contained page. Reads what is there, finished or not, and simulates nothing.

    Example: `ensample report results/rates --open`

    Example: `ensample report results/rates --figures --csv --baseline "Thompson sampling"`
    """
    require(
        "polars",
        "scipy",
        "jinja2",
        "matplotlib",
        "latex2mathml",
        "markdown_it",
        "tomli_w",
        user="ensample report",
    )
    from ensample.cli.recipes import find_here
    from ensample.lab import Results
    from ensample.report.study import write_report

    find_here()
    results = Results(folder)
    with warnings_shown(), LateProgress(progress(), "figures") as waiting:
        paths = write_report(
            results, out, baseline=baseline, figures=figures, csv=csv, progress=waiting.show
        )
    for path in paths:
        output.print(str(path), highlight=False, soft_wrap=True, markup=False)
    if open_page:
        webbrowser.open(paths[0].absolute().as_uri())
