"""The lines of a page in docs/, as they are run by tests."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"<!-- tested: (?P<name>\S+) -->\n```\w+\n(?P<lines>.*?)```", re.DOTALL)


def blocks(page: str, name: str, url: str, key: str) -> list[str]:
    """Those that are marked so, for a service at this address with this key."""
    found = [
        match["lines"]
        for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))
        if match["name"] == name
    ]
    assert found, f"{page} has no lines marked {name}"
    return [lines.replace("http://127.0.0.1:8000", url).replace("ens_...", key) for lines in found]
