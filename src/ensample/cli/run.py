"""`ensample run` and `ensample studies`: studies from files or by name."""

import math
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ensample.cli import complete
from ensample.cli.console import SafeConsole, errors, label, output, warnings_shown
from ensample.cli.recipes import find_here
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


def run(
    study: Annotated[
        str,
        typer.Argument(
            help=f"a TOML file, or one of {', '.join(BUNDLED)}", autocompletion=complete.studies
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="the folder of the results", show_default="results/<name>")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="one of the study's [scales], such as paper", show_default="its own")
    ] = "",
    threads: Annotated[
        int | None,
        typer.Option(help="does not change the numbers", show_default="all cores that help"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="a Dask scheduler, tls://host:port, or local: a process a core of this machine",
        ),
    ] = None,
    cluster_security: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="the keys for tls://: a TOML file with the paths ca, cert and key"
        ),
    ] = None,
    grow: Annotated[
        bool,
        typer.Option(
            "--grow",
            help="change the study that the folder holds to this one, and keep all runs that stay",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="show the grid, what has changed and what it would cost, and stop"
        ),
    ] = False,
) -> None:
    """Run a study, or the part of it that is not finished yet: kill it when you like, and run it again.

    A study may change: more runs, another policy, problem or horizon. What the folder holds of it is used again, run by run;
    what has changed is shown, and nothing is done before `--grow` asks for it. What has a longer horizon is computed anew: no
    run is continued.

    Example: `ensample run ensemble-size`

    Example: `ensample run mine.toml --cluster local`

    Example: `ensample run mine.toml --out mine --cluster tls://10.0.0.1:8786 --cluster-security keys.toml`

    Example: `ensample run mine.toml --dry-run`

    Example: `ensample run mine.toml --grow`
    """
    require_packages()
    asked = find(study, scale)
    folder = out or Path("results") / (f"{asked.name}-{scale}" if scale else asked.name)
    if dry_run:
        with warnings_shown():
            show_plan(asked, folder, threads)
        return
    store = StudyStore(folder)
    if grow:
        show_changes(store, asked, errors, "changes to the study that the folder holds:")
    errors.print(f"{asked.name}: {progress_before(store, asked)}", highlight=False, markup=False)
    try:
        with warnings_shown(), bars() as shown:
            task = shown.add_task("", total=None, rate="")

            def advance(done: Done) -> None:
                said = f"{done.cells}/{done.all_cells} cells"
                shown.update(task, total=done.all_rounds, completed=done.rounds, description=said)

            results = run_study(
                asked,
                folder,
                threads=threads,
                cluster=cluster,
                cluster_security=cluster_security,
                progress=advance,
                grow=grow,
            )
    except KeyboardInterrupt:
        left = len(asked.cells) - len(store.finished(asked))
        errors.print(
            f"stopped with {left} cells to go; the same command goes on from here", highlight=False
        )
        raise typer.Exit(130) from None
    show_results(results)
    output.print(
        f"{folder}\nnext: ensample report {folder}", highlight=False, soft_wrap=True, markup=False
    )


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
    table = Table(title="ensample run NAME [--scale paper]", title_justify="left")
    table.add_column("name")
    table.add_column("question")
    table.add_column("cells", justify="right")
    table.add_column("rounds", justify="right")
    for name in BUNDLED:
        study = bundled(name)
        rounds = sum(cell.horizon for cell in study.cells) * study.runs
        table.add_row(name, study.question, f"{len(study.cells):,}", f"{rounds / 1e6:,.0f} million")
    output.print(table)


def find(study: str, scale: str) -> Study:
    """A file if it looks like one, else a study of ours."""
    path = Path(study)
    if study in BUNDLED and not path.suffix:
        return bundled(study, scale)
    if path.suffix == ".toml" or path.exists():
        find_here()
        return Study.read(path, scale)
    raise InvalidArgument("study", study, f"a TOML file, or {one_of(study, list(BUNDLED))}")


def bars() -> Progress:
    """Rounds are what takes time; cells are what is kept."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        RoundsPerSecond(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=errors,
        disable=not errors.is_terminal,
    )


class RoundsPerSecond(TextColumn):
    """The speed of the last moments."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task):  # type: ignore[no-untyped-def]
        self.text_format = "" if task.speed is None else f"{task.speed:,.0f} rounds/s"
        return super().render(task)


