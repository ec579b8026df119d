"""The table of guarantees in README.md names tests that exist, and has a part for each promise."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
NAMED = re.compile(r"`(?:(\w+)/)?(test_\w+)`")


def test_every_test_in_the_table_of_guarantees_exists() -> None:
    named = set(NAMED.findall((TESTS / "README.md").read_text(encoding="utf-8")))
    assert len(named) > 60
    found = set()
    for folder in {folder for folder, _ in named}:
        for file in (TESTS / folder).glob("**/test_*.py" if folder else "test_*.py"):
            text = file.read_text(encoding="utf-8")
            names = re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
            found |= {(folder, name) for name in names}
    assert sorted(named - found) == []


def test_every_promise_of_the_readme_is_in_the_table() -> None:
    readme = (TESTS.parent / "README.md").read_text(encoding="utf-8")
    promises = readme.partition("## What it promises")[2].partition("\n## ")[0]
    table = (TESTS / "README.md").read_text(encoding="utf-8").lower()
    words = re.findall(r"^- \*\*([\w ]+)\*\*:", promises, re.MULTILINE)
    assert words and [word for word in words if f"**{word}**" not in table] == []
