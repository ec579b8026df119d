"""`ensample bench`: speed as ratios, every pair measured side by side."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ensample import _core
from ensample.bench import GROUPS, Ratio, measure
from ensample.bench.real_data import ROUNDS
from ensample.bench.timing import median, ratio
from ensample.bench.version_worker import CASES
from ensample.bench.versions import compare_versions
from ensample.checks import whole
from ensample.cli.console import output, progress
from ensample.errors import InvalidArgument
from ensample.files import check_file, write_whole
from ensample.numerals import terminal
from ensample.registry import one_of

DATA, PEERS = "data", "peers"


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"a part: {', '.join(GROUPS)}; may be given again; or {DATA}, by itself"),
    ] = None,
    turns: Annotated[
        int, typer.Option(help="how often each contestant takes its turn; the result is the median")
    ] = 9,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the rows to this file too")
    ] = None,
    rounds: Annotated[int, typer.Option(help=f"of a run of {DATA} or {PEERS}")] = ROUNDS,
    markdown: Annotated[
        Path | None,
        typer.Option(
            help=f"of {DATA} or {PEERS}: a page whose marked part is replaced by the table"
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="compare with the version that this Python has", metavar="PYTHON"),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="with --against: only cases whose names contain this")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="with --against: an instruction-set level of the core")
    ] = None,
) -> None:
    """Measure our speed against the NumPy textbook, a loop in C, other libraries and ourselves at other sizes.

    d=20, K=100, sphere, noise 0.1, scale 0.3, T=10,000. Contestants take turns, so that a busy machine slows all of them. For
    one thread each set OPENBLAS_NUM_THREADS=1, as `make bench` does.

    `--only data` is apart: policies of ours and of other libraries on data sets of scikit-learn, with the share of decisions
    that were right and the CPU time of one. A turn is a run there, each with the rows in an order of its own.

    `--only peers`, by itself, also plays whole runs of every library's policies on two simulated problems: regret and the CPU
    time of a round.

    Example: `ensample bench --only simulated --only live --turns 5 --json bench.json`

    Example: `ensample bench --only data --turns 3`

    Example: `ensample bench --only peers --turns 5 --rounds 1000`

    `--against` measures this version and another one side by side, round by round of the same loops.

    Example: `ensample bench --against ../before/.venv/bin/python --case simulated --level x86_64_v3`
    """
    whole("turns", turns, 1)
    whole("rounds", rounds, 1)
    if json_file is not None:
        check_file("json", json_file)
    if DATA in (only or []) and only != [DATA]:
        raise InvalidArgument("only", only, f"{DATA} by itself")
    if against is not None:
        show_versions(against, case or [""], level or _core.levels()[-1:], turns)
        return
    for group in only or []:
        if group not in (*GROUPS, DATA):
            raise InvalidArgument("only", group, one_of(group, [*GROUPS, DATA]))
    measure_and_show(only or list(GROUPS), turns, rounds, json_file, markdown)


def show_versions(against: str, parts: list[str], levels: list[str], turns: int) -> None:
    """Show the ratio of this version to another one for each case and level."""
    cases = [name for name in CASES if any(part in name for part in parts)]
    if not cases:
        raise InvalidArgument("case", parts, f"a part of one of {', '.join(map(repr, CASES))}")
    for name in levels:
        if name not in _core.levels():
            raise InvalidArgument("level", name, one_of(name, _core.levels()))
    table = Table(title=f"Time of a round over that of {against}", title_justify="left")
    table.add_column("case")
    for name in levels:
        table.add_column(name, justify="right")
    table.add_column("time a round, this and the other version", style="dim")
    with progress() as bars:
        task = bars.add_task("turns", total=len(cases) * (len(levels) + 1) * (turns + 1))
        for name, times in compare_versions(
            against, cases, levels, turns, lambda: bars.advance(task)
        ):
            ratios = [terminal(ratio(times, level, "other")) for level in levels]
            us = f"{terminal(median(times, levels[-1]))} us, {terminal(median(times, 'other'))} us"
            table.add_row(name, *ratios, us)
    output.print(table)


def measure_and_show(
    groups: list[str], turns: int, rounds: int, json_file: Path | None, markdown: Path | None
) -> None:
    if groups == [DATA]:
        from ensample.cli.bench_data import bench_data

        return bench_data(turns, rounds, json_file, markdown)
    if groups == [PEERS]:
        from ensample.cli.bench_peers import bench_peers

        output.print(as_table(bench_peers(turns, rounds, json_file, markdown)))
        return None
    rows: list[Ratio] = []
    with progress() as bars:
        task = bars.add_task("turns", total=None)
        for row in measure(groups, turns, lambda: bars.advance(task)):
            rows.append(row)
            bars.update(task, description=f"after {row.name}")
    output.print(as_table(rows))
    if json_file is not None:
        answer = [asdict(row) | {"reached": row.reached} for row in rows]
        write_whole(json_file, f"{json.dumps(answer, indent=1)}\n".encode())


def as_table(rows: list[Ratio]) -> Table:
    table = Table(title="One round's time over another's", title_justify="left")
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
