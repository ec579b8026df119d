"""`ensample plan --frontier`: what fewer or more members cost or save in regret."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from ensample import theory
from ensample.cli.console import output
from ensample.extras import has, require
from ensample.files import check_folder
from ensample.numerals import terminal
from ensample.perturbations import Perturbation
from ensample.theory import Setting, Tradeoff
from ensample.theory.assumptions import unit_anticoncentration

FOLDER = Path("results/plan")


def show_frontier(setting: Setting, law: Perturbation, out: Path | None, as_json: bool) -> None:
    """The table and the figure; for programs the figure only where it is asked for."""
    rows = theory.frontier(setting, law)
    paper = Tradeoff(
        quarter(law), theory.ensemble_size(setting, law), theory.theorem_bound(setting, law)
    )
    drawn = out is not None or (not as_json and has("matplotlib"))
    if drawn:
        check_folder("out", out or FOLDER)
        require("matplotlib", user="ensample plan --frontier")
    title = f"{in_symbols(setting)}, {law!r}"
    if not as_json:
        show(rows, paper, title)
    paths = draw(rows, paper, title, out or FOLDER) if drawn else []
    if as_json:
        found: dict[str, Any] = {
            "setting": asdict(setting),
            "perturbation": repr(law),
            "theorem": paper._asdict(),
        }
        found |= {
            "frontier": [row._asdict() for row in rows],
            "figures": [str(path) for path in paths],
        }
        typer.echo(json.dumps(found, indent=2))
    for path in [] if as_json else paths:
        output.print(str(path), highlight=False, soft_wrap=True, markup=False)


def quarter(law: Perturbation) -> float:
    """Theorem 1's share, p/4."""
    _, p = unit_anticoncentration(law)
    return p / 4.0


def show(rows: tuple[Tradeoff, ...], paper: Tradeoff, title: str) -> None:
    table = Table(title=title, title_justify="left")
    for name in ("optimistic share s", "members", "bound B(gamma_T, s)"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        note = (
            f"Theorem 1 has {terminal(paper.size)} for this bound"
            if row.share == paper.share
            else ""
        )
        table.add_row(f"{row.share:.4g}", terminal(row.size), terminal(row.bound), note)
    output.print(table)


def draw(rows: tuple[Tradeoff, ...], paper: Tradeoff, title: str, folder: Path) -> list[Path]:
    """The figure's files."""
    from ensample.report import plan as figure

    return figure.save(figure.draw(rows, paper, title), folder, "frontier")


def in_symbols(setting: Setting) -> str:
    """A setting in a line.

    >>> in_symbols(Setting(dim=5, arms=None, horizon=10_000, noise=1, norm=1))
    'd=5, infinitely many arms, T=10,000, sigma=1, S=1, lam=1, delta=0.05'
    """
    arms = "infinitely many" if setting.arms is None else f"{setting.arms:,}"
    return (
        f"d={setting.dim:,}, {arms} arms, T={setting.horizon:,}, sigma={setting.noise:g}, S={setting.norm:g}, "
        f"lam={setting.regularization:g}, delta={setting.delta:g}"
    )
