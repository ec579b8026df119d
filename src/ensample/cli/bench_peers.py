"""`ensample bench --only peers`: other libraries and ours on the same problems, in the same run."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from ensample.bench.measure import Ratio, measure
from ensample.bench.rivals import RIVALS
from ensample.bench.tournament import PROBLEMS, TournamentResult, tournament
from ensample.cli.console import label, output, progress
from ensample.cli.marked import marked_page
from ensample.files import write_whole
from ensample.numerals import terminal

BEGIN = "<!-- measured by `ensample bench --only peers --markdown`: do not edit -->"
END = "<!-- end of what was measured -->"


def bench_peers(
    runs: int, rounds: int, json_file: Path | None, markdown: Path | None
) -> list[Ratio]:
    """Play, show and write; the ratios of single rounds are for the caller to show."""
    page = None if markdown is None else marked_page(markdown, BEGIN, END)
    ratios: list[Ratio] = []
    results: list[TournamentResult] = []
    with progress() as bars:
        timed = bars.add_task("turns of single rounds", total=None)
        for ratio in measure(["peers"], runs, lambda: bars.advance(timed)):
            ratios.append(ratio)
        bars.update(timed, total=bars.tasks[timed].completed)
        task = bars.add_task("runs", total=runs * len(RIVALS) * len(PROBLEMS))
        results.extend(tournament(runs, rounds, lambda: bars.advance(task)))
    title = f"{rounds:,} rounds, {runs:,} runs"
    for problem, words in PROBLEMS.items():
        output.print(
            as_table(f"{words}; {title}", [one for one in results if one.problem == problem])
        )
    if json_file is not None:
        answer = {
            "ratios": [asdict(row) for row in ratios],
            "results": [asdict(one) for one in results],
        }
        write_whole(json_file, f"{json.dumps(answer, indent=1)}\n".encode())
    if page is not None and markdown is not None:
        write_whole(markdown, page.replace("\0", in_markdown(title, results)).encode())
    return ratios


def as_table(title: str, results: Iterable[TournamentResult]) -> Table:
    caption = label(
        "all as they come, told nothing; us: CPU of decide and update; "
        "- : not installed (pip install '.[peers]'), or cannot play"
    )
    table = Table(title=label(title), title_justify="left", caption=caption, caption_justify="left")
    table.add_column("library")
    table.add_column("policy")
    for name in ("regret", "standard error", "us a round"):
        table.add_column(name, justify="right")
    for one in results:
        numbers = one.regret, one.standard_error, one.microseconds
        table.add_row(one.library, label(one.policy), *map(terminal, numbers))
    return table


def in_markdown(title: str, results: list[TournamentResult]) -> str:
    """Rivals by problems, between the marks."""
    by_place = {(one.problem, one.library, one.policy): one for one in results}
    lines = [f"| {title} | " + " | ".join(f"{problem}: regret | us" for problem in PROBLEMS) + " |"]
    lines.append("|---|" + "--:|--:|" * len(PROBLEMS))
    for library, policy in dict.fromkeys((one.library, one.policy) for one in results):
        found = [by_place[problem, library, policy] for problem in PROBLEMS]
        known = found[0].version or "not installed"
        lines.append(
            f"| {library} {known}: `{policy}` | " + " | ".join(map(in_short, found)) + " |"
        )
    return "\n".join([BEGIN, "", *lines, "", END])


def in_short(one: TournamentResult) -> str:
    """Regret with its error, and microseconds."""
    if one.regret is None or one.microseconds is None:
        return "- | -"
    error = "" if one.standard_error is None else f" ± {one.standard_error:.0f}"
    return f"{one.regret:,.0f}{error} | {one.microseconds:,.0f}"
