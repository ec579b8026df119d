"""Crafted and damaged snapshots: each is refused by an error of ours, or goes on without harm."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from attempts import attempts
from conformance.policies import MIXING, RECIPES, fingerprint, possible

MUTANTS = attempts(sample=400, full=10_000)
NASTY = attempts(sample=60, full=3_000)
PATIENCE = 120  # seconds without a word: a loop without end


def test_crafted_file_is_refused_or_goes_on_without_harm(tmp_path: Path) -> None:
    outcomes = outcomes_of(MUTANTS, tmp_path)
    counts = Counter(outcome.split(":")[0] for _, outcome in outcomes)
    print(f"\n{len(outcomes):,} crafted files: {dict(counts)}")
    wrong = [f"{what} -> {outcome}" for what, outcome in outcomes if ":" in outcome]
    assert len(outcomes) == MUTANTS
    assert not wrong, "\n".join(wrong[:20])
    assert counts["refused"] > MUTANTS / 2 and counts["loads"] > MUTANTS / 50


def outcomes_of(count: int, folder: Path) -> list[tuple[str, str]]:
    """Return (changes, outcome) of every mutant. One that ends the process is a crash."""
    outcomes: list[tuple[str, str]] = []
    while len(outcomes) < count:
        command = [sys.executable, "-m", "attacks.crafted", str(len(outcomes)), str(count)]
        ended = subprocess.run(
            [*command, str(folder)],
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE + count,
        )
        lines = ended.stdout.splitlines()
        judged = [json.loads(line) for line in lines if line.startswith("{")]
        outcomes += [(one["changes"], one["outcome"]) for one in judged]
        if ended.returncode:
            assert len(lines) > 2 * len(judged), f"ended between mutants: {ended.returncode}"
            outcomes.append((f"mutant {lines[-1]}", f"crash: exit status {ended.returncode}"))
    return outcomes


@pytest.mark.parametrize("part", range(4))
def test_policy_that_has_seen_nasty_data_loads_again(part: int, tmp_path: Path) -> None:
    """Features and rewards from 1e-6 to 1e6, nearly collinear, and lam down to 1e-12."""
    for number in range(part, NASTY, 4):
        policy = nasty_policy(number)
        policy.save(tmp_path / "nasty")
        loaded = es.load(tmp_path / "nasty", verify=True)
        assert fingerprint(loaded) == fingerprint(policy), number


def nasty_policy(number: int) -> es.Policy:
    rng = np.random.default_rng([10, number])
    name = list(RECIPES)[number % len(RECIPES)]
    recipe = replace(RECIPES[name], regularization=10.0 ** rng.uniform(-12, 1))
    features = magnitudes(rng, (4, 1)) * rng.standard_normal((4, 3))
    policy = recipe.start(es.FiniteArms(features), seed=number)
    direction = rng.standard_normal(3)
    for _ in range(rng.integers(1, 40)):
        nearly = direction + 10.0 ** rng.uniform(-9, 0) * rng.standard_normal(3)
        numbered = name not in MIXING or rng.random() < 0.3
        arm = int(rng.integers(4)) if numbered else magnitudes(rng) * nearly
        policy.update(arm, possible(policy, float(magnitudes(rng) * rng.standard_normal())))
    return policy


def magnitudes(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    return 10.0 ** rng.uniform(-6, 6, shape)
