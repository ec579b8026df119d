"""`ensample race`: policies side by side on one problem."""

import json
import math
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import TaskID
from rich.table import Table

from ensample.checks import blaming, whole
from ensample.cli import complete
from ensample.cli.console import output, progress, warnings_shown
from ensample.cli.contenders import CLICKS, CURVED, LINEAR, usual_race
from ensample.cli.listing import show_names
from ensample.cli.policies import contender
from ensample.cli.preparing import prepare
from ensample.cli.problem_options import ArmCount, Dim, Noise, ProblemName
from ensample.cli.recipes import find_here
from ensample.errors import InvalidArgument
from ensample.extras import has, require
from ensample.files import check_folder
from ensample.lab.build import build_problem
from ensample.numerals import numeral, terminal
from ensample.policies import Recipe
from ensample.problems import Family, Problem, example_of
from ensample.problems import problem as family_named
from ensample.simulation import Runs, simulate

CHECKPOINTS = 1000  # enough for a logarithmic axis to start early
FOLDER = Path("results/race")
SPEED = "speed is that of one thread"
CAPTION = (
    f"best first; minus the best: paired, run by run, with the 95% interval of that one comparison (who is best was chosen by "
    f"the same runs); {SPEED}"
)


def race(
    problem: ProblemName = "sphere",
    dim: Dim = None,
    arms: ArmCount = None,
    noise: Noise = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="T, the number of rounds",
            show_default=f"{LINEAR.horizon}; {CURVED.horizon} with networks",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="replicates, each with a problem and noise of its own",
            show_default=f"{LINEAR.runs}; {CLICKS.runs} on clicks, {CURVED.runs} with networks",
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            help="names (es-37 is an ensemble of 37) or recipes such as EnsembleSampling(size=20,scale=2*noise) and "
            "mymodule:MyRecipe, with commas between them; may be given again; see --list",
            show_default=f"{', '.join(LINEAR.policies)}; others where rewards are clicks, or curved",
            autocompletion=complete.policies,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="of everything random")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="the directory for the figure", show_default=str(FOLDER))
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(help="does not change the numbers", show_default="all cores that help"),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="print JSON for programs; no figure where matplotlib is missing"
        ),
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="say which problems and policies there are and stop")
    ] = False,
) -> None:
    """Race policies on one problem: a table of their regret and a figure.

    Every policy faces the same problems and the same noise, so differences are the policies' own. Without --policies those race
    that suit the problem's rewards, beside some that do not.

    Example: `ensample race --problem ball --dim 10 --policies es-10,es-100,linphe`

    Example: `ensample race --policies "es-37,EnsembleSampling(size=20,scale=2*noise),mymodule:MyRecipe(size=3)"`

    Example: `ensample race --problem wheel`

    Example: `ensample race --problem mymodule:MyProblems --dim 5 --policies es-100`

    Example: `ensample race --horizon 1000 --runs 20 --json`
    """
    if list_only:
        show_names()
        return
    for option, value, least in (
        ("horizon", horizon, 1),
        ("runs", runs, 1),
        ("seed", seed, 0),
        ("threads", threads, 1),
    ):
        if value is not None:
            whole(option, value, least)
    family = problem_named(problem, given(dim=dim, arms=arms, noise=noise))
    usual = usual_race(family)
    horizon, runs = horizon or usual.horizon, runs or usual.runs
    recipes, skipped = prepare(",".join(policies or usual.policies), family, horizon)
    drawn = not as_json or out is not None or has("matplotlib")
    if drawn:  # say what is missing now rather than when the work is done
        check_folder("out", out or FOLDER)
        require("matplotlib", user="ensample race")
    results = run(recipes, family, horizon, runs, seed, threads)
    options = ", ".join(
        f"{name} {value:g}"
        for name, value in options_of(family).items()
        if isinstance(value, int | float)
    )
    called = f"{problem}: {options}" if options else problem
    title = f"{called}; {horizon:,} rounds, {runs:,} runs, seed {seed}"
    if not as_json:
        show(title, results, skipped)
    paths = draw(results, title, out or FOLDER) if drawn else []
    if as_json:
        typer.echo(
            json.dumps(answer(problem, family, results, skipped, paths), indent=2, allow_nan=False)
        )
    else:
        for path in paths:
            output.print(str(path), highlight=False, soft_wrap=True, markup=False)


def given(**options: float | None) -> dict[str, float]:
    return {name: value for name, value in options.items() if value is not None}


def problem_named(name: str, options: dict[str, float]) -> Problem | Family:
    """A family of ours, or something in a module of the user's own."""
    if ":" not in name:
        return family_named(name, **options)
    find_here()
    try:
        return build_problem({"family": name, **options})
    except InvalidArgument as error:
        argument = "problem" if error.argument == "family" else error.argument
        raise type(error)(argument, error.value, error.expected) from error


