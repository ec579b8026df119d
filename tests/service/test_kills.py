"""Services that are killed, paused or cut off: nothing acknowledged is lost or counts twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from attempts import attempts

KILLS, POSTGRES_KILLS = attempts(sample=8, full=1_000), attempts(sample=4, full=100)
PAUSES, CUTS = attempts(sample=1, full=20), attempts(sample=1, full=10)


def tried(module: str, *words: object) -> dict[str, Any]:
    """Return what a module of this folder prints: see there."""
    command = [sys.executable, "-m", f"service.{module}", *map(str, words)]
    folder = Path(__file__).parents[1]
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "answers-first"])
def test_kills_lose_nothing_that_was_acknowledged(lasts: bool, tmp_path: Path) -> None:
    """Answers before the commit are lost: the negative control."""
    kills = KILLS if lasts else min(KILLS, 50)
    found = tried("try_kills", kills, tmp_path, *([] if lasts else ["answers-first"]))
    assert found["kills"] == kills and found["answers"] > 5 * kills
    assert found["alone"] >= kills // 3 and found["differ"] == 0
    if lasts:
        assert found["lost"] == found["doubled"] == 0 and found["again"] > 0
    else:
        assert found["lost"] > found["lost_alone"] > 0, "both ways of answering"


@pytest.fixture
def address(postgres: str) -> str:
    """A database without events of an earlier trial."""
    with psycopg.connect(postgres, autocommit=True) as database:
        for table in ("events", "snapshots", "streams"):
            database.execute(f"DELETE FROM ensample_{table} WHERE experiment = 'killed'")
    return postgres


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "forgets"])
def test_kills_of_either_server(lasts: bool, address: str, tmp_path: Path) -> None:
    """A storage that forgets is the negative control."""
    kills = POSTGRES_KILLS if lasts else 4
    words = (kills, tmp_path, address, *([] if lasts else ["forgets"]))
    found = tried("try_postgres_kills", *words)
    assert found["kills"] == kills and found["answers"] > 5 * kills
    assert found["doubled"] == found["differ"] == 0
    assert found["lost"] == 0 if lasts else found["lost"] > 0


def stalled(kind: str, stalls: int, folder: Path, address: str, *more: str) -> dict[str, Any]:
    found = tried("try_postgres_stalls", kind, stalls, folder, address, *more)
    assert found["stalls"] == stalls and found["answers"] > 20 * stalls
    assert found["lost"] == found["doubled"] == found["differ"] == 0
    return found


@pytest.mark.long
def test_server_paused_within_a_batch_lets_the_others_go_on(address: str, tmp_path: Path) -> None:
    found = stalled("pause", PAUSES, tmp_path, address)
    assert found["waited"] < 3 and found["back"] < 5


@pytest.mark.long
def test_server_cut_off_refuses_in_time_and_lets_others_go_on(address: str, tmp_path: Path) -> None:
    found = stalled("cut", CUTS, tmp_path, address)
    assert found["waited"] < 3 and found["slowest"] < 5 and found["others"] < 1
    assert found["unsaid"] == 0 and found["back"] < 5


@pytest.mark.long
def test_without_limits_others_wait_for_the_end_of_the_stall(address: str, tmp_path: Path) -> None:
    """The negative control."""
    found = stalled("cut", 1, tmp_path, address, "unlimited")
    assert found["waited"] > 3 and found["slowest"] > 5
