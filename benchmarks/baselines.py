"""Baselines: the textbook in NumPy, the lazy loop in C, and bare matrix products."""

import json
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.timing import Turn
from ensample.types import FloatArray

SOURCE = Path(__file__).with_name("floor.c")
FLAGS = ("-O3", "-march=native", "-ffast-math")


class Textbook:
    """Linear ensemble sampling as a textbook writes it, with Sherman-Morrison updates."""

    def __init__(self, features: FloatArray, size: int, scale: float, seed: int = 0) -> None:
        self.features, self.size, self.scale = features, size, scale
        self.rng = np.random.default_rng(seed)
        dim = features.shape[1]
        self.inverse = np.eye(dim)
        self.theta = scale * self.rng.standard_normal((size, dim))

    def decide(self, x: FloatArray | None = None) -> int:
        member = self.rng.integers(self.size)
        return int(np.argmax(self.features @ self.theta[member]))

    def update(self, arm: int, reward: float) -> None:
        x = self.features[arm]
        u = self.inverse @ x
        gain = u / (1.0 + x @ u)
        self.inverse -= np.outer(gain, u)
        z = self.scale * self.rng.standard_normal(self.size)
        self.theta += np.outer(reward + z - self.theta @ x, gain)


def build_floor(folder: Path) -> Path | None:
    """Compile `floor.c` into `folder`; return None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    program = folder / "floor"
    subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(program), "-lm"], check=True)
    return program


def run_floor(program: Path, *arguments: float) -> dict[str, float]:
    """Run it with (dim, arms, size, horizon, noise, scale, repeats, seed).

    It returns `seconds_per_round` (the median of the repeats), the mean `regret` and its
    `standard_error`.
    """
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def floor(program: Path, *arguments: float, repeats: int = 5) -> Turn:
    """Return turns of the C loop; `arguments` are those of `run_floor` up to the scale."""
    seeds = count()
    return lambda: run_floor(program, *arguments, repeats, next(seeds))["seconds_per_round"] * 1e6


def network_products(rounds: int, members: int, dim: int, width: int, batch: int) -> Turn:
    """Return turns of the seven matrix products in a training step of two hidden layers.

    They write into arrays that exist already, laid out by member, which is fastest.
    """
    rng = np.random.default_rng(0)
    rows, first = rng.standard_normal((batch, dim)), rng.standard_normal((members, dim, width))
    second, transposed = (rng.standard_normal((members, width, width)) for _ in range(2))
    last, delta = rng.standard_normal((members, width, 1)), rng.standard_normal((members, batch, 1))
    low, high, errors, further = (rng.standard_normal((members, batch, width)) for _ in range(4))
    outputs, by_last = np.empty_like(delta), np.empty_like(last)
    by_first, by_second = np.empty_like(first), np.empty_like(second)

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            np.matmul(rows, first, out=low)
            np.matmul(low, second, out=high)
            np.matmul(high, last, out=outputs)
            np.matmul(high.mT, delta, out=by_last)
            np.matmul(low.mT, errors, out=by_second)
            np.matmul(errors, transposed, out=further)
            np.matmul(rows.T, further, out=by_first)
        return (time.perf_counter() - start) / rounds * 1e6

    return turn


def product(rows: FloatArray, theta: FloatArray, rounds: int) -> Turn:
    """Return turns of numpy's own X @ theta, on as many threads as it takes."""

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            rows @ theta
        return (time.perf_counter() - start) / rounds * 1e6

    return turn
