"""Frozen studies: what is written down, how cells are named, and what their runs give."""

import json
from typing import Any

import pytest
from make_lab import CASES, FILE


def differences(found: Any, frozen: Any, where: str = "") -> list[str]:
    """Return where two plain values differ; numbers by more than nine digits."""
    if isinstance(found, dict) and isinstance(frozen, dict) and found.keys() == frozen.keys():
        pairs = [(f"{where}.{key}", found[key], frozen[key]) for key in found]
    elif isinstance(found, list) and isinstance(frozen, list) and len(found) == len(frozen):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(found, frozen, strict=True))]
    elif isinstance(found, float) and isinstance(frozen, float | int):
        same = found == pytest.approx(frozen, rel=1e-9, abs=1e-12)
        return [] if same else [f"{where}: {found!r}, frozen {frozen!r}"]
    else:
        return [] if found == frozen else [f"{where}: {found!r}, frozen {frozen!r}"]
    return [fault for pair in pairs for fault in differences(pair[1], pair[2], pair[0])]


@pytest.mark.parametrize("name", CASES)
def test_study_is_the_frozen_one(name: str) -> None:
    frozen = json.loads(FILE.read_text(encoding="utf-8"))[name]
    found = json.loads(json.dumps(CASES[name]()))
    assert not differences(found, frozen)
