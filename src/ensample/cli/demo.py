"""`ensample demo`: an experiment on real data, and what its log says of other policies."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import ensample as es
from ensample.checks import whole
from ensample.cli.console import label, output, progress
from ensample.cli.demonstration import (
    ACTIONS,
    FLOOR,
    JudgedPolicy,
    PlayedExperiment,
    judge,
    parts_of,
    play,
)
from ensample.cli.recipes import build
from ensample.extras import require
from ensample.files import check_folder
from ensample.numerals import terminal

FOLDER = Path("results/demo")
LEAST, MOST = 100, 1797  # decisions
UNTOLD = es.Setting(dim=1, arms=1, horizon=1, noise=1.0, norm=1.0)
PAGE, LOG = "evaluation.html", "log.parquet"


def demo(
    rounds: Annotated[int, typer.Option(help=f"decisions, one an image: {LEAST} to {MOST}")] = MOST,
    policy: Annotated[
        str, typer.Option(help="the recipe that decides, as one types it")
    ] = "EnsembleSampling()",
    seed: Annotated[int, typer.Option(help="of everything random")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="the directory for the files", show_default=str(FOLDER))
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print JSON for programs; no files unless --out is given")
    ] = False,
) -> None:
    """An experiment on handwritten digits, and what its log says of other policies.

    Images come one after the other. The experiment says which digit each is and hears only whether that was right. Then its
    log, which knows no labels, says how often other policies would have been right; the labels say what is true. The images
    come with the package; nothing is downloaded.

    Example: `ensample demo`

    Example: `ensample demo --policy "LinUCB()" --rounds 1000 --out digits`

    Example: `ensample demo --json`
    """
    whole("rounds", rounds, LEAST, MOST)
    whole("seed", seed, 0)
    recipe = build(policy, UNTOLD)
    folder = out if out is not None or as_json else FOLDER
    if folder is not None:  # say what is missing now rather than when the work is done
        check_folder("out", folder)
    require(
        "polars", *(["matplotlib", "jinja2"] if folder is not None else []), user="ensample demo"
    )
    with progress() as bars:
        deciding = bars.add_task("decisions", total=rounds)
        judging = bars.add_task("policies judged by the log", total=3)
        played = play(recipe, rounds, seed, lambda: bars.advance(deciding))
        log = played.experiment.log()
        judged = judge(played, log, lambda: bars.advance(judging))
    paths = [] if folder is None else write(played, judged, folder)
    if as_json:
        typer.echo(json.dumps(answer(played, judged, paths), indent=2, allow_nan=False))
    else:
        show(played, judged, paths)


def write(played: PlayedExperiment, judged: list[JudgedPolicy], folder: Path) -> list[Path]:
    """The figure, the page of the evaluation and the log, each whole."""
    from ensample.report import demo as figure
    from ensample.report.demo.figure import DemoRow
    from ensample.report.drawing.files import keep
    from ensample.report.evaluation import page

    rows = [DemoRow(f"{one.policy} ({one.rows})", one.found["dr"], one.truth) for one in judged]
    drawn = figure.draw(played.right, 1.0 / len(ACTIONS), rows, title_of(played))
    paths = figure.save(drawn, folder, "experiment")
    paths += keep(folder, {PAGE: page([one.found for one in judged], LOG).encode()})
    played.experiment.to_parquet(folder / LOG)
    return [*paths, folder / LOG]


def title_of(played: PlayedExperiment) -> str:
    recipe = played.experiment.settings.recipe
    return f"digits: {played.right.size:,} decisions of {type(recipe).__name__}, floor {FLOOR:g}"


def show(played: PlayedExperiment, judged: list[JudgedPolicy], paths: list[Path]) -> None:
    output.print(learned_table(played))
    output.print(judged_table(judged))
    for path in paths:
        output.print(str(path), highlight=False, soft_wrap=True, markup=False)
    if paths:
        asked = f"ensample evaluate {paths[-1]} --policy uniform --low 0 --high 1"
        output.print(f"More of the log: {asked}", highlight=False, soft_wrap=True, markup=False)


def learned_table(played: PlayedExperiment) -> Table:
    caption = f"all of them: {played.right.mean():.1%}; by chance 10%; {FLOOR:.0%} are drawn by chance, for the log's sake"
    table = Table(
        title=label(title_of(played)), title_justify="left", caption=caption, caption_justify="left"
    )
    table.add_column("decisions")
    for first, last, _ in parts_of(played.right):
        table.add_column(f"{first:,} to {last:,}", justify="right")
    table.add_row("right", *(f"{share:.1%}" for _, _, share in parts_of(played.right)))
    return table


def judged_table(judged: list[JudgedPolicy]) -> Table:
    caption = "DR with its confidence sequence, valid at all times; truth: from the labels, which the log does not have"
    title = "How often other policies would have been right, by the log alone"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("policy")
    table.add_column("on")
    for name in ("estimate", "low", "high", "effective rows", "truth"):
        table.add_column(name, justify="right")
    for one in judged:
        effective = f"{one.found.effective_rows:,.0f} of {one.found.rows:,}"
        table.add_row(
            one.policy, one.rows, *map(terminal, one.found["dr"]), effective, terminal(one.truth)
        )
    return table


def answer(
    played: PlayedExperiment, judged: list[JudgedPolicy], paths: list[Path]
) -> dict[str, Any]:
    """The demonstration as data."""
    return {
        "recipe": repr(played.experiment.settings.recipe),
        "decisions": int(played.right.size),
        "right": float(played.right.mean()),
        "parts": [
            {"first": first, "last": last, "right": share}
            for first, last, share in parts_of(played.right)
        ],
        "judged": [
            {
                "policy": one.policy,
                "rows": one.found.rows,
                **one.found["dr"]._asdict(),
                "effective_rows": one.found.effective_rows,
                "truth": one.truth,
            }
            for one in judged
        ],
        "files": [str(path) for path in paths],
    }
