"""`ensample measure`: what the general theorem asks of a policy, measured on one problem."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from ensample.cli.console import Bars, output, print_json, table
from ensample.cli.options import option
from ensample.cli.policies import prepare
from ensample.cli.problems import (
    ProblemOptions,
    check_counts,
    complete_policies,
    print_skipped,
    title_of,
)
from ensample.files import marked_page, write_whole
from ensample.numerals import numeral, terminal
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
BEGIN = "<!-- measured by `ensample measure --markdown`: do not edit -->"
END = "<!-- end of what was measured -->"
HEADS = ("gamma", "p", "gamma, typical", "p, typical", "bound", "regret")


@dataclass(frozen=True, kw_only=True)
class MeasureCommandOptions(ProblemOptions):
    horizon: int = option(1000, "T, the number of rounds")
    runs: int = option(20, "replicates, each with a problem and noise of its own")
    policies: str = option(
        ",".join(POLICIES),
        "as for `ensample race`",
        show_default="one of each built-in recipe",
        autocompletion=complete_policies,
    )
    seed: int = option(0, "of everything random")
    markdown: Path | None = option(None, "a page whose marked part is replaced by the table")
    as_json: bool = option(False, "print JSON for programs", "--json")


def measure(options: MeasureCommandOptions) -> None:
    """Measure gamma and p of the general theorem for policies on one problem, and what its bound
    then says.

    gamma is how far theta_t strays from theta*, p how probably it is optimistic: the worst of all
    rounds in all but a share delta of the runs, and medians.

    Example: `ensample measure --problem sphere --dim 5 --arms 20 --horizon 500 --policies
    "es-100,LinUCB.from_theorem"`
    """
    horizon, runs, seed = options.horizon, options.runs, options.seed
    check_counts(horizon=horizon, runs=runs)
    page = None if options.markdown is None else marked_page(options.markdown, BEGIN, END)
    family = options.build()
    recipes, skipped = prepare(options.policies, family, horizon)
    for recipe in recipes.values():  # before the others have been measured for nothing
        require_estimates(recipe, family)
    found = {}
    with Bars() as bars:
        for name, bar in {name: bars.add(name, runs) for name in recipes}.items():
            recipe = recipes[name]
            found[name] = measured(recipe, family, horizon, runs, seed, progress=bar.show)
    title = title_of(options.problem, family, horizon, runs, seed)
    if page is not None and options.markdown is not None:
        write_whole(options.markdown, page.replace("\0", in_markdown(title, found)).encode())
    if options.as_json:
        print_json({"title": title, "policies": as_data(found), "skipped": skipped})
    else:
        show(title, found)
        print_skipped(skipped)


def show(title: str, found: dict[str, Measurement]) -> None:
    shown = table("policy", numbers=HEADS, title=title)
    for name, one in found.items():
        shown.add_row(escape(name), *(terminal(value) for value in cells(one)))
    output.print(shown)
    output.print(f"2ST is {terminal(next(iter(found.values())).trivial)}", highlight=False)


def cells(one: Measurement) -> tuple[float | None, ...]:
    return one.gamma, one.p, one.typical_gamma, one.typical_p, one.bound, one.regret


def in_markdown(title: str, found: dict[str, Measurement]) -> str:
    """Return the table between its marks."""
    lines = [f"| {title} | {' | '.join(HEADS)} |", "|---|" + "--:|" * len(HEADS)]
    for name, one in found.items():
        shown = ("" if value is None else numeral(value, 3) for value in cells(one))
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join([BEGIN, "", *lines, "", END])


def as_data(found: dict[str, Measurement]) -> list[dict[str, Any]]:
    """Return the measurements as data; JSON has no infinity."""
    return [
        {
            "policy": name,
            **{key: None if value == float("inf") else value for key, value in asdict(one).items()},
        }
        for name, one in found.items()
    ]