def show_plan(study: Study, folder: Path, threads: int | None) -> None:
    """The grid, and time and memory."""
    show_changes(
        StudyStore(folder),
        study,
        output,
        "with --grow these are the changes to the study that the folder holds:",
    )
    held = StudyStore(folder).held()
    there = {
        cell.number: held[digest].runs
        for cell, digest in zip(study.cells, study.digests, strict=True)
        if digest in held
    }
    table = Table(
        title=label(f"{study.name}: {len(study.cells)} cells of {study.runs:,} runs"),
        title_justify="left",
    )
    for column in ("cell", "policy", "problem", "horizon", "axes", "state"):
        table.add_column(column)
    for cell in study.cells[:SHOWN_CELLS]:
        axes = ", ".join(value for value in cell.values if not value.startswith("horizon="))
        runs = there.get(cell.number, 0)
        done = "finished" if runs >= study.runs else f"{runs:,} runs" if runs else ""
        table.add_row(
            *map(
                label,
                (str(cell.number), cell.policy, cell.problem, f"{cell.horizon:,}", axes, done),
            )
        )
    output.print(table)
    if len(study.cells) > SHOWN_CELLS:
        output.print(f"... and {len(study.cells) - SHOWN_CELLS} more", highlight=False)
    missing = [cell for cell in study.cells if there.get(cell.number, 0) < study.runs]
    workers = Threads(threads).workers
    with errors.status(f"trying the first rounds of {len(missing)} cells"):
        cost = estimate(study, missing, workers, there)
    rounds = sum(cell.horizon * (study.runs - there.get(cell.number, 0)) for cell in missing)
    one = ", live policies on one of them" if cost.live and workers > 1 else ""
    pilots = "1 pilot" if cost.pilots == 1 else f"{cost.pilots} pilots"
    output.print(
        f"{rounds:,} rounds to go: about {duration(cost.on(workers))} on {workers} threads{one}, "
        f"{megabytes(cost.memory)} of memory, at most {megabytes(cost.disk)} on disk (from {pilots})",
        highlight=False,
    )


def show_changes(store: StudyStore, study: Study, screen: SafeConsole, title: str) -> None:
    """From the study that the folder holds to this one, and what that means for its cells."""
    changes = store.changes(study)
    if not changes:
        return
    table = Table("change", "cell")
    for kind, what in changes.rows():
        table.add_row(kind, label(what))
    screen.print(title, highlight=False)
    screen.print(table)
    kept = "; what is dropped or was otherwise keeps its files and is shown no longer"
    screen.print(
        f"{store.outlook(study)}{kept if changes.dropped or changes.changed else ''}",
        highlight=False,
        soft_wrap=True,
    )


def show_results(results: Results) -> None:
    table = Table(title=label(results.study.question or results.study.name), title_justify="left")
    for column in ("policy", "problem", "axes"):
        table.add_column(column)
    for column in ("mean regret", "95% interval", "90th percentile", "us/round"):
        table.add_column(column, justify="right")
    rows = results.cells.to_dicts()
    for row, outcome in list(zip(rows, results.outcomes, strict=True))[:SHOWN_CELLS]:
        axes = ", ".join(outcome.cell.values)
        interval = f"{terminal(row['low'])} to {terminal(row['high'])}" if row["runs"] > 1 else ""
        cost = (
            "" if math.isnan(row["seconds_per_round"]) else terminal(1e6 * row["seconds_per_round"])
        )
        names = map(label, (row["policy"], row["problem"], axes))
        table.add_row(*names, terminal(row["mean"]), interval, terminal(row["p90"]), cost)
    output.print(table)
    if len(rows) > SHOWN_CELLS:
        output.print(f"... and {len(rows) - SHOWN_CELLS} more", highlight=False)


def megabytes(count: int) -> str:
    return f"{max(count, 1) / 2**20:,.1f} MiB"


def require_packages() -> None:
    """Now rather than when the first cell is finished, or the last."""
    require("polars", "tomli_w", user="ensample run")
    require_scipy()
