"""The table of guarantees in README.md names tests that exist, and has a part for each promise."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_test_in_the_table_of_guarantees_exists() -> None:
    named = NAMED.findall((TESTS / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 60
    missing = []
    for file, name in named:
        path = TESTS / file
        tree = ast.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        functions = ast.FunctionDef | ast.AsyncFunctionDef
        if name not in {node.name for node in ast.walk(tree) if isinstance(node, functions)}:
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_promise_of_the_readme_is_in_the_table() -> None:
    readme = (TESTS.parent / "README.md").read_text(encoding="utf-8")
    promises = readme.partition("## What it promises")[2].partition("\n## ")[0]
    table = (TESTS / "README.md").read_text(encoding="utf-8").lower()
    words = re.findall(r"^- \*\*([\w ]+)\*\*:", promises, re.MULTILINE)
    assert words and [word for word in words if f"**{word}**" not in table] == []
