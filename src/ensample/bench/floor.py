"""Builds and runs `floor.c`, the lazy loop in C."""

import json
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

FLAGS = ("-O3", "-march=native", "-ffast-math")


def build_floor(folder: Path) -> Path | None:
    """The compiled program, in `folder`; None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    program = folder / "floor"
    with as_file(files("ensample.bench") / "floor.c") as source:
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(program), "-lm"], check=True)
    return program


def run_floor(
    program: Path,
    dim: int,
    arms: int,
    size: int,
    horizon: int,
    noise: float,
    scale: float,
    repeats: int,
    seed: int,
) -> dict[str, float]:
    """`seconds_per_round` (median of the repeats), mean `regret` and its `standard_error`."""
    arguments = map(str, (dim, arms, size, horizon, noise, scale, repeats, seed))
    answer: dict[str, float] = json.loads(
        subprocess.run([program, *arguments], capture_output=True, check=True).stdout
    )
    return answer
