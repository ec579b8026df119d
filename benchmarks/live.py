"""Live policies against the NumPy textbook, side by side in one run: microseconds for one decide + update."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import ensample as es
from textbook import Textbook

DIM, ARMS, NOISE, SCALE = 20, 100, 0.1, 0.3


def sphere(seed: int) -> tuple[np.ndarray, list[float]]:
    """(features, mean of each arm) of a problem with unit arms and a unit parameter."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((ARMS + 1, DIM))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions[1:], (directions[1:] @ directions[0]).tolist()


def textbook(size: int) -> Callable[[int], None]:
    features, means = sphere(0)
    policy = Textbook(features, size, SCALE, seed=0)

    def rounds(count: int) -> None:
        for noise in np.random.default_rng(1).normal(0.0, NOISE, count).tolist():
            arm = policy.decide()
            policy.update(arm, means[arm] + noise)

    return rounds


def live(recipe: es.Recipe) -> Callable[[int], None]:
    features, means = sphere(0)
    policy = recipe.start(es.FiniteArms(features), seed=0)

    def rounds(count: int) -> None:
        for noise in np.random.default_rng(1).normal(0.0, NOISE, count).tolist():
            decision = policy.decide()
            policy.update(decision, means[decision.arm] + noise)

    return rounds


def race(contestants: dict[str, Callable[[int], None]], repeats: int, rounds: int) -> dict[str, float]:
    """Median microseconds a round, the contestants taking turns so that a busy machine slows all of them."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run(300)
    for _ in track(range(repeats), description="timing", console=Console(stderr=True)):
        for name, run in contestants.items():
            start = time.perf_counter()
            run(rounds)
            times[name].append((time.perf_counter() - start) / rounds * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def import_seconds(repeats: int = 5) -> float:
    """Median wall time of a fresh `import ensample`."""
    code = "import time; t = time.perf_counter(); import ensample; print(time.perf_counter() - t)"
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(repeats)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=2000)
    options = parser.parse_args()
    contestants = {
        f"{kind}, m={size:,}": make
        for size in (100, 1000)
        for kind, make in (
            ("textbook", textbook(size)),
            ("EnsembleSampling", live(es.EnsembleSampling(size=size, scale=SCALE))),
        )
    }
    contestants["PerturbedHistory"] = live(es.PerturbedHistory(scale=SCALE))
    measured = race(contestants, options.repeats, options.rounds)
    ratios = {
        f"m={size:,}": measured[f"textbook, m={size:,}"] / measured[f"EnsembleSampling, m={size:,}"] for size in (100, 1000)
    }
    result = {"microseconds": measured, "times_faster_than_textbook": ratios, "import_seconds": import_seconds()}
    if options.json:
        print(json.dumps(result, indent=1))
        return
    table = Table(title=f"One decide + update, d={DIM}, K={ARMS}")
    table.add_column("policy")
    table.add_column("us a round", justify="right")
    table.add_column("times faster than the textbook", justify="right")
    for name, value in measured.items():
        size = name.partition(", ")[2]
        ratio = f"{ratios[size]:.2f}" if name.startswith("Ensemble") else ""
        table.add_row(name, f"{value:.1f}", ratio)
    console = Console()
    console.print(table)
    console.print(f"import ensample: {result['import_seconds']:.2f} s")


if __name__ == "__main__":
    main()
