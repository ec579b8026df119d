"""`python -m benchmarks`: speed as ratios, every pair measured side by side."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from benchmarks.groups import GROUPS, measure
from benchmarks.timing import Ratio, median, ratio
from benchmarks.tournament import DATA_SETS, ROUNDS, SIMULATED, Result, contestants, tournament
from benchmarks.version_worker import CASES
from benchmarks.versions import OTHER, compare_versions
from ensample import _core
from ensample.checks import whole
from ensample.cli.console import Bars, label, output
from ensample.errors import EnsampleError, InvalidArgument
from ensample.files import check_file, marked_page, write_whole
from ensample.numerals import terminal
from ensample.registry import one_of

DATA, PEERS = "data", "peers"
MARKS = "<!-- measured by `python -m benchmarks --only {} --markdown`: do not edit -->"
END = "<!-- end of what was measured -->"


def run(
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"a group: {', '.join(GROUPS)}; may be repeated; or {DATA}, by itself"),
    ] = None,
    turns: Annotated[
        int, typer.Option(help="turns of each contestant; the result is the median")
    ] = 9,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the rows to this file too")
    ] = None,
    rounds: Annotated[int, typer.Option(help=f"rounds of a run of {DATA} or {PEERS}")] = ROUNDS,
    markdown: Annotated[
        Path | None, typer.Option(help=f"put the table of {DATA} or {PEERS} into this page")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="compare with the version of this Python", metavar="PYTHON")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="with --against: only cases whose names contain this")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="with --against: an instruction-set level of the core")
    ] = None,
) -> None:
    """Measure speed as ratios: against the NumPy textbook, a loop in C, libraries and ourselves.

    d=20, K=100, sphere, noise 0.1, scale 0.3, T=10,000. Contestants run in turns, so that a busy
    machine slows all of them. Set OPENBLAS_NUM_THREADS=1, as `make bench` does, to give each one
    thread.

    `--only peers` also plays whole runs on two simulated problems: regret and CPU time. `--only
    data` plays runs on data sets of scikit-learn: the share of right decisions and CPU time.

    `--against` measures this version and another one side by side, case by case.

    Example: `python -m benchmarks --only simulated --only live --turns 5 --json speed.json`

    Example: `python -m benchmarks --only peers --turns 5 --rounds 1000`

    Example: `python -m benchmarks --against ../before/.venv/bin/python --case simulated --level
    x86_64_v3`
    """
    whole("turns", turns, 1)
    whole("rounds", rounds, 1)
    if json_file is not None:
        check_file("json", json_file)
    groups = only or list(GROUPS)
    for group in groups:
        if group not in (*GROUPS, DATA):
            raise InvalidArgument("only", group, one_of(group, [*GROUPS, DATA]))
    if DATA in groups and groups != [DATA]:
        raise InvalidArgument("only", groups, f"{DATA} by itself")
    if against is not None:
        return show_versions(against, case or [""], level or _core.levels()[-1:], turns)
    page = None if markdown is None else open_page(markdown, groups)
    ratios = [] if groups == [DATA] else measure_ratios(groups, turns)
    results: list[Result] = []
    if groups in ([DATA], [PEERS]):
        results = play_problems(list(DATA_SETS if groups == [DATA] else SIMULATED), turns, rounds)
    if json_file is not None:
        write_json(json_file, ratios, results)
    if page is not None and markdown is not None:
        write_whole(markdown, page(f"{rounds:,} rounds, {turns:,} runs", results).encode())


def show_versions(against: str, parts: list[str], levels: list[str], turns: int) -> None:
    """Show the ratio of this version's time to that of another one, for each case and level."""
    cases = [name for name in CASES if any(part in name for part in parts)]
    if not cases:
        raise InvalidArgument("case", parts, f"a part of one of {', '.join(map(repr, CASES))}")
    for name in levels:
        if name not in _core.levels():
            raise InvalidArgument("level", name, one_of(name, _core.levels()))
    table = left_table(f"Time of a round over that of {against}")
    table.add_column("case")
    for name in levels:
        table.add_column(name, justify="right")
    table.add_column("time a round, this and the other version", style="dim")
    with Bars() as bars:
        step = bars.add("turns", len(cases) * (len(levels) + 1) * (turns + 1)).step
        for name, times in compare_versions(against, cases, levels, turns, step):
            ratios = [terminal(ratio(times, level, OTHER)) for level in levels]
            us = f"{terminal(median(times, levels[-1]))} us, {terminal(median(times, OTHER))} us"
            table.add_row(name, *ratios, us)
    output.print(table)


def measure_ratios(groups: list[str], turns: int) -> list[Ratio]:
    rows: list[Ratio] = []
    with Bars() as bars:
        bar = bars.add("turns")
        for row in measure(groups, turns, bar.step):
            rows.append(row)
            bar.rename(f"after {row.name}")
    output.print(ratio_table(rows))
    return rows


