"""`ensample plan`: what the theorems prescribe for a setting, and what that is worth."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from ensample import theory
from ensample.cli.console import output
from ensample.cli.frontier import FOLDER, in_symbols, show_frontier
from ensample.cli.recipes import find_here, units_of
from ensample.codec import from_text
from ensample.errors import AssumptionError, InvalidArgument
from ensample.numerals import terminal
from ensample.perturbations import Perturbation
from ensample.registry import public_classes
from ensample.theory import Setting
from ensample.theory.assumptions import require_optimistic
from ensample.theory.guarantee import COROLLARY, LINUCB_THEOREM, OPTIMISTIC_RULE, THEOREM_ONE


def plan(
    dim: Annotated[int, typer.Option(help="d, the number of features")] = 5,
    arms: Annotated[int, typer.Option(help="K, the number of arms; 0 for an infinite set")] = 20,
    horizon: Annotated[int, typer.Option(help="T, the number of rounds")] = 10_000,
    noise: Annotated[
        float, typer.Option(help="sigma, the subGaussian constant of the noise")
    ] = 1.0,
    norm: Annotated[float, typer.Option(help="S, an upper bound on |theta*|")] = 1.0,
    regularization: Annotated[float, typer.Option(help="lam of the ridge estimate")] = 1.0,
    delta: Annotated[
        float, typer.Option(help="a bound may fail with 2 to 4 times this probability")
    ] = 0.05,
    perturbation: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(public_classes(Perturbation))}, with fields where it needs them, or mymodule:MyLaw"
        ),
    ] = "Gaussian",
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier",
            help="what fewer or more members cost or save in regret: a table and a figure",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="the directory for the figure", show_default=str(FOLDER))
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for programs")] = False,
) -> None:
    """What the theorems prescribe: radius, scale, ensemble size, bounds, and from when on they say anything.

    Example: `ensample plan --dim 5 --arms 20 --horizon 10000 --noise 1 --norm 1 --delta 0.05`

    Example: `ensample plan --arms 0 --horizon 1000000 --json`

    Example: `ensample plan --arms 20 --horizon 10000 --frontier --out figures`
    """
    setting = Setting(dim, arms or None, horizon, noise, norm, regularization, delta)
    law = law_named(perturbation, setting)
    if out is not None and not frontier:
        raise InvalidArgument("out", str(out), "--frontier, which draws a figure")
    if frontier:
        show_frontier(setting, law, out, as_json)
        return
    answer = prescribe(setting, law)
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
    else:
        show(setting, answer)


def law_named(text: str, setting: Setting) -> Perturbation:
    """A law as one types it.

    >>> law_named("CenteredBinomial(trials=4)", Setting(dim=5, arms=20, horizon=1000, noise=1, norm=1))
    CenteredBinomial(trials=4, scale=1.0)
    """
    find_here()
    typed = {name.lower(): name for name in public_classes(Perturbation)}.get(text, text)
    law: Perturbation = from_text("perturbation", typed, "Perturbation", units_of(setting))
    return law


def prescribe(setting: Setting, law: Perturbation) -> dict[str, Any]:
    """Everything `plan` says, as data; what does not apply is None, with the reason in `not_applicable`."""
    reasons: dict[str, str] = {}

    def attempt(name: str, function: Callable[[], float | None]) -> float | None:
        try:
            return function()
        except AssumptionError as error:
            reasons[name] = str(error)
            return None

    bounds: dict[str, Callable[[Setting], float]] = {
        "theorem": lambda s: theory.theorem_bound(s, law),
        "phe": lambda s: theory.phe_bound(s, law),
        "optimistic": lambda s: gaussian_only(s, law, theory.optimistic_bound),
        "ucb": theory.ucb_bound,
    }
    answer: dict[str, Any] = {"setting": asdict(setting), "perturbation": repr(law)}
    answer["radius"] = theory.radius(setting)
    answer["scale"] = theory.perturbation_scale(setting, law)
    answer["perturbation_radius"] = theory.perturbation_radius(setting, law)
    answer["estimator_radius"] = theory.estimator_radius(setting, law)
    answer["trivial_bound"] = 2.0 * setting.norm * setting.horizon
    answer["ensemble_size"] = attempt("ensemble_size", lambda: theory.ensemble_size(setting, law))
    answer["useful_size"] = min(answer["ensemble_size"] or setting.horizon, setting.horizon)
    answer["optimistic_size"] = attempt(
        "optimistic_size", lambda: gaussian_only(setting, law, theory.optimistic_size)
    )
    answer["sharp_size"] = attempt("sharp_size", lambda: theory.sharp_size(setting, None, law))
    answer["sharp_optimistic_size"] = attempt(
        "sharp_optimistic_size", lambda: gaussian_only(setting, law, theory.sharp_optimistic_size)
    )
    answer["sublinear_horizon"] = attempt(
        "sublinear_horizon", lambda: theory.sublinear_horizon(setting, law)
    )
    answer["sharp_sublinear_horizon"] = attempt(
        "sharp_sublinear_horizon", lambda: theory.sublinear_horizon(setting, law, sharp=True)
    )
    for name, bound in bounds.items():
        value = attempt(name, lambda bound=bound: bound(setting))  # type: ignore[misc]
        horizon = None if value is None else theory.informative_horizon(setting, bound)
        answer[f"{name}_bound"] = value
        answer[f"{name}_informative_horizon"] = horizon
    answer["not_applicable"] = reasons
    return answer


def gaussian_only(
    setting: Setting, law: Perturbation, function: Callable[[Setting], float]
) -> float:
    """The optimistic rule's constants are for Gaussian laws."""
    require_optimistic(setting, law)
    return function(setting)


