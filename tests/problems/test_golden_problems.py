"""Families and noises draw what is stored in tests/golden/problems.json."""

import json
from typing import Any

import pytest

from golden.make_problems import STORED, families, noises, record

GOLDEN: dict[str, Any] = json.loads(STORED.read_text())


def test_all_families_are_stored() -> None:
    assert list(families()) == list(GOLDEN["families"])


@pytest.mark.parametrize("name", GOLDEN["families"])
def test_a_family_draws_what_is_stored(name: str) -> None:
    now, stored = record(families()[name]), GOLDEN["families"][name]
    assert now["constants"] == stored["constants"]
    for drawn, before in zip(now["drawn"], stored["drawn"], strict=True):
        assert drawn["repr"] == before["repr"]
        assert drawn["rounds"] == [pytest.approx(row, rel=1e-9) for row in before["rounds"]]


def test_noises_draw_what_is_stored() -> None:
    assert noises() == {key: pytest.approx(row) for key, row in GOLDEN["noises"].items()}