def draw(results: dict[str, Runs], title: str, folder: Path) -> list[Path]:
    """The figure's files."""
    from ensample.report import race as figure

    labelled = {contender(name).label: result for name, result in results.items()}
    return figure.save(figure.draw(labelled, title), folder, "race")


def run(
    recipes: dict[str, Recipe],
    family: Problem | Family,
    horizon: int,
    runs: int,
    seed: int,
    threads: int | None,
) -> dict[str, Runs]:
    """One policy after the other, each with a progress bar."""
    results: dict[str, Runs] = {}
    way = (
        "auto" if example_of(family).linear else "live"
    )  # no kernel simulates networks: a warning would be no news
    with warnings_shown(), progress() as bars:
        tasks = {name: bars.add_task(escape(name), total=runs, start=False) for name in recipes}
        for name, task in tasks.items():

            def advance(rounds: int, task: TaskID = task) -> None:
                bars.update(
                    task, completed=rounds / horizon
                )  # runs, in fractions: one of networks takes its time

            with blaming(name):
                bars.start_task(task)
                results[name] = simulate(
                    recipes[name],
                    family,
                    horizon,
                    runs,
                    seed,
                    way,
                    checkpoints=CHECKPOINTS,
                    threads=threads,
                    rounds=advance,
                )
    return results


def options_of(family: Problem | Family) -> dict[str, Any]:
    """The fields of a family; numbers, or text."""
    found: dict[str, Any] = asdict(family) if is_dataclass(family) else {}
    return {
        name: value if isinstance(value, int | float) else repr(value)
        for name, value in found.items()
    }


def ranked(results: dict[str, Runs]) -> list[tuple[str, Runs]]:
    """The lowest regret first."""
    return sorted(results.items(), key=lambda item: item[1].mean[-1])


def show(title: str, results: dict[str, Runs], skipped: dict[str, str]) -> None:
    order = ranked(results)
    table = Table(
        title=title,
        title_justify="left",
        caption=CAPTION if len(order) > 1 else SPEED,
        caption_justify="left",
    )
    table.add_column("policy", overflow="fold")
    for column in (
        "mean regret",
        "standard error",
        "90th percentile",
        *["minus the best"] * (len(order) > 1),
        "rounds/s",
    ):
        table.add_column(column, justify="right")
    for place, (name, result) in enumerate(order):
        final = numbers(result)
        cells = [
            terminal(final[key]) for key in ("mean", "standard_error", "p90", "rounds_per_second")
        ]
        if len(order) > 1:
            cells.insert(3, shown_gap(minus_best(result, order[0][1])))
        table.add_row(escape(name), *cells, style=None if place else "bold")
    output.print(table)
    for name, reason in skipped.items():
        output.print(f"{name} skipped: {reason}", highlight=False, markup=False)


def answer(
    problem: str,
    family: Problem | Family,
    results: dict[str, Runs],
    skipped: dict[str, str],
    paths: list[Path],
) -> dict[str, Any]:
    """The race as data, the best policy first."""
    first = next(iter(results.values()))
    best = ranked(results)[0][1]
    return {
        "problem": {"name": problem, **options_of(family)},
        "horizon": first.horizon,
        "runs": len(first.regret),
        "seed": first.seed,
        "policies": [
            {
                "policy": name,
                "recipe": repr(result.recipe),
                "evaluation": result.evaluation,
                **numbers(result),
                "minus_best": minus_best(result, best),
            }
            for name, result in ranked(results)
        ],
        "skipped": skipped,
        "figures": [str(path) for path in paths],
    }


def numbers(result: Runs) -> dict[str, float | None]:
    """The summary; JSON has no NaN, which a single run's standard error is."""
    final = result.summary()
    del final["runs"]
    return without_nan(final)


def minus_best(result: Runs, best: Runs) -> dict[str, float | None] | None:
    """The final regret less that of the best, run by run, with the 95% interval where SciPy is there; None for the best."""
    if result is best:
        return None
    found = result.difference(best)
    low, high = found.interval() if has("scipy") else ([math.nan], [math.nan])
    return without_nan(
        {"mean": float(found.mean[-1]), "low": float(low[-1]), "high": float(high[-1])}
    )


def shown_gap(gap: dict[str, float | None] | None) -> str:
    """
    >>> shown_gap({"mean": 2.5, "low": -1.0, "high": 6.0})
    '+2.5 (-1 to 6)'
    """
    if gap is None:
        return ""
    mean, low, high = (numeral(gap[key], typed=True) for key in ("mean", "low", "high"))
    return f"+{mean}" if gap["low"] is None else f"+{mean} ({low} to {high})"


def without_nan(numbers: dict[str, float]) -> dict[str, float | None]:
    return {key: None if math.isnan(value) else value for key, value in numbers.items()}
