"""`ensample verify`: the paper, statement by statement, with numbers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from ensample.checks import whole
from ensample.claims import CLAIMS, Checked, Claim, Scale, Verdict, find, total_cost
from ensample.claims import verify as verify_claims
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.claims.power import smallest
from ensample.claims.texts import cited
from ensample.cli.console import Bars, errors, output, table
from ensample.cli.options import option, optional_argument
from ensample.extras import require
from ensample.files import check_file, check_folder, write_whole
from ensample.numerals import duration, terminal

REFUTED = 1  # the exit code
WIDE = 120  # columns that leave room for statements
COLOURS = {Verdict.HOLDS: "green", Verdict.REFUTED: "bold red", Verdict.INCONCLUSIVE: "yellow"}


def complete_claims(incomplete: str) -> list[str]:
    return [claim.id for claim in CLAIMS if claim.id.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    claims: list[str] | None = optional_argument(
        "ids of claims; all of them where none is named", autocompletion=complete_claims
    )
    scale: Scale = option(Scale.QUICK, "a minute, a quarter of an hour, or hours on two cores")
    html: Path | None = option(None, "write a page with everything to this file")
    markdown: Path | None = option(
        None, "write the same as Markdown, its figures in images/ beside it"
    )
    json_file: Path | None = option(None, "write the rows to this file", "--json")
    seed: int = option(0, "of everything random")
    power: bool = option(
        False, "find the smallest fault that each check refutes: several times as long", "--power"
    )
    list_only: bool = option(False, "say what there is and stop", "--list")


def verify(options: VerifyOptions) -> None:
    """Check the paper's statements: what is measured against what is claimed.

    A claim holds, is refuted, or is inconclusive, and then the sample size that would decide is
    given. One that would still hold with a tenfold fault was not tested sharply. The exit code is 1
    if any is refuted.

    Example: `ensample verify --list`

    Example: `ensample verify chi-square --scale standard --json claims.json`

    Example: `ensample verify theorem-1 sharp-size --power`

    Example: `ensample verify --html paper.html`
    """
    chosen = find(options.claims or [])
    if options.list_only:
        output.print(contents(chosen))
        return
    scale, seed = options.scale, whole("seed", options.seed, 0)
    html, markdown, json_file = options.html, options.markdown, options.json_file
    for name, path in (("html", html), ("markdown", markdown), ("json", json_file)):
        if path is not None:
            check_file(name, path)
    if markdown is not None:
        check_folder("markdown", markdown.parent / "images" / markdown.stem)
    pages = html is not None or markdown is not None  # which show powers, and broken twins
    if pages:  # ask for all that pages need before the work
        require("jinja2", "ensample.report.paper", user="a page of ensample verify")
    if scale is not Scale.QUICK:
        time = duration(total_cost(chosen, scale).seconds)
        errors.print(f"about {time} on two cores", highlight=False)
    with Bars() as bars:
        bar = bars.add("claims", len(chosen))

        def advance(done: int, coming: Claim | None) -> None:
            bar.show(done)
            bar.rename(coming.id if coming else "done")

        rows = verify_claims(chosen, scale, seed, advance, options.power or pages, pages)
    output.print(as_table(rows, scale, seed))
    if json_file is not None:
        data: dict[str, Any] = {"scale": scale.value, "seed": seed}
        data["false_alarm"] = SUITE_FALSE_ALARM
        data["claims"] = [row.as_data() for row in rows]
        write_whole(json_file, f"{json.dumps(data, indent=1, allow_nan=False)}\n".encode())
    if pages:
        write_pages(rows, scale, seed, html, markdown)
    if any(row.outcome.verdict is Verdict.REFUTED for row in rows):
        raise typer.Exit(REFUTED)


def write_pages(
    rows: list[Checked], scale: Scale, seed: int, html: Path | None, markdown: Path | None
) -> None:
    from ensample.report.paper import Finding, page, write_document

    findings = [
        Finding(row.claim, row.outcome, row.twin, row.seconds, row.sharp, row.powers or ())
        for row in rows
        if row.twin is not None
    ]
    if html is not None:
        write_whole(html, page(findings, scale, seed).encode())
    if markdown is not None:
        write_document(findings, scale, seed, markdown)


def contents(claims: tuple[Claim, ...]) -> Table:
    """Return the claims as a table of contents."""
    shown = table("claim", "statement", "kind", "reference")
    section = None
    for claim in claims:
        if claim.section is not section:
            section = claim.section
            shown.add_section()
            shown.add_row(f"[bold]{section.value}[/]")
        words = escape(claim.statement), claim.kind.value, escape(cited(claim.reference))
        shown.add_row(claim.id, *words)
    return shown


def as_table(rows: list[Checked], scale: Scale, seed: int) -> Table:
    """Return the outcomes; a narrow terminal goes without statements and kinds."""
    counts = {verdict: sum(row.outcome.verdict is verdict for row in rows) for verdict in Verdict}
    summary = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
    powered = any(row.powers is not None for row in rows)
    shown = table(
        title=f"{scale.value}, seed {seed}: {summary}",
        caption=f"false-alarm rate of the suite {SUITE_FALSE_ALARM:g}; margin: the room left, as a "
        f"share of the bound{'; power: the smallest fault refuted' * powered}",
    )
    statements = ["statement", "kind"] if output.width >= WIDE else []
    numbers = {"measured", "bound", "margin", "power", "time"}
    powers = ["power"] if powered else []
    for name in ["claim", *statements, "measured", "bound", "margin", *powers, "verdict", "time"]:
        is_number = name in numbers
        justify: Literal["left", "right"] = "right" if is_number else "left"
        shown.add_column(name, justify=justify, no_wrap=is_number, overflow="fold")
    for row in rows:
        outcome, claim = row.outcome, row.claim
        cells = [escape(claim.statement), claim.kind.value] if statements else []
        margin = f"{outcome.margin:+.1%}" if abs(outcome.margin) < 100 else f"{outcome.margin:+.1e}"
        cells += [terminal(outcome.measured), f"{outcome.relation} {terminal(outcome.bound)}"]
        cells += [margin, *([strongest(row)] if powered else [])]
        verdict = f"[{COLOURS[outcome.verdict]}]{verdict_of(row)}[/]"
        shown.add_row(claim.id, *cells, verdict, f"{row.seconds:.1f} s")
    return shown


def strongest(row: Checked) -> str:
    """Return the smallest fault of any family that is refuted."""
    size = smallest(row.powers or ())
    if size is None:
        return f"> {max(fault.largest for fault in row.claim.faults):g}"
    return f"{size:.3g}" if size >= 1.01 else f"1 + {size - 1:.0e}"


def verdict_of(row: Checked) -> str:
    verdict, decides = row.outcome.verdict, row.outcome.decides
    if verdict is Verdict.HOLDS and not row.sharp:
        return f"{verdict.value}, not tested sharply"
    return verdict.value if decides is None else f"{verdict.value}: {decides:,} would decide"
