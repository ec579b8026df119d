"""`ensample bench --only data`: choosers on real data."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from ensample.bench.choosers import CHOOSERS
from ensample.bench.data_sets import DATA_SETS, data_set
from ensample.bench.real_data import Score, scores
from ensample.cli.console import label, output, progress
from ensample.cli.marked import marked_page
from ensample.files import write_whole
from ensample.numerals import terminal

BEGIN, END = (
    "<!-- measured by `ensample bench --only data --markdown`: do not edit -->",
    "<!-- end of what was measured -->",
)
HEADS = ("right", "standard error", "us a decision", "us a reward")


def bench_data(runs: int, rounds: int, json_file: Path | None, markdown: Path | None) -> None:
    """All choosers on all data sets, with a bar."""
    page = None if markdown is None else marked_page(markdown, BEGIN, END)
    found: list[Score] = []
    with progress() as bars:
        task = bars.add_task("runs", total=len(DATA_SETS) * len(CHOOSERS) * runs)
        for name in DATA_SETS:
            for score in scores(data_set(name), runs, rounds, lambda: bars.advance(task)):
                found.append(score)
                bars.update(task, description=f"after {score.chooser} on {name}")
    title = f"{rounds:,} rounds, {runs:,} runs"
    output.print(as_table(title, found))
    if json_file is not None:
        write_whole(
            json_file, f"{json.dumps([asdict(score) for score in found], indent=1)}\n".encode()
        )
    if page is not None and markdown is not None:
        write_whole(markdown, page.replace("\0", in_markdown(title, found)).encode())


def as_table(title: str, found: Iterable[Score]) -> Table:
    table = Table(
        title=f"Real data: {title}",
        title_justify="left",
        caption=label("- : not installed (pip install '.[peers]')"),
    )
    table.add_column("data")
    table.add_column("who")
    for name in HEADS:
        table.add_column(name, justify="right")
    last = ""
    for score in found:
        if score.data != last:
            table.add_section()
        table.add_row(score.data if score.data != last else "", label(score.chooser), *cells(score))
        last = score.data
    return table


def cells(score: Score) -> list[str]:
    shares = [
        f"{share:.1%}" if share is not None else "-"
        for share in (score.share, score.standard_error)
    ]
    return [
        *shares,
        *(
            terminal(spent) if spent is not None else "-"
            for spent in (score.decision, score.reward)
        ),
    ]


def in_markdown(title: str, found: list[Score]) -> str:
    """Choosers by data sets, between the marks."""
    by_place = {(score.data, score.chooser): score for score in found}
    sets = list(dict.fromkeys(score.data for score in found))
    lines = [
        f"| {title} | " + " | ".join(f"{name.replace('_', ' ')} | us | us" for name in sets) + " |"
    ]
    lines.append("|---|" + "--:|--:|--:|" * len(sets))
    for chooser in dict.fromkeys(score.chooser for score in found):
        parts = [in_short(by_place[name, chooser]) for name in sets]
        lines.append(f"| {chooser} | " + " | ".join(parts) + " |")
    return "\n".join([BEGIN, "", *lines, "", END])


def in_short(score: Score) -> str:
    """Share with its error, decision, reward."""
    if score.share is None or score.decision is None or score.reward is None:
        return "- | - | -"
    error = "" if score.standard_error is None else f" ± {100 * score.standard_error:.1f}"
    return f"{100 * score.share:.1f}{error} | {score.decision:,.0f} | {score.reward:,.0f}"
