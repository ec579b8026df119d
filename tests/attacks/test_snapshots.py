"""Crafted and damaged snapshots: each is refused by an error of ours, or is a policy that could have been saved."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import ensample as es
from attacks.mutants import BASES, base
from attempts import attempts
from conformance.policies import ARMS

MUTANTS = attempts(sample=400, full=10_000)
PATIENCE = 120  # seconds without a word: a loop without end


def test_mutated_files_are_refused_or_could_have_been_saved(tmp_path: Path) -> None:
    outcomes = tried(MUTANTS, tmp_path)
    counts = Counter(outcome.split(":")[0] for _, outcome in outcomes)
    wrong = [f"{what} -> {outcome}" for what, outcome in outcomes if outcome not in ("refused", "equal")]
    print(
        f"\n{len(outcomes):,} mutated files: {counts['refused']:,} refused, {counts['equal']:,} load and equal, "
        f"{counts['crash']:,} crashes, {len(wrong) - counts['crash']:,} other failures {dict(counts)}"
    )
    assert len(outcomes) == MUTANTS
    assert not wrong, "\n".join(wrong[:20])
    assert counts["refused"] > MUTANTS / 2 and counts["equal"] > MUTANTS / 50, "the mutants are of little use"


def tried(count: int, folder: Path) -> list[tuple[str, str]]:
    """(changes, outcome) of every mutant. A process that ends before its time is a crash of the mutant it was at."""
    outcomes: list[tuple[str, str]] = []
    while len(outcomes) < count:
        command = [sys.executable, "-m", "attacks.try_mutants", str(len(outcomes)), str(count), str(folder)]
        ended = subprocess.run(
            command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, timeout=PATIENCE + count
        )
        lines = ended.stdout.splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        outcomes += [(one["changes"], one["outcome"]) for one in told]
        if ended.returncode:
            assert len(lines) > 2 * len(told), f"the process ended with {ended.returncode} between two mutants"
            outcomes.append((f"mutant {lines[-1]}", f"crash: exit status {ended.returncode}"))
    return outcomes


@pytest.mark.parametrize("number", range(len(BASES)))
def test_the_honest_ones_load_and_their_logs_give_their_state(number: int, tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(base(number))
    arms = BASES[number][2]
    es.load(tmp_path / "base", arms=ARMS[arms]() if arms == "oracle" else None, verify=True)
