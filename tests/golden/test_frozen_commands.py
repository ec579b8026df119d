"""Commands print what they always printed."""

import json

import pytest

from golden.command_cases import HERE, frozen

STORED = json.loads((HERE / "commands.json").read_text())


@pytest.fixture(scope="module")
def now() -> dict:
    return frozen()


@pytest.mark.parametrize("command", STORED)
def test_command_prints_what_is_stored(command: str, now: dict) -> None:
    assert now[command] == STORED[command]
