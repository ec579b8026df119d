"""kill -9 at any moment with rewards in flight: nothing acknowledged is lost or counts twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attempts import attempts

KILLS = attempts(sample=12, full=300)


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "answers-first"])
def test_kills_lose_nothing_that_was_acknowledged(lasts: bool, tmp_path: Path) -> None:
    """The state is what the events come to, folded again. Answers before the commit are lost."""
    command = [sys.executable, "-m", "experiments.try_kills", str(KILLS), str(tmp_path)]
    command += [] if lasts else ["answers-first"]
    tests = Path(__file__).parents[1]
    ended = subprocess.run(command, cwd=tests, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout)
    print(f"\n{found}")
    assert found["kills"] == KILLS and found["answers"] > 5 * KILLS
    assert found["doubled"] == found["differ"] == 0
    assert found["lost"] == 0 if lasts else found["lost"] > 0
