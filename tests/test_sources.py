"""Rules of the house that the sources themselves show."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import ensample

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ensample.__file__).parent

ON_BOTH_ENDS = {"Decision", "EventOutcome", "ExperimentView"}
"""Messages of the service and of its client, which needs neither msgspec nor the service."""


TWO_WORDS = {"Evaluation"}
"""Of a log (`es.Evaluation`), and the way in which a simulation evaluates a recipe."""


def homonyms(root: Path) -> dict[str, list[str]]:
    """The modules of each class that has a namesake in another."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(root).as_posix())
    return {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_no_two_modules_define_a_class_of_one_name() -> None:
    found = homonyms(PACKAGE)
    others = {
        name: modules for name, modules in found.items() if name not in ON_BOTH_ENDS | TWO_WORDS
    }
    assert not others, f"give each a name of its own: {others}"
    assert set(found) == ON_BOTH_ENDS | TWO_WORDS, "an exception that is not needed any more"
    ends = {"service/schemas.py", "client/calls.py", "policies/decision.py"}
    assert {module for name in ON_BOTH_ENDS for module in found[name]} <= ends


def test_a_namesake_is_noticed(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(f"class Same: ...\nclass {name.title()}: ...\n")
    assert homonyms(tmp_path) == {"Same": ["one.py", "other.py"]}


def private_uses(tree: ast.Module) -> Iterator[str]:
    """Yield private modules, names and attributes of packages of others."""
    foreign: set[str] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            foreign |= {
                alias.asname or alias.name.split(".")[0]
                for alias in node.names
                if is_foreign(alias.name)
            }
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if is_foreign(name) and any(is_private(part) for part in name.split(".")):
                yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in foreign:
                yield ast.unparse(node)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_foreign(module: str) -> bool:
    root = module.split(".")[0]
    ours = (
        root == "ensample"
        or (ROOT / "tests" / root).exists()
        or (ROOT / "tests" / f"{root}.py").exists()
    )
    return not ours and root not in sys.stdlib_module_names


@pytest.mark.parametrize(
    "source", ["import yaml._yaml", "from scipy import _lib", "import numpy as np\nnp.core._y.z"]
)
def test_private_uses_are_found(source: str) -> None:
    assert list(private_uses(ast.parse(source)))


def sources() -> Iterator[tuple[Path, str]]:
    for folder in ("src", "tests", "examples"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file, file.read_text(encoding="utf-8")


def test_no_private_part_of_a_dependency_is_used() -> None:
    assert {
        file: uses for file, text in sources() if (uses := list(private_uses(ast.parse(text))))
    } == {}


def test_every_file_of_the_core_that_is_named_exists() -> None:
    pages = [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "CONTRIBUTING.md",
        ROOT / "src/ensample/_core.pyi",
    ]
    texts = [*sources(), *((page, page.read_text(encoding="utf-8")) for page in pages)]
    named = {name for _, text in texts for name in re.findall(r"\bcpp/[\w/]+\.[hc]pp\b", text)}
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()