def show(setting: Setting, answer: dict[str, Any]) -> None:
    constants = Table(
        title=f"{in_symbols(setting)}, {answer['perturbation']}", title_justify="left"
    )
    constants.add_column("constant")
    constants.add_column("", style="dim")
    constants.add_column("value", justify="right")
    constants.add_row("radius", "beta_T, of the ridge estimate", terminal(answer["radius"]))
    constants.add_row(
        "scale",
        "of the reward perturbations; initial ones: times sqrt(lam)",
        terminal(answer["scale"]),
    )
    constants.add_row("perturbation radius", "gamma~_T", terminal(answer["perturbation_radius"]))
    constants.add_row("estimator radius", "gamma_T", terminal(answer["estimator_radius"]))
    constants.add_row(
        "ensemble size", "m of Theorem 1, uniform member rule", terminal(answer["ensemble_size"])
    )
    constants.add_row("", "enough for the same bound (sharp=True)", terminal(answer["sharp_size"]))
    constants.add_row("", "m of the optimistic member rule", terminal(answer["optimistic_size"]))
    constants.add_row("", "enough for it (sharp=True)", terminal(answer["sharp_optimistic_size"]))
    output.print(constants)

    bounds = Table(title="Regret over T rounds is at most", title_justify="left")
    bounds.add_column("algorithm")
    bounds.add_column("with probability", justify="right")
    bounds.add_column("bound", justify="right")
    bounds.add_column("below 2ST from T =", justify="right")
    rows = {
        "theorem": ("ensemble sampling (Theorem 1)", THEOREM_ONE),
        "phe": ("LinPHE (Corollary)", COROLLARY),
    }
    rows |= {"optimistic": ("optimistic member rule (this library)", OPTIMISTIC_RULE)}
    rows |= {"ucb": ("LinUCB (general theorem)", LINUCB_THEOREM)}
    for name, (label, theorem) in rows.items():
        confidence = (
            probability(theorem.failures * setting.delta)
            if answer[f"{name}_bound"] is not None
            else ""
        )
        horizon = answer[f"{name}_informative_horizon"]
        bounds.add_row(label, confidence, terminal(answer[f"{name}_bound"]), terminal(horizon))
    bounds.add_row("anything (2ST)", "1", terminal(answer["trivial_bound"]), "")
    output.print(bounds)
    for sentence in remarks(setting, answer):
        output.print(Padding(sentence, (0, 0, 0, 2)), highlight=False)


def remarks(setting: Setting, answer: dict[str, Any]) -> list[str]:
    """What a user should know about these numbers."""
    said = [
        f"not applicable: {reason}" for reason in dict.fromkeys(answer["not_applicable"].values())
    ]
    size, start = answer["ensemble_size"], answer["sublinear_horizon"]
    if size is not None and size > setting.horizon:
        said.append(
            f"More than T = {setting.horizon:,} members are useless: T members, one a round, are LinPHE. "
            f"Theorem 1's {terminal(size)} members are at most T only from T = {terminal(start)} on, "
            f"the sharper size from T = {terminal(answer['sharp_sublinear_horizon'])}."
        )
    trivial = answer["trivial_bound"]
    vacuous = [
        name
        for name in ("theorem", "phe", "optimistic", "ucb")
        if (answer[f"{name}_bound"] or 0.0) >= trivial > 0.0
    ]
    if vacuous:
        said.append("A bound above 2ST says nothing yet at this horizon.")
    said.append(
        "If you do not know these constants, use EnsembleSampling(): it learns its scales, and nothing is proved of it."
    )
    return said


def probability(failure: float) -> str:
    return f"{1.0 - failure:.4g}" if failure >= 1e-4 else f"1 - {failure:.2g}"
