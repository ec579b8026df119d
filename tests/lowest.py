"""The lowest versions that pyproject.toml allows: `pip install $(python tests/lowest.py) .`

Direct dependencies are pinned to their lower bounds; pip chooses what these need. The smoke test
(`tests/smoke.py`) then shows that the bounds are true: `make test-lowest`.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("lab", "cluster")  # what users install; `peers` and `dev` are for us
BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[0-9.]+)(,<[0-9.]+)?")


def lowest(project: dict[str, Any]) -> list[str]:
    """Every direct dependency at its lower bound."""
    asked = [
        *project["dependencies"],
        *(item for extra in EXTRAS for item in project["optional-dependencies"][extra]),
    ]
    return [
        pinned(requirement)
        for requirement in asked
        if not requirement.startswith(f"{project['name']}[")
    ]


def pinned(requirement: str) -> str:
    """
    >>> pinned("polars>=1.30,<3")
    'polars==1.30'
    """
    found = BOUND.fullmatch(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} has no lower bound such as 'polars>=1.30'")
    return f"{found['name']}=={found['version']}"


if __name__ == "__main__":
    print(*lowest(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]))
