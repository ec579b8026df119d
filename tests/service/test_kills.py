"""kill -9 of a service under load: nothing acknowledged is lost or counts twice, and the hash is that of an offline replay."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attempts import attempts

KILLS = attempts(sample=8, full=1_000)


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "answers-first"])
def test_kills_lose_nothing_that_was_acknowledged(lasts: bool, tmp_path: Path) -> None:
    """Clients send again what had no answer. Answers before the commit are lost: the negative control."""
    kills = KILLS if lasts else min(KILLS, 50)
    command = [
        sys.executable,
        "-m",
        "service.try_kills",
        str(kills),
        str(tmp_path),
        *([] if lasts else ["answers-first"]),
    ]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(ended.stdout)
    print(f"\n{found}")
    assert (
        found["kills"] == kills
        and found["answers"] > 5 * kills
        and found["alone"] >= kills // 3
        and found["differ"] == 0
    )
    if lasts:
        assert found["lost"] == found["doubled"] == 0 and found["again"] > 0
    else:
        assert found["lost"] > found["lost_alone"] > 0, "both ways of answering"
