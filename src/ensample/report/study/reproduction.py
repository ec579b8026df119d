"""Description of a study in the words of its file, and how to run it again."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import tomli_w

from ensample.lab.cell import Cell
from ensample.lab.study import Study
from ensample.problems import Family, Problem
from ensample.registry import is_ours
from ensample.report.study.series import enumerated, value_name
from ensample.report.study.tables import StudyTable, simple_table


def as_toml(study: Study) -> str:
    """Return the study as a file; reading it gives the study again."""
    table = {key: item for key, item in study.describe().items() if item not in ("", [])}
    return tomli_w.dumps(table)


def grid_tables(study: Study) -> list[tuple[str, StudyTable]]:
    """Return problems and policies with their options; lists are axes."""
    families = {cell.problem: cell.family for cell in study.cells}
    recipes = {cell.policy: cell.recipe for cell in study.cells}
    return [
        ("Problems", options_table(study.problems, "problem", "family", families)),
        ("Policies", options_table(study.policies, "policy", "recipe", recipes)),
    ]


def options_table(
    tables: list[dict[str, Any]], name: str, kind: str, parts: dict[str, Any]
) -> StudyTable:
    rows = []
    for table in tables:
        whole = table[kind] if isinstance(table[kind], dict) else {"kind": table[kind]}
        given = {key: item for key, item in (whole | table).items()}
        for key in ("label", "kind", kind):
            given.pop(key, None)
        options = [f"{key}: {option_values(item)}" for key, item in given.items()]
        options += default_options(parts.get(table["label"]), given)
        rows.append([str(table["label"]), str(whole["kind"]), "; ".join(options)])
    return simple_table(f"{name}*, {kind}*, options**", rows)


def option_values(item: Any) -> str:
    items = item if isinstance(item, list) else [item]
    return enumerated(map(value_name, items), 24)


def default_options(part: Any, given: dict[str, Any]) -> list[str]:
    """Return plain defaults of a user's own class, which no page documents."""
    if not is_dataclass(part) or is_ours(type(part)):
        return []
    own = [item.name for item in fields(part) if item.init and item.name not in given]
    values = {name: getattr(part, name) for name in own}
    return [
        f"{name}: {value_name(item)} by default"
        for name, item in values.items()
        if isinstance(item, bool | int | float | str)
    ]


def expression(item: Any) -> str:
    """Return Python that makes a recipe, a family, a law or a rule.

    >>> from ensample.policies import EnsembleSampling
    >>> expression(EnsembleSampling(10, 0.3))
    'es.EnsembleSampling(size=10, scale=0.3)'
    """
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    arguments = []
    for entry in fields(item):
        option = getattr(item, entry.name)
        if entry.init and (entry.default is MISSING or option != entry.default):
            arguments.append(f"{entry.name}={expression(option)}")
    kind: Any = type(item)
    if isinstance(item, Family) and is_ours(kind):
        return f"es.problem({', '.join([repr(kind.name), *arguments])})"
    module = "es" if is_ours(kind) else kind.__module__
    return f"{module}.{kind.__qualname__}({', '.join(arguments)})"


def code_line(study: Study, cell: Cell) -> str:
    """Return Python that runs one cell again, with the same numbers."""
    names = "runs", "seed", "checkpoints", "evaluation"
    settings = ", ".join(f"{name}={getattr(study, name)!r}" for name in names)
    problem = expression(cell.family)
    if isinstance(cell.family, Problem):  # its arms would fill the page
        problem = f"results.study.cells[{cell.number}].family"
    recipe = expression(cell.recipe)
    return f"es.simulate({recipe}, {problem}, {cell.horizon}, {settings}, cell={cell.key})"


def all_code(study: Study) -> str:
    lines = ["import ensample as es", *(f"import {module}" for module in study.own_code), ""]
    for cell in study.cells:
        lines += [f"# {' '.join(cell.name.split())}", code_line(study, cell)]
    return "\n".join(lines) + "\n"


def versions(session: dict[str, Any]) -> str:
    """Return the versions of Python and of packages in a session."""
    packages = [f"{name} {version}" for name, version in session.get("packages", {}).items()]
    return ", ".join([f"Python {session.get('python', '')}", *packages])