def play_problems(problems: list[str], runs: int, rounds: int) -> list[Result]:
    """Play the tournament and show a table for each problem."""
    with Bars() as bars:
        total = runs * sum(len(contestants(problem)) for problem in problems)
        results = list(tournament(problems, runs, rounds, bars.add("runs", total).step))
    for problem in problems:
        title = f"{SIMULATED.get(problem, problem)}; {rounds:,} rounds, {runs:,} runs"
        rows = [one for one in results if one.problem == problem]
        output.print(result_table(title, "right" if problem in DATA_SETS else "regret", rows))
    return results


def write_json(path: Path, ratios: list[Ratio], results: list[Result]) -> None:
    """Write the ratios; with results of whole runs both."""
    rows: Any = [asdict(row) | {"reached": row.reached} for row in ratios]
    if results:
        rows = {"ratios": rows, "results": [asdict(one) for one in results]}
    write_whole(path, f"{json.dumps(rows, indent=1)}\n".encode())


def left_table(title: str, **options: Any) -> Table:
    return Table(title=title, title_justify="left", **options)


def ratio_table(rows: list[Ratio]) -> Table:
    table = left_table("One round's time over another's")
    table.add_column("ratio")
    table.add_column("target", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("")
    table.add_column("time a round", style="dim")
    for row in rows:
        sign = ">=" if row.at_least else "<="
        target = "" if row.target is None else f"{sign} {terminal(row.target)}"
        verdict = {None: "", True: "[green]yes", False: "[red]no"}[row.reached]
        table.add_row(row.name, target, terminal(row.measured), verdict, escape(row.note))
    return table


def result_table(title: str, score: str, results: list[Result]) -> Table:
    caption = (
        "defaults everywhere; us: CPU; -: not installed (pip install '.[peers]'), or cannot play"
    )
    table = left_table(label(title), caption=label(caption), caption_justify="left")
    table.add_column("library")
    table.add_column("policy")
    for name in (score, "standard error", "us a decision", "us an update", "us a round"):
        table.add_column(name, justify="right")
    for one in results:
        numbers = one.score, one.standard_error, one.decision, one.update, one.microseconds
        table.add_row(one.library, label(one.policy), *map(terminal, numbers))
    return table


def open_page(path: Path, groups: list[str]) -> Callable[[str, list[Result]], str]:
    """Return a function that gives the page with a new table between its marks."""
    if groups not in ([DATA], [PEERS]):
        raise InvalidArgument("markdown", str(path), f"--only {DATA} or --only {PEERS} with it")
    begin = MARKS.format(groups[0])
    page = marked_page(path, begin, END)

    def filled(title: str, results: list[Result]) -> str:
        table = data_rows(title, results) if groups == [DATA] else peer_rows(title, results)
        return page.replace("\0", "\n".join([begin, "", *table, "", END]))

    return filled


def data_rows(title: str, results: list[Result]) -> list[str]:
    """Return rivals by data sets: share of right decisions, us of a decision, us of an update."""
    heads = [f"{name} | us | us" for name in DATA_SETS.values()]

    def cells(one: Result) -> str:
        if one.score is None or one.decision is None or one.update is None:
            return "- | - | -"
        error = "" if one.standard_error is None else f" ± {100 * one.standard_error:.1f}"
        return f"{100 * one.score:.1f}{error} | {one.decision:,.0f} | {one.update:,.0f}"

    return page_rows(title, heads, 3, results, cells)


def peer_rows(title: str, results: list[Result]) -> list[str]:
    """Return rivals by simulated problems: regret and microseconds of a round."""

    def cells(one: Result) -> str:
        if one.score is None or one.microseconds is None:
            return "- | -"
        error = "" if one.standard_error is None else f" ± {one.standard_error:.0f}"
        return f"{one.score:,.0f}{error} | {one.microseconds:,.0f}"

    return page_rows(title, [f"{name}: regret | us" for name in SIMULATED], 2, results, cells)


def page_rows(
    title: str,
    heads: list[str],
    columns: int,
    results: list[Result],
    cells: Callable[[Result], str],
) -> list[str]:
    rows: dict[str, list[str]] = {}
    for one in results:
        name = f"{one.library} {one.version or 'not installed'}: `{one.policy}`"
        rows.setdefault(name, []).append(cells(one))
    return [
        f"| {title} | " + " | ".join(heads) + " |",
        "|---|" + "--:|" * (columns * len(heads)),
        *(f"| {name} | " + " | ".join(parts) + " |" for name, parts in rows.items()),
    ]


def main() -> None:
    """Run the command line; an error of the library is one line, not a traceback."""
    try:
        typer.run(run)
    except EnsampleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
