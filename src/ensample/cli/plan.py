"""`ensample plan`: what the theorems prescribe for a setting, and what that is worth."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.padding import Padding

from ensample import theory
from ensample.cli.console import output, print_json, print_paths, table
from ensample.cli.options import option
from ensample.cli.policies import find_here, units_of
from ensample.codec import from_text
from ensample.errors import AssumptionError, InvalidArgument
from ensample.extras import has, require
from ensample.files import check_folder
from ensample.numerals import terminal
from ensample.perturbations import Perturbation
from ensample.registry import public_classes
from ensample.theory import Setting, Tradeoff
from ensample.theory.assumptions import require_optimistic, unit_anticoncentration
from ensample.theory.guarantee import COROLLARY, LINUCB_THEOREM, OPTIMISTIC_RULE, THEOREM_ONE

Result = TypeVar("Result")
FOLDER = Path("results/plan")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    dim: int = option(5, "d, the number of features")
    arms: int = option(20, "K, the number of arms; 0 for an infinite set")
    horizon: int = option(10_000, "T, the number of rounds")
    noise: float = option(1.0, "sigma, the subGaussian constant of the noise")
    norm: float = option(1.0, "S, an upper bound on |theta*|")
    regularization: float = option(1.0, "lam of the ridge estimate")
    delta: float = option(0.05, "a bound may fail with 2 to 4 times this probability")
    perturbation: str = option(
        "Gaussian",
        f"{', '.join(public_classes(Perturbation))}, with fields where it needs them, or "
        "mymodule:MyLaw",
    )
    frontier: bool = option(
        False,
        "what fewer or more members cost or save in regret: a table and a figure",
        "--frontier",
    )
    out: Path | None = option(None, "the directory for the figure", show_default=str(FOLDER))
    as_json: bool = option(False, "print JSON for programs", "--json")


def plan(options: PlanOptions) -> None:
    """What the theorems prescribe: radius, scale, ensemble size, bounds, and from when on they say
    anything.

    Example: `ensample plan --dim 5 --arms 20 --horizon 10000 --noise 1 --norm 1 --delta 0.05`

    Example: `ensample plan --arms 0 --horizon 1000000 --json`

    Example: `ensample plan --arms 20 --horizon 10000 --frontier --out figures`
    """
    constants = options.noise, options.norm, options.regularization, options.delta
    setting = Setting(options.dim, options.arms or None, options.horizon, *constants)
    law = law_named(options.perturbation, setting)
    if options.out is not None and not options.frontier:
        raise InvalidArgument("out", str(options.out), "--frontier, which draws a figure")
    if options.frontier:
        show_frontier(setting, law, options.out, options.as_json)
        return
    answer = prescribe(setting, law)
    if options.as_json:
        print_json(answer)
    else:
        show(setting, answer)


def law_named(text: str, setting: Setting) -> Perturbation:
    """Return a law as one types it.

    >>> law_named("gaussian", Setting(dim=5, arms=20, horizon=1000, noise=1, norm=1))
    Gaussian(scale=1.0)
    """
    find_here()
    typed = {name.lower(): name for name in public_classes(Perturbation)}.get(text, text)
    law: Perturbation = from_text("perturbation", typed, "Perturbation", units_of(setting))
    return law


def prescribe(setting: Setting, law: Perturbation) -> dict[str, Any]:
    """Return all that `plan` prints; None for what does not apply, with its reason beside it."""
    reasons: dict[str, str] = {}

    def attempt(name: str, function: Callable[[], float | None]) -> float | None:
        try:
            return function()
        except AssumptionError as error:
            reasons[name] = str(error)
            return None

    sizes: dict[str, Callable[[], float | None]] = {
        "ensemble_size": lambda: theory.ensemble_size(setting, law),
        "optimistic_size": lambda: if_gaussian(law, theory.optimistic_size)(setting),
        "sharp_size": lambda: theory.sharp_size(setting, None, law),
        "sharp_optimistic_size": lambda: if_gaussian(law, theory.sharp_optimistic_size)(setting),
        "sublinear_horizon": lambda: theory.sublinear_horizon(setting, law),
        "sharp_sublinear_horizon": lambda: theory.sublinear_horizon(setting, law, sharp=True),
    }
    bounds: dict[str, Callable[[Setting], float]] = {
        "theorem": lambda s: theory.theorem_bound(s, law),
        "phe": lambda s: theory.phe_bound(s, law),
        "optimistic": if_gaussian(law, theory.optimistic_bound),
        "ucb": theory.ucb_bound,
    }
    answer: dict[str, Any] = {
        "setting": asdict(setting),
        "perturbation": repr(law),
        "radius": theory.radius(setting),
        "scale": theory.perturbation_scale(setting, law),
        "perturbation_radius": theory.perturbation_radius(setting, law),
        "estimator_radius": theory.estimator_radius(setting, law),
        "trivial_bound": 2.0 * setting.norm * setting.horizon,
    }
    for name, size in sizes.items():
        answer[name] = attempt(name, size)
        if name == "ensemble_size":
            answer["useful_size"] = min(answer[name] or setting.horizon, setting.horizon)
    for name, bound in bounds.items():
        value = attempt(name, lambda bound=bound: bound(setting))  # type: ignore[misc]
        horizon = None if value is None else theory.informative_horizon(setting, bound)
        answer |= {f"{name}_bound": value, f"{name}_informative_horizon": horizon}
    return answer | {"not_applicable": reasons}


def if_gaussian(
    law: Perturbation, function: Callable[[Setting], Result]
) -> Callable[[Setting], Result]:
    """Return a function of the optimistic rule, whose constants are those of Gaussian laws."""

    def checked(setting: Setting) -> Result:
        require_optimistic(setting, law)
        return function(setting)

    return checked


CONSTANTS = {
    "radius": ("radius", "beta_T, of the ridge estimate"),
    "scale": ("scale", "of the reward perturbations; initial ones: times sqrt(lam)"),
    "perturbation_radius": ("perturbation radius", "gamma~_T"),
    "estimator_radius": ("estimator radius", "gamma_T"),
    "ensemble_size": ("ensemble size", "m of Theorem 1, uniform member rule"),
    "sharp_size": ("", "enough for the same bound (sharp=True)"),
    "optimistic_size": ("", "m of the optimistic member rule"),
    "sharp_optimistic_size": ("", "enough for it (sharp=True)"),
}
BOUNDS = {
    "theorem": ("ensemble sampling (Theorem 1)", THEOREM_ONE),
    "phe": ("LinPHE (Corollary)", COROLLARY),
    "optimistic": ("optimistic member rule (this library)", OPTIMISTIC_RULE),
    "ucb": ("LinUCB (general theorem)", LINUCB_THEOREM),
}


def show(setting: Setting, answer: dict[str, Any]) -> None:
    title = f"{in_symbols(setting)}, {answer['perturbation']}"
    constants = table("constant", "", numbers=["value"], title=title)
    constants.columns[1].style = "dim"
    for name, (constant, meaning) in CONSTANTS.items():
        constants.add_row(constant, meaning, terminal(answer[name]))
    output.print(constants)
    heads = ["with probability", "bound", "below 2ST from T ="]
    bounds = table("algorithm", numbers=heads, title="Regret over T rounds is at most")
    for name, (algorithm, theorem) in BOUNDS.items():
        bound, horizon = answer[f"{name}_bound"], answer[f"{name}_informative_horizon"]
        confidence = "" if bound is None else probability(theorem.failures * setting.delta)
        bounds.add_row(algorithm, confidence, terminal(bound), terminal(horizon))
    bounds.add_row("anything (2ST)", "1", terminal(answer["trivial_bound"]), "")
    output.print(bounds)
    for sentence in remarks(setting, answer):
        output.print(Padding(sentence, (0, 0, 0, 2)), highlight=False)


def remarks(setting: Setting, answer: dict[str, Any]) -> list[str]:
    """Return what a user should know about these numbers."""
    reasons = dict.fromkeys(answer["not_applicable"].values())
    found = [f"not applicable: {reason}" for reason in reasons]
    size = answer["ensemble_size"]
    if size is not None and size > setting.horizon:
        start, sharp_start = answer["sublinear_horizon"], answer["sharp_sublinear_horizon"]
        found.append(
            f"More than T = {setting.horizon:,} members are useless: T members, one a round, are "
            f"LinPHE. Theorem 1's {terminal(size)} members are at most T only from "
            f"T = {terminal(start)} on, the sharper size from T = {terminal(sharp_start)}."
        )
    trivial = answer["trivial_bound"]
    if any((answer[f"{name}_bound"] or 0.0) >= trivial > 0.0 for name in BOUNDS):
        found.append("A bound above 2ST says nothing yet at this horizon.")
    found.append(
        "If you do not know these constants, use EnsembleSampling(): it learns its scales, and "
        "nothing is proved of it."
    )
    return found


def probability(failure: float) -> str:
    return f"{1.0 - failure:.4g}" if failure >= 1e-4 else f"1 - {failure:.2g}"


def show_frontier(setting: Setting, law: Perturbation, out: Path | None, as_json: bool) -> None:
    """Print and draw what fewer or more members cost; for programs the figure only if asked for."""
    rows = theory.frontier(setting, law)
    _, p = unit_anticoncentration(law)
    size, bound = theory.ensemble_size(setting, law), theory.theorem_bound(setting, law)
    paper = Tradeoff(p / 4.0, size, bound)
    title, paths = f"{in_symbols(setting)}, {law!r}", []
    if out is not None or (not as_json and has("matplotlib")):
        check_folder("out", out or FOLDER)
        require("matplotlib", user="ensample plan --frontier")
        from ensample.report.command_figures import draw_plan
        from ensample.report.figures import save

        paths = save(draw_plan(rows, paper, title), out or FOLDER, "frontier")
    if as_json:
        data: dict[str, Any] = {"setting": asdict(setting), "perturbation": repr(law)}
        data |= {"theorem": paper._asdict(), "frontier": [row._asdict() for row in rows]}
        print_json(data | {"figures": [str(path) for path in paths]})
        return
    shown = table(numbers=["optimistic share s", "members", "bound B(gamma_T, s)"], title=title)
    shown.add_column("")
    for row in rows:
        note = f"Theorem 1 has {terminal(paper.size)} for this bound"
        numbers = f"{row.share:.4g}", terminal(row.size), terminal(row.bound)
        shown.add_row(*numbers, note if row.share == paper.share else "")
    output.print(shown)
    print_paths(paths)


def in_symbols(setting: Setting) -> str:
    """Return a setting in a line.

    >>> in_symbols(Setting(dim=5, arms=None, horizon=10_000, noise=1, norm=1))
    'd=5, infinitely many arms, T=10,000, sigma=1, S=1, lam=1, delta=0.05'
    """
    arms = "infinitely many" if setting.arms is None else f"{setting.arms:,}"
    return (
        f"d={setting.dim:,}, {arms} arms, T={setting.horizon:,}, sigma={setting.noise:g}, "
        f"S={setting.norm:g}, lam={setting.regularization:g}, delta={setting.delta:g}"
    )
