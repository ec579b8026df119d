"""`ensample evaluate`: what another policy would have earned on a log."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

import ensample as es
from ensample.cli.console import PATIENCE, Bars, errors, label, output, table
from ensample.cli.options import argument, option
from ensample.cli.policies import RECIPES, build
from ensample.errors import InvalidArgument
from ensample.evaluation import Evaluation
from ensample.evaluation import evaluate as evaluate_log
from ensample.evaluation.evaluation import parse_requirement, warnings_of
from ensample.extras import require
from ensample.files import check_file, write_whole
from ensample.numerals import terminal
from ensample.plain_data import without_nan

UNMET = 1  # the exit code
SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    log: Path = argument(
        "Parquet, JSON lines, dsjson or CSV, as `Experiment.to_parquet` writes it", metavar="LOG"
    )
    policy: list[str] | None = option(
        None,
        "uniform, logged, action:NAME, a recipe, or an experiment's or a policy's file; may be "
        "given several times",
        show_default="logged",
    )
    question: str = option(
        "progressive",
        "of recipes; progressive: learns from every row; replay: from those that agree with it",
    )
    low: float | None = option(
        None, "the least reward possible", show_default="0, or the least seen"
    )
    high: float | None = option(
        None, "the largest reward possible", show_default="1, or the largest seen"
    )
    alarm: float = option(0.05, "with what probability an interval may miss")
    interval: str = option(
        "sequence", "sequence: valid at all times; normal: for one look at a log"
    )
    segments: str | None = option(
        None, "also for each value of a column, or of a field of the contexts", metavar="NAME"
    )
    columns: str = option(
        "",
        "names of the log's columns: action=arm,reward=clicked; several for the context: "
        "context=age,context=device",
        metavar="OURS=THEIRS,...",
    )
    least_propensity: float | None = option(
        None, "what no propensity is below, for logs with those of chosen actions only"
    )
    missing: str = option(
        "cut",
        "decisions without a reward. cut: the log ends at the first that still waits for one "
        "(column outcome; without that column as drop); drop: they are left out; zero: all that "
        "were shown count as 0",
        metavar="cut|drop|zero",
    )
    cluster: str | None = option(
        None, "local, or a Dask scheduler whose workers read the log", metavar="ADDRESS"
    )
    cluster_security: Path | None = option(
        None, "a TOML file with the paths of the keys for a tls:// address", metavar="FILE"
    )
    required: list[str] | None = option(
        None, 'such as "lift.lower >= 0"; the exit code is 1 unless it holds', "--require"
    )
    html: Path | None = option(None, "write a page with everything to this file")
    json_file: Path | None = option(None, "write the numbers to this file", "--json")


KEYWORDS = ["low", "high", "alarm", "interval", "segments", "least_propensity", "question"]
KEYWORDS += ["missing", "cluster", "cluster_security"]


def evaluate(options: EvaluateOptions) -> None:
    """What other policies would have earned on a log. Each has an interval that holds however often
    one looks.

    Example: `ensample evaluate news.parquet --policy uniform --policy action:sport --low 0
    --high 1`

    Example: `ensample evaluate news.parquet --policy action:sport --segments device --html
    page.html`

    Example: `ensample evaluate news.parquet --policy "EnsembleSampling(size=30)" --policy
    "LinUCB()" --question replay`

    Example: `ensample evaluate log.csv --columns action=arm,reward=clicked,propensity=p --require
    "lift.lower >= 0"`
    """
    log, html, json_file = options.log, options.html, options.json_file
    check_outputs(html, json_file)
    needed = [parse_requirement(text) for text in options.required or []]
    keywords = {name: getattr(options, name) for name in KEYWORDS}
    keywords["columns"] = renamed(options.columns)
    targets = [target_of(text) for text in options.policy or ["logged"]]
    with Bars(PATIENCE) as bars:
        bar = bars.add("rows")
        found = [evaluate_log(log, target, progress=bar.show, **keywords) for target in targets]
    show(found, log)
    if json_file is not None:
        text = json.dumps(without_nan([each.to_dict() for each in found]), indent=1)
        write_whole(json_file, f"{text}\n".encode())
    if html is not None:
        from ensample.report.evaluation import page

        write_whole(html, page(found, log.name).encode())
    unmet = [(each, need) for each in found for need in needed if not need.holds(each)]
    for each, need in unmet:
        text = f"{each.target}: {need.text} does not hold: {need.measured(each):.6g}"
        errors.print(text, markup=False, highlight=False)
    if unmet:
        raise typer.Exit(UNMET)


def check_outputs(html: Path | None, json_file: Path | None) -> None:
    """Raise, before the work, where something is missing that its results need."""
    page = ["jinja2", "matplotlib"] if html is not None else []
    require("polars", *page, user="ensample evaluate")
    for name, path in (("html", html), ("json", json_file)):
        if path is not None:
            check_file(name, path)


def target_of(text: str) -> Any:
    """Return a target as it is typed: a recipe, a file, or a word that evaluation knows."""
    path = Path(text)
    if path.is_file():
        with path.open("rb") as file:
            is_database = file.read(len(SQLITE)) == SQLITE
        return es.open_experiment(path) if is_database else es.load(path)
    if text.partition("(")[0] in RECIPES or ("(" in text and not text.startswith("action:")):
        return build(text)
    return text


def renamed(columns: str) -> dict[str, str | list[str]]:
    """Return `action=arm,context=age,context=country` as a dict; what comes twice is a list."""
    pairs = [pair.partition("=") for pair in columns.split(",") if pair]
    if wrong := [ours for ours, sign, theirs in pairs if not (ours and sign and theirs)]:
        raise InvalidArgument("columns", wrong[0], "OURS=THEIRS, with commas between them")
    found: dict[str, list[str]] = {}
    for ours, _, theirs in pairs:
        found.setdefault(ours.strip(), []).append(theirs.strip())
    return {ours: theirs[0] if len(theirs) == 1 else theirs for ours, theirs in found.items()}


def show(found: list[Evaluation], log: Path) -> None:
    output.print(as_table(found, str(log)))
    for each in found:
        if each.segments_by is not None:
            output.print(segment_table(each))
    for warning in warnings_of(found):
        errors.print("warning:", style="bold yellow", end=" ")
        errors.print_text(warning)


def as_table(found: list[Evaluation], log: str) -> Table:
    """Return a table with a row for each policy and estimator."""
    first = found[0]
    kind = "confidence sequence" if first.interval == "sequence" else "normal interval"
    rows, actions = f"{first.rows:,} rows", f"{len(first.actions)} actions"
    numbers = ["reward a row", "low", "high", "effective rows", "largest weight", "unsupported"]
    shown = table(
        "policy",
        "estimator",
        numbers=numbers,
        title=label(f"{log}: {rows}, {actions}, reward {terminal(first.logged)} a row"),
        caption=f"low and high: {1.0 - first.alarm:.0%} {kind}; lift: DR less what was logged, "
        "row by row",
    )
    shown.columns[0].overflow = "fold"
    for each in found:
        shown.add_section()
        effective, weight = f"{each.effective_rows:,.0f}", terminal(each.largest_weight)
        facts = [label(each.target), effective, weight, f"{each.unsupported:.1%}"]
        for name, estimate in [*((name, each[name]) for name in each), ("lift", each.lift)]:
            policy, *beside = facts if facts else [""]
            shown.add_row(policy, name, *map(terminal, estimate), *beside)
            facts = []
    return shown


def segment_table(found: Evaluation) -> Table:
    """Return a table with a row for each segment."""
    numbers = ("dr", "low", "high", "lift", "low", "high")
    title = label(f"{found.target} by {found.segments_by}")
    shown = table(label(found.segments_by or ""), numbers=numbers, title=title)
    shown.columns[0].overflow = "fold"
    for segment, estimates in sorted(found.segments().items()):
        values = (*estimates["dr"], *estimates["lift"])
        shown.add_row(label(segment), *map(terminal, values))
    return shown
