"""A server that is paused within a batch, or cut off from its PostgreSQL, keeps no other server from answering."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from attempts import attempts

PAUSES = attempts(sample=1, full=20)
CUTS = attempts(sample=1, full=10)


def stalled(kind: str, stalls: int, folder: Path, address: str, *more: str) -> dict[str, Any]:
    """Return what was found; see `service.try_postgres_stalls`."""
    with psycopg.connect(address, autocommit=True) as database:
        for table in ("events", "snapshots", "streams"):
            database.execute(f"DELETE FROM ensample_{table} WHERE experiment = 'killed'")
    command = [
        sys.executable,
        "-m",
        "service.try_postgres_stalls",
        kind,
        str(stalls),
        str(folder),
        address,
        *more,
    ]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    print(f"\n{found}")
    assert found["stalls"] == stalls and found["answers"] > 20 * stalls
    assert found["lost"] == found["doubled"] == found["differ"] == 0
    return found


@pytest.mark.long
def test_server_paused_within_a_batch_lets_the_others_go_on(postgres: str, tmp_path: Path) -> None:
    found = stalled("pause", PAUSES, tmp_path, postgres)
    assert found["waited"] < 3 and found["back"] < 5


@pytest.mark.long
def test_server_cut_off_refuses_in_time_and_lets_the_others_go_on(
    postgres: str, tmp_path: Path
) -> None:
    found = stalled("cut", CUTS, tmp_path, postgres)
    assert found["waited"] < 3 and found["slowest"] < 5 and found["others"] < 1
    assert found["unsaid"] == 0 and found["back"] < 5


@pytest.mark.long
def test_without_limits_others_wait_for_the_end_of_the_stall(postgres: str, tmp_path: Path) -> None:
    """The negative control."""
    found = stalled("cut", 1, tmp_path, postgres, "unlimited")
    assert found["waited"] > 3 and found["slowest"] > 5
