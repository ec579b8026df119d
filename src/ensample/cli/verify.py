"""`ensample verify`: the paper, statement by statement, with numbers."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from ensample.checks import whole
from ensample.claims import Checked, Claim, Scale, Verdict, find, total_cost
from ensample.claims import verify as verify_claims
from ensample.claims.evidence import SUITE_FALSE_ALARM
from ensample.claims.power import smallest
from ensample.claims.texts import cited
from ensample.cli import complete
from ensample.cli.console import errors, output, progress
from ensample.extras import require
from ensample.files import check_file, check_folder, write_whole
from ensample.numerals import duration, terminal

REFUTED = 1  # the exit code
WIDE = 120  # columns that leave room for statements
COLOURS = {Verdict.HOLDS: "green", Verdict.REFUTED: "bold red", Verdict.INCONCLUSIVE: "yellow"}


def verify(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            help="ids of claims; all of them where none is named", autocompletion=complete.claims
        ),
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="a minute, a quarter of an hour, or hours on two cores")
    ] = Scale.QUICK,
    html: Annotated[
        Path | None, typer.Option(help="write a page with everything to this file")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="write the same as Markdown, its figures in images/ beside it"),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the rows to this file")
    ] = None,
    seed: Annotated[int, typer.Option(help="of everything random")] = 0,
    power: Annotated[
        bool,
        typer.Option(
            "--power", help="find the smallest fault that each check refutes: several times as long"
        ),
    ] = False,
    list_only: Annotated[bool, typer.Option("--list", help="say what there is and stop")] = False,
) -> None:
    """Check the paper's statements: what is measured against what is claimed.

    A claim holds, is refuted, or is inconclusive, and then the sample size that would decide is given. One that would still
    hold with a tenfold fault was not tested sharply. The exit code is 1 if any is refuted.

    Example: `ensample verify --list`

    Example: `ensample verify chi-square --scale standard --json claims.json`

    Example: `ensample verify theorem-1 sharp-size --power`

    Example: `ensample verify --html paper.html`
    """
    chosen = find(claims or [])
    if list_only:
        output.print(contents(chosen))
        return
    whole("seed", seed, 0)
    for option, path in (("html", html), ("markdown", markdown), ("json", json_file)):
        if path is not None:
            check_file(option, path)
    if markdown is not None:
        check_folder("markdown", markdown.parent / "images" / markdown.stem)
    if html is not None or markdown is not None:
        require(
            "jinja2", "ensample.report.paper", user="a page of ensample verify"
        )  # and so all that pages need
    if scale is not Scale.QUICK:
        errors.print(
            f"about {duration(total_cost(chosen, scale).seconds)} on two cores", highlight=False
        )
    pages = html is not None or markdown is not None  # which show powers, and broken twins
    rows = run(chosen, scale, seed, power or pages, pages)
    output.print(as_table(rows, scale, seed))
    if json_file is not None:
        write_json(rows, scale, seed, json_file)
    if pages:
        write_report(rows, scale, seed, html, markdown)
    if any(row.outcome.verdict is Verdict.REFUTED for row in rows):
        raise typer.Exit(REFUTED)


def run(
    claims: tuple[Claim, ...], scale: Scale, seed: int, power: bool, twins: bool
) -> list[Checked]:
    with progress() as bars:
        task = bars.add_task("claims", total=len(claims))

        def advance(done: int, coming: Claim | None) -> None:
            bars.update(task, completed=done, description=coming.id if coming else "done")

        return verify_claims(claims, scale, seed, advance, power, twins)


def write_json(rows: list[Checked], scale: Scale, seed: int, path: Path) -> None:
    answer = {
        "scale": scale.value,
        "seed": seed,
        "false_alarm": SUITE_FALSE_ALARM,
        "claims": [row.as_data() for row in rows],
    }
    write_whole(path, f"{json.dumps(answer, indent=1, allow_nan=False)}\n".encode())


def write_report(
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
    """The claims as a table of contents."""
    table = Table("claim", "statement", "kind", "reference")
    section = None
    for claim in claims:
        if claim.section is not section:
            section = claim.section
            table.add_section()
            table.add_row(f"[bold]{section.value}[/]")
        table.add_row(
            claim.id, escape(claim.statement), claim.kind.value, escape(cited(claim.reference))
        )
    return table


def as_table(rows: list[Checked], scale: Scale, seed: int) -> Table:
    """The outcomes; a narrow terminal goes without statements and kinds."""
    counts = {verdict: sum(row.outcome.verdict is verdict for row in rows) for verdict in Verdict}
    summary = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
    caption = f"false-alarm rate of the suite {SUITE_FALSE_ALARM:g}; margin: the room left, as a share of the bound"
    powered = any(row.powers is not None for row in rows)
    caption += "; power: the smallest fault refuted" if powered else ""
    table = Table(
        title=f"{scale.value}, seed {seed}: {summary}",
        title_justify="left",
        caption=caption,
        caption_justify="left",
    )
    wide = output.width >= WIDE
    columns = (
        "claim",
        *(("statement", "kind") if wide else ()),
        "measured",
        "bound",
        "margin",
        *(("power",) if powered else ()),
        "verdict",
        "time",
    )
    for column in columns:
        justify: Literal["left", "right"] = (
            "right" if column in ("measured", "bound", "margin", "power", "time") else "left"
        )
        table.add_column(column, justify=justify, no_wrap=justify == "right", overflow="fold")
    for row in rows:
        outcome, claim = row.outcome, row.claim
        table.add_row(
            claim.id,
            *((escape(claim.statement), claim.kind.value) if wide else ()),
            terminal(outcome.measured),
            f"{outcome.relation} {terminal(outcome.bound)}",
            f"{outcome.margin:+.1%}" if abs(outcome.margin) < 100 else f"{outcome.margin:+.1e}",
            *((strongest(row),) if powered else ()),
            f"[{COLOURS[outcome.verdict]}]{said(row)}[/]",
            f"{row.seconds:.1f} s",
        )
    return table


def strongest(row: Checked) -> str:
    """The smallest fault of any family that is refuted."""
    size = smallest(row.powers or ())
    if size is None:
        return f"> {max(fault.largest for fault in row.claim.faults):g}"
    return f"{size:.3g}" if size >= 1.01 else f"1 + {size - 1:.0e}"


def said(row: Checked) -> str:
    outcome = row.outcome
    if outcome.verdict is Verdict.HOLDS and not row.sharp:
        return f"{outcome.verdict.value}, not tested sharply"
    return (
        outcome.verdict.value
        if outcome.decides is None
        else f"{outcome.verdict.value}: {outcome.decides:,} would decide"
    )
