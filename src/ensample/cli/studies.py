"""Commands of studies: `run`, `studies` and `report`."""

import math
import webbrowser
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ensample.cli.console import (
    PATIENCE,
    Bars,
    SafeConsole,
    errors,
    label,
    output,
    print_paths,
    table,
    warnings_shown,
)
from ensample.cli.options import argument, option
from ensample.cli.policies import find_here
from ensample.errors import InvalidArgument
from ensample.extras import require
from ensample.lab import BUNDLED, Results, Study, bundled, run_study
from ensample.lab import Progress as Done
from ensample.lab.estimate import estimate
from ensample.lab.store import StudyStore
from ensample.lab.tasks import Threads
from ensample.numerals import duration, terminal
from ensample.registry import one_of
from ensample.statistics import require_scipy

SHOWN_CELLS = 60
KEYWORDS = ("threads", "cluster", "cluster_security", "grow")
PAGE_KEYWORDS = ("figures", "csv", "baseline")
PAGE_PACKAGES = (
    "polars",
    "scipy",
    "jinja2",
    "matplotlib",
    "latex2mathml",
    "markdown_it",
    "tomli_w",
)


def complete_studies(incomplete: str) -> list[str]:
    """Return the studies of ours, and files and folders on the way to one."""
    folder = Path(incomplete).parent if incomplete else Path()
    here = [path for path in sorted(folder.glob("*")) if not path.name.startswith(".")]
    folders = [f"{path}/" if path.is_dir() else str(path) for path in here]
    names = [name for name in folders if name.endswith(("/", ".toml"))]
    return [name for name in [*BUNDLED, *names] if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    study: str = argument(
        f"a TOML file, or one of {', '.join(BUNDLED)}", autocompletion=complete_studies
    )
    out: Path | None = option(None, "the folder of the results", show_default="results/<name>")
    scale: str = option("", "one of the study's [scales], such as paper", show_default="its own")
    threads: int | None = option(
        None, "does not change the numbers", show_default="all cores that help"
    )
    cluster: str | None = option(
        None,
        "a Dask scheduler, tls://host:port, or local: a process a core of this machine",
        metavar="ADDRESS",
    )
    cluster_security: Path | None = option(
        None, "the keys for tls://: a TOML file with the paths ca, cert and key", metavar="FILE"
    )
    grow: bool = option(
        False,
        "change the study that the folder holds to this one, and keep all runs that stay",
        "--grow",
    )
    dry_run: bool = option(
        False, "show the grid, what has changed and what it would cost, and stop", "--dry-run"
    )


def run(options: RunOptions) -> None:
    """Run a study, or the part of it that is not finished yet: kill it when you like, and run it
    again.

    A study may change: more runs, another policy, problem or horizon. What the folder holds of it
    is used again, run by run; what has changed is shown, and nothing is done before `--grow` asks
    for it. What has a longer horizon is computed anew: no run is continued.

    Example: `ensample run ensemble-size`

    Example: `ensample run mine.toml --cluster local`

    Example: `ensample run mine.toml --out mine --cluster tls://10.0.0.1:8786 --cluster-security
    keys.toml`

    Example: `ensample run mine.toml --dry-run`

    Example: `ensample run mine.toml --grow`
    """
    require("polars", "tomli_w", user="ensample run")  # now rather than when the last cell is done
    require_scipy()
    study, scale = find(options.study, options.scale), options.scale
    folder = options.out or Path("results") / (f"{study.name}-{scale}" if scale else study.name)
    if options.dry_run:
        with warnings_shown():
            show_plan(study, folder, options.threads)
        return
    store = StudyStore(folder)
    if options.grow:
        show_changes(store, study, errors, "changes to the study that the folder holds:")
    errors.print(f"{study.name}: {progress_before(store, study)}", highlight=False, markup=False)
    keywords = {name: getattr(options, name) for name in KEYWORDS}
    try:
        with warnings_shown(), Bars(unit="rounds/s") as bars:
            bar = bars.add("")

            def advance(done: Done) -> None:
                bar.show(done.rounds, done.all_rounds)
                bar.rename(f"{done.cells}/{done.all_cells} cells")

            results = run_study(study, folder, progress=advance, **keywords)
    except KeyboardInterrupt:
        left = len(study.cells) - len(store.finished(study))
        text = f"stopped with {left} cells to go; the same command goes on from here"
        errors.print(text, highlight=False)
        raise typer.Exit(130) from None
    show_results(results)
    output.print_text(f"{folder}\nnext: ensample report {folder}")


def progress_before(store: StudyStore, study: Study) -> str:
    """How many cells are finished, and what there is of those that are not."""
    held = store.held()
    runs = [held[digest].runs if digest in held else 0 for digest in study.digests]
    begun = sorted(Counter(count for count in runs if 0 < count < study.runs).items())
    parts = [
        f"{len(runs)} cells",
        f"{sum(count >= study.runs for count in runs)} of them finished before",
    ]
    parts += [
        f"{cells} {'has' if cells == 1 else 'have'} {count:,} of {study.runs:,} runs"
        for count, cells in begun
    ]
    return ", ".join(parts)


def studies() -> None:
    """List the studies that come with the package.

    Example: `ensample studies`
    """
    title = "ensample run NAME [--scale paper]"
    shown = table("name", "question", numbers=["cells", "rounds"], title=title)
    for name in BUNDLED:
        study = bundled(name)
        rounds = sum(cell.horizon for cell in study.cells) * study.runs
        shown.add_row(name, study.question, f"{len(study.cells):,}", f"{rounds / 1e6:,.0f} million")
    output.print(shown)


def find(study: str, scale: str) -> Study:
    """A file if it looks like one, else a study of ours."""
    path = Path(study)
    if study in BUNDLED and not path.suffix:
        return bundled(study, scale)
    if path.suffix == ".toml" or path.exists():
        find_here()
        return Study.read(path, scale)
    raise InvalidArgument("study", study, f"a TOML file, or {one_of(study, list(BUNDLED))}")


def show_plan(study: Study, folder: Path, threads: int | None) -> None:
    """Print the grid, and what is left of it in time and memory."""
    title = "with --grow these are the changes to the study that the folder holds:"
    show_changes(StudyStore(folder), study, output, title)
    held = StudyStore(folder).held()
    cells = list(zip(study.cells, study.digests, strict=True))
    runs = {cell.number: held[digest].runs if digest in held else 0 for cell, digest in cells}
    title = label(f"{study.name}: {len(cells)} cells of {study.runs:,} runs")
    shown = table("cell", "policy", "problem", "horizon", "axes", "state", title=title)
    for cell in study.cells[:SHOWN_CELLS]:
        axes = ", ".join(value for value in cell.values if not value.startswith("horizon="))
        count = runs[cell.number]
        state = "finished" if count >= study.runs else f"{count:,} runs" if count else ""
        words = str(cell.number), cell.policy, cell.problem, f"{cell.horizon:,}", axes, state
        shown.add_row(*map(label, words))
    output.print(shown)
    print_more(len(cells))
    missing = [cell for cell in study.cells if runs[cell.number] < study.runs]
    workers = Threads(threads).workers
    with errors.status(f"trying the first rounds of {len(missing)} cells"):
        cost = estimate(study, missing, workers, runs)
    rounds = sum(cell.horizon * (study.runs - runs[cell.number]) for cell in missing)
    one = ", live policies on one of them" if cost.live and workers > 1 else ""
    pilots = "1 pilot" if cost.pilots == 1 else f"{cost.pilots} pilots"
    output.print(
        f"{rounds:,} rounds to go: about {duration(cost.on(workers))} on {workers} threads{one}, "
        f"{megabytes(cost.memory)} of memory, at most {megabytes(cost.disk)} on disk "
        f"(from {pilots})",
        highlight=False,
    )


def show_changes(store: StudyStore, study: Study, screen: SafeConsole, title: str) -> None:
    """Print what differs from the study that the folder holds, and what that means for cells."""
    changes = store.changes(study)
    if not changes:
        return
    shown = table("change", "cell")
    for kind, what in changes.rows():
        shown.add_row(kind, label(what))
    screen.print(title, highlight=False)
    screen.print(shown)
    kept = "; what is dropped or was otherwise keeps its files and is shown no longer"
    outlook = f"{store.outlook(study)}{kept if changes.dropped or changes.changed else ''}"
    screen.print(outlook, highlight=False, soft_wrap=True)


def show_results(results: Results) -> None:
    numbers = ["mean regret", "95% interval", "90th percentile", "us/round"]
    title = label(results.study.question or results.study.name)
    shown = table("policy", "problem", "axes", numbers=numbers, title=title)
    rows = results.cells.to_dicts()
    for row, outcome in list(zip(rows, results.outcomes, strict=True))[:SHOWN_CELLS]:
        words = row["policy"], row["problem"], ", ".join(outcome.cell.values)
        interval = f"{terminal(row['low'])} to {terminal(row['high'])}" if row["runs"] > 1 else ""
        seconds = row["seconds_per_round"]
        cost = "" if math.isnan(seconds) else terminal(1e6 * seconds)
        regret = terminal(row["mean"]), interval, terminal(row["p90"])
        shown.add_row(*map(label, words), *regret, cost)
    output.print(shown)
    print_more(len(rows))


def print_more(cells: int) -> None:
    if cells > SHOWN_CELLS:
        output.print(f"... and {cells - SHOWN_CELLS} more", highlight=False)


def megabytes(count: int) -> str:
    return f"{max(count, 1) / 2**20:,.1f} MiB"


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    folder: Path = argument("a folder of results, as `ensample run` makes it", metavar="DIR")
    open_page: bool = option(False, "show the page in the browser", "--open")
    figures: bool = option(
        False, "also write every figure as PNG and SVG into DIR/figures", "--figures"
    )
    csv: bool = option(False, "also write the numbers as CSV into DIR/csv", "--csv")
    baseline: str = option(
        "", "the label of the policy that others are compared with", show_default="the study's own"
    )
    out: Path | None = option(None, "the file of the page", show_default="DIR/report.html")


def report(options: ReportOptions) -> None:
    """Write the results of a study as one self-contained page. Reads what is there, finished or
    not, and simulates nothing.

    Example: `ensample report results/rates --open`

    Example: `ensample report results/rates --figures --csv --baseline "Thompson sampling"`
    """
    require(*PAGE_PACKAGES, user="ensample report")
    from ensample.report.study import write_report

    find_here()
    results = Results(options.folder)
    keywords: dict[str, Any] = {name: getattr(options, name) for name in PAGE_KEYWORDS}
    with warnings_shown(), Bars(PATIENCE) as bars:
        bar = bars.add("figures")
        paths = write_report(results, options.out, progress=bar.show, **keywords)
    print_paths(paths)
    if options.open_page:
        webbrowser.open(paths[0].absolute().as_uri())
