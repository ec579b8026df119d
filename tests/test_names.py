"""A class has one name and a name one class: who reads `Track` knows which."""

import ast
from collections import defaultdict
from pathlib import Path

import ensample

ROOT = Path(ensample.__file__).parent

ON_BOTH_ENDS = {"Decision", "EventOutcome", "ExperimentView", "Explained"}
"""Messages of the service, as it writes and as its client reads them; they are not one, because the client needs neither."""


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
    found = homonyms(ROOT)
    others = {
        name: modules for name, modules in found.items() if name not in ON_BOTH_ENDS | TWO_WORDS
    }
    assert not others, f"give each a name of its own: {others}"
    assert set(found) == ON_BOTH_ENDS | TWO_WORDS, "an exception that is not needed any more"
    ends = {"service/schemas.py", "client/answers.py", "policies/decision.py"}
    assert {module for name in ON_BOTH_ENDS for module in found[name]} <= ends


def test_a_namesake_is_noticed(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(f"class Same: ...\nclass {name.title()}: ...\n")
    assert homonyms(tmp_path) == {"Same": ["one.py", "other.py"]}
