"""`ensample evaluate`: what another policy would have earned on a log."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import ensample as es
from ensample.cli.console import errors, label, output, progress
from ensample.cli.recipes import RECIPES, build
from ensample.cli.waiting import LateProgress
from ensample.errors import InvalidArgument
from ensample.evaluation import Evaluation
from ensample.evaluation import evaluate as evaluate_log
from ensample.evaluation.evaluation import Requirement, parse_requirement, warnings_of
from ensample.extras import require
from ensample.files import check_file, write_whole
from ensample.numerals import terminal

UNMET = 1  # the exit code
SQLITE = b"SQLite format 3\0"
UNTOLD = es.Setting(dim=1, arms=1, horizon=1, noise=1.0, norm=1.0)
"""What a log does not say; a recipe that is typed with `noise` in it has 1."""


def evaluate(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Parquet, JSON lines, dsjson or CSV, as `Experiment.to_parquet` writes it",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="uniform, logged, action:NAME, a recipe, or an experiment's or a policy's file; may be given several times",
            show_default="logged",
        ),
    ] = None,
    question: Annotated[
        str,
        typer.Option(
            help="of recipes; progressive: learns from every row; replay: from those that agree with it"
        ),
    ] = "progressive",
    low: Annotated[
        float | None,
        typer.Option(help="the least reward possible", show_default="0, or the least seen"),
    ] = None,
    high: Annotated[
        float | None,
        typer.Option(help="the largest reward possible", show_default="1, or the largest seen"),
    ] = None,
    alarm: Annotated[float, typer.Option(help="with what probability an interval may miss")] = 0.05,
    interval: Annotated[
        str, typer.Option(help="sequence: valid at all times; normal: for one look at a log")
    ] = "sequence",
    segments: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="also for each value of a column, or of a field of the contexts"
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            metavar="OURS=THEIRS,...",
            help="names of the log's columns: action=arm,reward=clicked; several for the context: context=age,context=device",
        ),
    ] = "",
    least_propensity: Annotated[
        float | None,
        typer.Option(
            help="what no propensity is below, for logs with those of chosen actions only"
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="cut|drop|zero",
            help="decisions without a reward. cut: the log ends at the first that still waits for one (column outcome; "
            "without that column as drop); drop: they are left out; zero: all that were shown count as 0",
        ),
    ] = "cut",
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="local, or a Dask scheduler whose workers read the log"
        ),
    ] = None,
    cluster_security: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="a TOML file with the paths of the keys for a tls:// address"
        ),
    ] = None,
    required: Annotated[
        list[str] | None,
        typer.Option(
            "--require", help='such as "lift.lower >= 0"; the exit code is 1 unless it holds'
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="write a page with everything to this file")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the numbers to this file")
    ] = None,
) -> None:
    """What other policies would have earned on a log. Each has an interval that holds however often one looks.

    Example: `ensample evaluate news.parquet --policy uniform --policy action:sport --low 0 --high 1`

    Example: `ensample evaluate news.parquet --policy action:sport --segments device --html page.html`

    Example: `ensample evaluate news.parquet --policy "EnsembleSampling(size=30)" --policy "LinUCB()" --question replay`

    Example: `ensample evaluate log.csv --columns action=arm,reward=clicked,propensity=p --require "lift.lower >= 0"`
    """
    check_outputs(html, json_file)
    needed = [parse_requirement(text) for text in required or []]
    given: dict[str, Any] = {
        "low": low,
        "high": high,
        "alarm": alarm,
        "interval": interval,
        "segments": segments,
    }
    given |= {
        "columns": renamed(columns),
        "least_propensity": least_propensity,
        "question": question,
        "missing": missing,
    }
    given |= {"cluster": cluster, "cluster_security": cluster_security}
    found = evaluated(log, policy or ["logged"], given)
    show(found, log)
    write(found, log, html, json_file)
    complain(found, needed)


def check_outputs(html: Path | None, json_file: Path | None) -> None:
    """Raise, before the work, where something is missing that its results need."""
    require(
        "polars", *(["jinja2", "matplotlib"] if html is not None else []), user="ensample evaluate"
    )
    for option, path in (("html", html), ("json", json_file)):
        if path is not None:
            check_file(option, path)


def evaluated(log: Path, policies: list[str], given: dict[str, Any]) -> list[Evaluation]:
    """One policy after the other, with a bar."""
    targets = [asked(text) for text in policies]
    with LateProgress(progress(), "rows") as waiting:
        return [evaluate_log(log, target, progress=waiting.show, **given) for target in targets]


def show(found: list[Evaluation], log: Path) -> None:
    output.print(as_table(found, str(log)))
    for each in found:
        if each.segments_by is not None:
            output.print(segment_table(each))
    for warning in warnings_of(found):
        errors.print("warning:", style="bold yellow", end=" ")
        errors.print(warning, markup=False, highlight=False, soft_wrap=True)


def write(found: list[Evaluation], log: Path, html: Path | None, json_file: Path | None) -> None:
    if json_file is not None:
        write_whole(
            json_file,
            f"{json.dumps([plain(each.to_dict()) for each in found], indent=1)}\n".encode(),
        )
    if html is not None:
        from ensample.report.evaluation import page

        write_whole(html, page(found, log.name).encode())


def complain(found: list[Evaluation], needed: list[Requirement]) -> None:
    """Say what does not hold, and end with an exit code of its own if anything does not."""
    unmet = [(each, need) for each in found for need in needed if not need.holds(each)]
    for each, need in unmet:
        errors.print(
            f"{each.target}: {need.text} does not hold: {need.measured(each):.6g}",
            markup=False,
            highlight=False,
        )
    if unmet:
        raise typer.Exit(UNMET)


def asked(text: str) -> Any:
    """A target as it is typed: a recipe, a file, or a word that evaluation knows."""
    if Path(text).is_file():
        return from_file(Path(text))
    if text.partition("(")[0] in RECIPES or ("(" in text and not text.startswith("action:")):
        return build(text, UNTOLD)
    return text


def from_file(path: Path) -> Any:
    """An experiment, or the snapshot of a policy."""
    with path.open("rb") as file:
        is_database = file.read(len(SQLITE)) == SQLITE
    return es.open_experiment(path) if is_database else es.load(path)


def renamed(columns: str) -> dict[str, str | list[str]]:
    """`action=arm,context=age,context=country` as a dict; what comes twice is a list."""
    pairs = [pair.partition("=") for pair in columns.split(",") if pair]
    if wrong := [ours for ours, sign, theirs in pairs if not (ours and sign and theirs)]:
        raise InvalidArgument("columns", wrong[0], "OURS=THEIRS, with commas between them")
    found: dict[str, list[str]] = {}
    for ours, _, theirs in pairs:
        found.setdefault(ours.strip(), []).append(theirs.strip())
    return {ours: theirs[0] if len(theirs) == 1 else theirs for ours, theirs in found.items()}


def as_table(found: list[Evaluation], log: str) -> Table:
    """A row for each policy and estimator."""
    first = found[0]
    kind = "confidence sequence" if first.interval == "sequence" else "normal interval"
    title = f"{log}: {first.rows:,} rows, {len(first.actions)} actions, reward {terminal(first.logged)} a row"
    table = Table(
        title=label(title),
        title_justify="left",
        caption=caption(first, kind),
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    table.add_column("estimator")
    for name in ("reward a row", "low", "high", "effective rows", "largest weight", "unsupported"):
        table.add_column(name, justify="right")
    for each in found:
        table.add_section()
        facts = (
            f"{each.effective_rows:,.0f}",
            terminal(each.largest_weight),
            f"{each.unsupported:.1%}",
        )
        rows = [(name, each[name]) for name in each] + [("lift", each.lift)]
        for place, (name, estimate) in enumerate(rows):
            beside = facts if place == 0 else ()
            table.add_row(
                label(each.target) if place == 0 else "", name, *map(terminal, estimate), *beside
            )
    return table


def caption(found: Evaluation, kind: str) -> str:
    return (
        f"low and high: {1.0 - found.alarm:.0%} {kind}; lift: DR less what was logged, row by row"
    )


def segment_table(found: Evaluation) -> Table:
    """A row for each segment."""
    table = Table(title=label(f"{found.target} by {found.segments_by}"), title_justify="left")
    table.add_column(label(found.segments_by or ""), overflow="fold")
    for name in ("dr", "low", "high", "lift", "low", "high"):
        table.add_column(name, justify="right")
    for segment, estimates in sorted(found.segments().items()):
        table.add_row(
            label(segment), *map(terminal, estimates["dr"]), *map(terminal, estimates["lift"])
        )
    return table


def plain(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
