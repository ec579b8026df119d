"""Pages and evaluations tell what they told when they were stored."""

import json
import re
from pathlib import Path

import pytest

from golden import evaluations, pages

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")


def numbers_and_words(stored: str) -> tuple[list[float], str]:
    return [float(found) for found in NUMBER.findall(stored)], NUMBER.sub("NUMBER", stored)


def is_alike(now: object, then: object) -> bool:
    """Return whether two JSON values differ by no more than the last digits of their numbers."""
    first, second = (
        numbers_and_words(json.dumps(each, ensure_ascii=False)) for each in (now, then)
    )
    return first[1] == second[1] and first[0] == pytest.approx(second[0], rel=1e-9, abs=1e-12)


def test_evaluations_have_the_stored_numbers() -> None:
    stored = json.loads((GOLDEN / "evaluations.json").read_text())
    found = evaluations.cases()
    assert list(found) == list(stored)
    for name, each in found.items():
        assert is_alike(evaluations.numbers(each), stored[name]), name


def test_pages_tell_what_they_told(tmp_path: Path) -> None:
    stored = json.loads((GOLDEN / "pages.json").read_text(encoding="utf-8"))
    found = pages.pages(tmp_path)
    assert list(found) == list(stored)
    for name, told in found.items():
        for part, data in told.items() if isinstance(told, dict) else ():
            assert is_alike(data, stored[name][part]), (name, part)
