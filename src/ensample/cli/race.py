"""`ensample race`: policies side by side on one problem."""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from ensample.checks import blaming
from ensample.cli.console import Bar, Bars, output, print_json, print_paths, table, warnings_shown
from ensample.cli.options import option
from ensample.cli.policies import CLICKS, CURVED, LINEAR, contender, prepare, usual_race
from ensample.cli.problems import (
    ProblemOptions,
    check_counts,
    complete_policies,
    options_of,
    print_skipped,
    show_names,
    title_of,
)
from ensample.extras import has, require
from ensample.files import check_folder
from ensample.numerals import numeral, terminal
from ensample.plain_data import without_nan
from ensample.problems import example_of
from ensample.simulation import Runs, simulate

CHECKPOINTS = 1000  # enough for a logarithmic axis to start early
FOLDER = Path("results/race")
SPEED = "speed is that of one thread"
CAPTION = (
    "best first; minus the best: paired, run by run, with the 95% interval of that one comparison "
    f"(who is best was chosen by the same runs); {SPEED}"
)


@dataclass(frozen=True, kw_only=True)
class RaceOptions(ProblemOptions):
    horizon: int | None = option(
        None,
        "T, the number of rounds",
        show_default=f"{LINEAR.horizon}; {CURVED.horizon} with networks",
    )
    runs: int | None = option(
        None,
        "replicates, each with a problem and noise of its own",
        show_default=f"{LINEAR.runs}; {CLICKS.runs} on clicks, {CURVED.runs} with networks",
    )
    policies: list[str] | None = option(
        None,
        "names (es-37 is an ensemble of 37) or recipes such as "
        "EnsembleSampling(size=20,scale=2*noise) and mymodule:MyRecipe, with commas between "
        "them; may be given again; see --list",
        show_default=f"{', '.join(LINEAR.policies)}; others where rewards are clicks, or curved",
        autocompletion=complete_policies,
    )
    seed: int = option(0, "of everything random")
    out: Path | None = option(None, "the directory for the figure", show_default=str(FOLDER))
    threads: int | None = option(
        None, "does not change the numbers", show_default="all cores that help"
    )
    as_json: bool = option(
        False, "print JSON for programs; no figure where matplotlib is missing", "--json"
    )
    list_only: bool = option(False, "say which problems and policies there are and stop", "--list")


def race(options: RaceOptions) -> None:
    """Race policies on one problem: a table of their regret and a figure.

    Every policy faces the same problems and the same noise, so differences are the policies' own.
    Without --policies those race that suit the problem's rewards, beside some that do not.

    Example: `ensample race --problem ball --dim 10 --policies es-10,es-100,linphe`

    Example: `ensample race --policies
    "es-37,EnsembleSampling(size=20,scale=2*noise),mymodule:MyRecipe(size=3)"`

    Example: `ensample race --problem wheel`

    Example: `ensample race --problem mymodule:MyProblems --dim 5 --policies es-100`

    Example: `ensample race --horizon 1000 --runs 20 --json`
    """
    if options.list_only:
        show_names()
        return
    seed, threads = options.seed, options.threads
    check_counts(horizon=options.horizon, runs=options.runs, seed=seed, threads=threads)
    family = options.build()
    usual = usual_race(family)
    horizon, runs = options.horizon or usual.horizon, options.runs or usual.runs
    recipes, skipped = prepare(",".join(options.policies or usual.policies), family, horizon)
    folder = options.out or FOLDER
    drawn = not options.as_json or options.out is not None or has("matplotlib")
    if drawn:  # say what is missing now rather than when the work is done
        check_folder("out", folder)
        require("matplotlib", user="ensample race")
    # No kernel simulates networks: a warning that says so would be no news.
    evaluation = "auto" if example_of(family).linear else "live"
    play = partial(simulate, problem=family, horizon=horizon, runs=runs, seed=seed)
    play = partial(play, evaluation=evaluation, checkpoints=CHECKPOINTS, threads=threads)
    with warnings_shown(), Bars() as bars:
        results = {}
        for name, bar in {name: bars.add(name, runs) for name in recipes}.items():
            advance = partial(show_runs, bar, horizon)
            with blaming(name):
                results[name] = play(recipes[name], rounds=advance)
    title, rows = title_of(options.problem, family, horizon, runs, seed), rows_of(results)
    if not options.as_json:
        show(title, rows)
        print_skipped(skipped)
    paths = draw(results, title, folder) if drawn else []
    if not options.as_json:
        print_paths(paths)
        return
    data = {"problem": {"name": options.problem, **options_of(family)}, "horizon": horizon}
    data |= {"runs": runs, "seed": seed, "policies": rows, "skipped": skipped}
    print_json(data | {"figures": [str(path) for path in paths]})


def show_runs(bar: Bar, horizon: int, rounds: int) -> None:
    """Show runs in fractions: one of networks takes its time."""
    bar.show(rounds / horizon)


def draw(results: dict[str, Runs], title: str, folder: Path) -> list[Path]:
    """Write the figure's files."""
    from ensample.report import race
    from ensample.report.figures import save

    labelled = {contender(name).label: result for name, result in results.items()}
    return save(race.draw(labelled, title), folder, "race")


def rows_of(results: dict[str, Runs]) -> list[dict[str, Any]]:
    """Return the race as data, the best policy first."""
    ranked = sorted(results.items(), key=lambda item: item[1].mean[-1])
    rows = []
    for name, result in ranked:
        row: dict[str, Any] = {"policy": name, "recipe": repr(result.recipe)}
        row |= {"evaluation": result.evaluation, **result.summary()}
        del row["runs"]
        rows.append(without_nan(row | {"minus_best": minus_best(result, ranked[0][1])}))
    return rows


def show(title: str, rows: list[dict[str, Any]]) -> None:
    several = len(rows) > 1
    numbers = ["mean regret", "standard error", "90th percentile", "rounds/s"]
    if several:
        numbers.insert(3, "minus the best")
    shown = table("policy", numbers=numbers, title=title, caption=CAPTION if several else SPEED)
    shown.columns[0].overflow = "fold"
    for place, row in enumerate(rows):
        cells = [terminal(row[key]) for key in ("mean", "standard_error", "p90")]
        if several:
            cells.append(shown_gap(row["minus_best"]))
        speed = terminal(row["rounds_per_second"])
        shown.add_row(escape(row["policy"]), *cells, speed, style=None if place else "bold")
    output.print(shown)


def minus_best(result: Runs, best: Runs) -> dict[str, float | None] | None:
    """Return the final regret less that of the best, run by run; None for the best itself.

    The 95% interval needs SciPy.
    """
    if result is best:
        return None
    gap = result.difference(best)
    low, high = gap.interval() if has("scipy") else ([math.nan], [math.nan])
    found: dict[str, float | None] = without_nan(
        {"mean": float(gap.mean[-1]), "low": float(low[-1]), "high": float(high[-1])}
    )
    return found


def shown_gap(gap: dict[str, float | None] | None) -> str:
    """Return a gap as text.

    >>> shown_gap({"mean": 2.5, "low": -1.0, "high": 6.0})
    '+2.5 (-1 to 6)'
    """
    if gap is None:
        return ""
    mean, low, high = (numeral(gap[key], typed=True) for key in ("mean", "low", "high"))
    return f"+{mean}" if gap["low"] is None else f"+{mean} ({low} to {high})"
