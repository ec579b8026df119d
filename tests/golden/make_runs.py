"""Freeze the runs of `runs.py` in golden files.

    python tests/golden/make_runs.py            write all files
    python tests/golden/make_runs.py models     write model_runs.npz only
    python tests/golden/make_runs.py check      play all cases twice and compare

The files were written with the numba kernels of commit 4be0a0a. Only `model_runs.npz` is meant to
be written again: after a change of the exp and log that `Logistic` and `Neural` use, once
`test_runs.py` has found their single updates and their distributions unchanged.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from golden.runs import (
    LIVE,
    MODEL_LIVE,
    MODEL_SIMULATED,
    SAMPLES,
    SIMULATED,
    STEPS,
    Fields,
    play_live,
    play_simulated,
    sample,
    step,
    step_start,
    write,
)


def played(cases: dict[str, Any], play: Callable[[Any], Fields]) -> dict[str, Fields]:
    """Return the fields of every case, or raise naming those that could not be played."""
    found: dict[str, Fields] = {}
    failed: list[str] = []
    for name, case in cases.items():
        begun = time.perf_counter()
        try:
            found[name] = play(case)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
        taken = time.perf_counter() - begun
        if taken > 0.5:
            print(f"{name}: {taken:.2f} s")
    if failed:
        raise RuntimeError("\n".join(failed))
    return found


def linear_runs() -> dict[str, Fields]:
    """Play all that has to stay equal bit for bit."""
    return played(LIVE, play_live) | played(SIMULATED, play_simulated)


def model_runs() -> dict[str, Fields]:
    """Play `Logistic` and `Neural`: what is frozen anew after their exp and log have changed."""
    return played(MODEL_LIVE, play_live) | played(MODEL_SIMULATED, play_simulated)


def model_steps() -> dict[str, Fields]:
    """Make one update of every model, from a state that is frozen too."""

    def both(case: tuple[str, str]) -> Fields:
        before = step_start(*case)
        return before | step(*case, before)

    return played(STEPS, both)


def samples() -> dict[str, Fields]:
    """Draw the final regrets of many runs, with seeds that tests do not use."""
    found: dict[str, Fields] = {}
    for name, case in SAMPLES.items():
        found[name] = {"regret": sample(case.recipe, case, case.frozen, seed=0)}
    return found


FILES = {
    "linear_runs.npz": linear_runs,
    "model_runs.npz": model_runs,
    "model_steps.npz": model_steps,
    "model_samples.npz": samples,
}


def freeze_model_runs() -> None:
    """Write `model_runs.npz` only."""
    write("model_runs.npz", model_runs())


def check() -> None:
    """Play all cases twice, and name every field that differs in a bit."""
    for name, make in FILES.items():
        first, second = make(), make()
        differing = [
            f"{case}: {field}"
            for case, fields in first.items()
            for field, values in fields.items()
            if values.tobytes() != second[case][field].tobytes()
        ]
        print(f"{name}: {len(first)} cases, {len(differing)} fields differ", *differing, sep="\n  ")


def main() -> None:
    """Do what the command line asks for."""
    asked = sys.argv[1:]
    warnings.simplefilter("error")
    if asked == ["models"]:
        freeze_model_runs()
    elif asked == ["check"]:
        check()
    else:
        for name, make in FILES.items():
            begun = time.perf_counter()
            write(name, make())
            print(f"{name}: {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
