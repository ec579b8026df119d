"""Crafted and damaged snapshots: each is refused by an error of ours, or is a policy that could have been saved.

What is loaded is compared with what its log gives: they are the same to the last bit. `load(verify=False)` believes numbers
that were drawn where chance may have come to them, and digits that rounding may have decided: then it goes on without harm.
"""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from attacks.mutants import BASES, base
from attempts import attempts
from conformance.policies import ARMS, MIXING, RECIPES, fingerprint, possible

MUTANTS = attempts(sample=400, full=10_000)
NASTY = attempts(sample=60, full=3_000)
PATIENCE = 120  # seconds without a word: a loop without end


def test_mutated_files_are_refused_or_could_have_been_saved(tmp_path: Path) -> None:
    outcomes = tried(MUTANTS, tmp_path)
    counts = Counter(outcome.split(":")[0] for _, outcome in outcomes)
    fine = ("refused", "found", "equal", "mended")
    wrong = [f"{what} -> {outcome}" for what, outcome in outcomes if outcome not in fine]
    print(
        f"\n{len(outcomes):,} mutated files: {counts['refused']:,} refused at sight, {counts['found']:,} by a replay; "
        f"what loads is what its log gives, {counts['equal']:,} as they were, {counts['mended']:,} with the replay's digits; "
        f"{counts['crash']:,} crashes, {len(wrong) - counts['crash']:,} other failures {dict(counts)}"
    )
    assert len(outcomes) == MUTANTS
    assert not wrong, "\n".join(wrong[:20])
    assert counts["refused"] > MUTANTS / 2 and counts["equal"] > MUTANTS / 50, (
        "the mutants are of little use"
    )


def tried(count: int, folder: Path) -> list[tuple[str, str]]:
    """(changes, outcome) of every mutant. A process that ends before its time is a crash of the mutant it was at."""
    outcomes: list[tuple[str, str]] = []
    while len(outcomes) < count:
        command = [
            sys.executable,
            "-m",
            "attacks.try_mutants",
            str(len(outcomes)),
            str(count),
            str(folder),
        ]
        ended = subprocess.run(
            command,
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE + count,
        )
        lines = ended.stdout.splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        outcomes += [(one["changes"], one["outcome"]) for one in told]
        if ended.returncode:
            assert len(lines) > 2 * len(told), (
                f"the process ended with {ended.returncode} between two mutants"
            )
            outcomes.append((f"mutant {lines[-1]}", f"crash: exit status {ended.returncode}"))
    return outcomes


@pytest.mark.parametrize("number", range(len(BASES)))
def test_the_honest_ones_load_and_their_logs_give_their_state(number: int, tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(base(number))
    arms = BASES[number][2]
    es.load(tmp_path / "base", arms=ARMS[arms]() if arms == "oracle" else None, verify=True)


def test_policies_that_have_seen_nasty_data_load_again(tmp_path: Path) -> None:
    """Not too much is asked of a state: features and rewards from 1e-6 to 1e6, nearly collinear, lam down to 1e-12."""
    outcomes = Counter(survives(number, tmp_path / "nasty") for number in range(NASTY))
    print(f"\n{NASTY:,} policies that have seen nasty data: {dict(outcomes)}")
    assert set(outcomes) == {"loads"}, outcomes


def survives(number: int, path: Path) -> str:
    rng = np.random.default_rng([10, number])
    name = list(RECIPES)[number % len(RECIPES)]
    recipe = replace(RECIPES[name], regularization=10.0 ** rng.uniform(-12, 1))
    policy = recipe.start(
        es.FiniteArms(sizes(rng, (4, 1)) * rng.standard_normal((4, 3))), seed=number
    )
    direction = rng.standard_normal(3)
    for _ in range(rng.integers(1, 40)):
        nearly = sizes(rng) * (direction + 10.0 ** rng.uniform(-9, 0) * rng.standard_normal(3))
        arm = int(rng.integers(4)) if name not in MIXING or rng.random() < 0.3 else nearly
        policy.update(arm, possible(policy, float(sizes(rng) * rng.standard_normal())))
    if not all(np.isfinite(values).all() for values in policy.model.arrays().values()):
        return "not finite"
    policy.save(path)
    try:
        return "loads" if fingerprint(es.load(path)) == fingerprint(policy) else "another policy"
    except es.SnapshotError as error:
        return str(error)


def sizes(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    return 10.0 ** rng.uniform(-6, 6, shape)
