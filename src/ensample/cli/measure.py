"""`ensample measure`: what the general theorem asks of a policy, measured on one problem."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import TaskID
from rich.table import Table

from ensample.checks import whole
from ensample.cli import complete
from ensample.cli.console import output, progress
from ensample.cli.marked import marked_page
from ensample.cli.preparing import prepare
from ensample.cli.problem_options import ArmCount, Dim, Noise, ProblemName
from ensample.cli.race import given, options_of, problem_named
from ensample.files import write_whole
from ensample.numerals import numeral, terminal
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.simulation.measuring import measure as measured
from ensample.simulation.measuring import require_estimates
from ensample.theory import Measurement

POLICIES = (
    "EnsembleSampling.from_theorem(sharp=True)",
    "EnsembleSampling.from_theorem(member=OptimisticMember(), sharp=True)",
    "PerturbedHistory.from_theorem",
    "ThompsonSampling.from_theorem",
    "LinUCB.from_theorem",
    "EnsembleSampling()",
    "EnsembleSampling(size=100, scale=noise)",
    "EnsembleSampling(size=100, scale=noise, member=OptimisticMember())",
    "PerturbedHistory(scale=noise)",
    "ThompsonSampling(scale=noise)",
    "LinUCB(radius=2*noise)",
    "SymmetrizedEnsembleSampling(size=50, scale=noise)",
    "SharpEnsembleSampling(size=100, gamma=0.5, noise=noise)",
    "RefreshedEnsembleSampling(size=100, scale=noise)",
    "EnsemblePlusPlus(size=20, scale=noise)",
    "InformationDirected(size=100, scale=noise)",
    "KvetonPHE()",
    "MultiplierBootstrap()",
    "SupLinUCB.from_theorem",
    "EpsilonGreedy()",
    "Greedy(1.0)",
)
BEGIN, END = (
    "<!-- measured by `ensample measure --markdown`: do not edit -->",
    "<!-- end of what was measured -->",
)
HEADS = ("gamma", "p", "gamma, typical", "p, typical", "bound", "regret")


def measure(
    problem: ProblemName = "sphere",
    dim: Dim = None,
    arms: ArmCount = None,
    noise: Noise = None,
    horizon: Annotated[int, typer.Option(help="T, the number of rounds")] = 1000,
    runs: Annotated[
        int, typer.Option(help="replicates, each with a problem and noise of its own")
    ] = 20,
    policies: Annotated[
        str,
        typer.Option(
            help="as for `ensample race`",
            show_default="one of each built-in recipe",
            autocompletion=complete.policies,
        ),
    ] = ",".join(POLICIES),
    seed: Annotated[int, typer.Option(help="of everything random")] = 0,
    markdown: Annotated[
        Path | None, typer.Option(help="a page whose marked part is replaced by the table")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for programs")] = False,
) -> None:
    """Measure gamma and p of the general theorem for policies on one problem, and what its bound then says.

    gamma is how far theta_t strays from theta*, p how probably it is optimistic: the worst of all rounds in all but a share
    delta of the runs, and medians.

    Example: `ensample measure --problem sphere --dim 5 --arms 20 --horizon 500 --policies "es-100,LinUCB.from_theorem"`
    """
    whole("horizon", horizon, 1)
    whole("runs", runs, 1)
    page = None if markdown is None else marked_page(markdown, BEGIN, END)
    family = problem_named(problem, given(dim=dim, arms=arms, noise=noise))
    recipes, skipped = prepare(policies, family, horizon)
    for recipe in recipes.values():  # before the others have been measured for nothing
        require_estimates(recipe, family)
    found = run(recipes, family, horizon, runs, seed)
    options = ", ".join(
        f"{name} {value:g}"
        for name, value in options_of(family).items()
        if isinstance(value, int | float)
    )
    title = f"{problem}: {options}; {horizon:,} rounds, {runs:,} runs, seed {seed}"
    if page is not None and markdown is not None:
        write_whole(markdown, page.replace("\0", in_markdown(title, found)).encode())
    if as_json:
        typer.echo(
            json.dumps(
                {"title": title, "policies": as_data(found), "skipped": skipped},
                indent=2,
                allow_nan=False,
            )
        )
        return
    show(title, found)
    for name, reason in skipped.items():
        output.print(f"{name} skipped: {reason}", highlight=False, markup=False)


def run(
    recipes: dict[str, Recipe], family: Problem | Family, horizon: int, runs: int, seed: int
) -> dict[str, Measurement]:
    """One policy after the other, each with a progress bar."""
    found: dict[str, Measurement] = {}
    with progress() as bars:
        tasks = {name: bars.add_task(escape(name), total=runs, start=False) for name in recipes}
        for name, task in tasks.items():

            def advance(done: int, total: int, task: TaskID = task) -> None:
                bars.update(task, completed=done)

            bars.start_task(task)
            found[name] = measured(recipes[name], family, horizon, runs, seed, progress=advance)
    return found


def show(title: str, found: dict[str, Measurement]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("policy")
    for name in HEADS:
        table.add_column(name, justify="right")
    for name, one in found.items():
        table.add_row(escape(name), *(terminal(value) for value in cells(one)))
    output.print(table)
    output.print(f"2ST is {terminal(next(iter(found.values())).trivial)}", highlight=False)


def cells(one: Measurement) -> tuple[float | None, ...]:
    return one.gamma, one.p, one.typical_gamma, one.typical_p, one.bound, one.regret


def in_markdown(title: str, found: dict[str, Measurement]) -> str:
    """The table between its marks."""
    lines = [f"| {title} | {' | '.join(HEADS)} |", "|---|" + "--:|" * len(HEADS)]
    for name, one in found.items():
        shown = ("" if value is None else numeral(value, 3) for value in cells(one))
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join([BEGIN, "", *lines, "", END])


def as_data(found: dict[str, Measurement]) -> list[dict[str, Any]]:
    """JSON has no infinity."""
    return [
        {
            "policy": name,
            **{key: None if value == float("inf") else value for key, value in asdict(one).items()},
        }
        for name, one in found.items()
    ]
