"""`ensample demo`: an experiment on real data, and what its log says of other policies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensample.checks import whole
from ensample.cli.console import Bars, label, output, print_json, print_paths, table
from ensample.cli.demonstration import (
    ACTIONS,
    FLOOR,
    JudgedPolicy,
    PlayedExperiment,
    judge,
    parts_of,
    play,
)
from ensample.cli.options import option
from ensample.cli.policies import build
from ensample.extras import require
from ensample.files import check_folder
from ensample.numerals import terminal

FOLDER = Path("results/demo")
LEAST, MOST = 100, 1797  # decisions
PAGE, LOG = "evaluation.html", "log.parquet"


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    rounds: int = option(MOST, f"decisions, one an image: {LEAST} to {MOST}")
    policy: str = option("EnsembleSampling()", "the recipe that decides, as one types it")
    seed: int = option(0, "of everything random")
    out: Path | None = option(None, "the directory for the files", show_default=str(FOLDER))
    as_json: bool = option(
        False, "print JSON for programs; no files unless --out is given", "--json"
    )


def demo(options: DemoOptions) -> None:
    """An experiment on handwritten digits, and what its log says of other policies.

    Images come one after the other. The experiment says which digit each is and hears only whether
    that was right. Then its log, which knows no labels, says how often other policies would have
    been right; the labels say what is true. The images come with the package; nothing is
    downloaded.

    Example: `ensample demo`

    Example: `ensample demo --policy "LinUCB()" --rounds 1000 --out digits`

    Example: `ensample demo --json`
    """
    rounds = whole("rounds", options.rounds, LEAST, MOST)
    seed = whole("seed", options.seed, 0)
    recipe = build(options.policy)
    folder = options.out if options.out is not None or options.as_json else FOLDER
    pages = []
    if folder is not None:  # say what is missing now rather than when the work is done
        check_folder("out", folder)
        pages = ["matplotlib", "jinja2"]
    require("polars", *pages, user="ensample demo")
    with Bars() as bars:
        deciding, judging = bars.add("decisions", rounds), bars.add("policies judged by the log", 3)
        played = play(recipe, rounds, seed, deciding.step)
        judged = judge(played, played.experiment.log(), judging.step)
    paths = [] if folder is None else write(played, judged, folder)
    if options.as_json:
        print_json(as_data(played, judged, paths))
    else:
        show(played, judged, paths)


def write(played: PlayedExperiment, judged: list[JudgedPolicy], folder: Path) -> list[Path]:
    """Write the figure, the page of the evaluation and the log."""
    from ensample.report.command_figures import DemoRow, draw_demo
    from ensample.report.evaluation import page
    from ensample.report.figures import save, write_files

    rows = [DemoRow(f"{one.policy} ({one.rows})", one.found["dr"], one.truth) for one in judged]
    drawn = draw_demo(played.right, 1.0 / len(ACTIONS), rows, title_of(played))
    paths = save(drawn, folder, "experiment")
    paths += write_files(folder, {PAGE: page([one.found for one in judged], LOG).encode()})
    played.experiment.to_parquet(folder / LOG)
    return [*paths, folder / LOG]


def title_of(played: PlayedExperiment) -> str:
    recipe = played.experiment.settings.recipe
    return f"digits: {played.right.size:,} decisions of {type(recipe).__name__}, floor {FLOOR:g}"


def show(played: PlayedExperiment, judged: list[JudgedPolicy], paths: list[Path]) -> None:
    parts = parts_of(played.right)
    learned = table(
        "decisions",
        numbers=[f"{first:,} to {last:,}" for first, last, _ in parts],
        title=label(title_of(played)),
        caption=f"all of them: {played.right.mean():.1%}; by chance 10%; {FLOOR:.0%} are drawn by "
        "chance, for the log's sake",
    )
    learned.add_row("right", *(f"{share:.1%}" for _, _, share in parts))
    others = table(
        "policy",
        "on",
        numbers=("estimate", "low", "high", "effective rows", "truth"),
        title="How often other policies would have been right, by the log alone",
        caption="DR with its confidence sequence, valid at all times; truth: from the labels, "
        "which the log does not have",
    )
    for one in judged:
        effective = f"{one.found.effective_rows:,.0f} of {one.found.rows:,}"
        estimate = map(terminal, one.found["dr"])
        others.add_row(one.policy, one.rows, *estimate, effective, terminal(one.truth))
    output.print(learned)
    output.print(others)
    print_paths(paths)
    if paths:
        command = f"ensample evaluate {paths[-1]} --policy uniform --low 0 --high 1"
        output.print_text(f"More of the log: {command}")


def as_data(
    played: PlayedExperiment, judged: list[JudgedPolicy], paths: list[Path]
) -> dict[str, Any]:
    """Return the demonstration as data."""
    parts = parts_of(played.right)
    return {
        "recipe": repr(played.experiment.settings.recipe),
        "decisions": int(played.right.size),
        "right": float(played.right.mean()),
        "parts": [{"first": first, "last": last, "right": share} for first, last, share in parts],
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
