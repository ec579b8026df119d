"""`ensample demo`: watch ensemble sampling learn."""

import json
import time
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from ensample.arms import FiniteArms
from ensample.checks import number, whole
from ensample.cli.console import output, progress
from ensample.policies import EnsembleSampling

__all__ = ["demo"]


def demo(
    dim: Annotated[int, typer.Option(help="the number of features")] = 20,
    arms: Annotated[int, typer.Option(help="the number of arms, random unit vectors")] = 100,
    horizon: Annotated[int, typer.Option(help="the number of rounds")] = 2_000,
    noise: Annotated[float, typer.Option(help="the standard deviation of the noise")] = 0.3,
    size: Annotated[int, typer.Option(help="the number of members")] = 100,
    scale: Annotated[float, typer.Option(help="the scale of the perturbations")] = 0.3,
    seed: Annotated[int, typer.Option(help="of the problem, the noise and the policy")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for programs")] = False,
) -> None:
    """Run ensemble sampling on a random problem and show what it learned.

    Example: `ensample demo --dim 5 --arms 20 --horizon 5000 --size 30`
    """
    whole("dim", dim, 1)
    whole("arms", arms, 1)
    whole("horizon", horizon, 1)
    number("noise", noise, 0.0)
    rng = np.random.default_rng(whole("seed", seed, 0))
    directions = rng.standard_normal((arms + 1, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    features, theta = directions[1:], directions[0]
    means = features @ theta
    best = int(np.argmax(means))
    policy = EnsembleSampling(size=size, scale=scale).start(FiniteArms(features), seed)

    regret = np.zeros(horizon)
    start = time.perf_counter()
    with progress() as bars:
        for t in bars.track(range(horizon), description="ensemble sampling"):
            decision = policy.decide()
            mean = means[decision.arm]
            regret[t] = means[best] - mean
            policy.update(decision, mean + noise * rng.standard_normal())
    seconds = time.perf_counter() - start

    tenths = [chunk for chunk in np.array_split(np.cumsum(regret), 10) if chunk.size]
    state = policy.diagnostics(theta)
    result = {
        "regret": float(regret.sum()),
        "random_regret": float(horizon * (means[best] - means.mean())),
        "best_arm_share": float(np.mean(regret[horizon // 2 :] == 0.0)),
        "propensity_of_best": float(policy.propensities()[best]),
        "ridge_error": state.ridge_error,
        "disagreement": state.disagreement,
        "rounds_per_second": horizon / seconds,
    }
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    curve = Table(title=f"EnsembleSampling(size={size}, scale={scale:g}): d={dim}, K={arms}, noise {noise:g}, seed {seed}")
    curve.add_column("round", justify="right")
    curve.add_column("regret so far", justify="right")
    curve.add_column("")
    end = 0
    for chunk in tenths:
        end += chunk.size
        curve.add_row(f"{end:,}", f"{chunk[-1]:.1f}", "█" * round(30 * chunk[-1] / max(regret.sum(), 1e-300)))
    output.print(curve)
    table = Table(title="Result", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("regret", f"{result['regret']:.1f}")
    table.add_row("regret of random choice", f"{result['random_regret']:.1f}")
    table.add_row("best arm in the second half", f"{result['best_arm_share']:.0%} of rounds")
    table.add_row("propensity of the best arm now", f"{result['propensity_of_best']:.2f}")
    table.add_row("|theta_hat - theta*|_V", f"{state.ridge_error:.2f}")
    table.add_row("disagreement of the members", f"{state.disagreement:.2f} nats")
    table.add_row("rounds per second", f"{result['rounds_per_second']:,.0f}")
    output.print(table)
