"""Saves that are killed or interrupted.

The file is the old one or the new one, and nothing stays beside it.
"""

import json
import subprocess
import sys
from pathlib import Path

from attempts import attempts

KILLS = attempts(sample=20, full=1_000)
INTERRUPTS = attempts(sample=100, full=5_000)


def test_kills_and_interrupts_leave_a_whole_file(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "attacks.try_saves",
        str(KILLS),
        str(INTERRUPTS),
        str(tmp_path),
    ]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True
    )
    counts = json.loads(ended.stdout)
    print(
        f"\n{counts['killed']:,} saves killed, "
        f"{counts['interrupted']:,} of {INTERRUPTS:,} interrupted: "
        f"{counts['damaged']:,} files damaged; {counts['leftovers']:,} leftovers of kills; "
        f"{counts['kept']:,} leftovers of either that the next save did not sweep"
    )
    assert (
        counts["killed"] == KILLS
        and counts["interrupted"] > INTERRUPTS / 20
        and counts["leftovers"] >= KILLS // 2
    )
    assert counts["damaged"] == counts["kept"] == 0
