"""What a study asked, in the words of its file, and how to ask it again."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import tomli_w

from ensample.lab.cell import Cell
from ensample.lab.results import Results
from ensample.lab.study import Study
from ensample.problems import PROBLEMS, Family
from ensample.report.study.tables import Column, Field, Group, Table
from ensample.report.study.words import listed, value

__all__ = ["as_toml", "code_line", "expression", "grid_tables", "provenance"]

FAMILIES = {kind: name for name, kind in PROBLEMS.items()}


def as_toml(study: Study) -> str:
    """The study as a file; reading it gives the study again."""
    return tomli_w.dumps({key: item for key, item in study.describe().items() if item not in ("", [])})


def grid_tables(study: Study) -> list[tuple[str, Table]]:
    """Problems and policies with their options, lists as the axes that they are."""
    problems, policies = (item if isinstance(item, list) else [item] for item in (study.problem, study.policy))
    return [
        ("Problems", options_table(problems, "problem", "family")),
        ("Policies", options_table(policies, "policy", "recipe")),
    ]


def options_table(tables: list[dict[str, Any]], name: str, kind: str) -> Table:
    rows = [
        [
            Field(str(table.get("label", table[kind]))),
            Field(str(table[kind])),
            Field("; ".join(f"{key}: {options(item)}" for key, item in table.items() if key not in ("label", kind))),
        ]
        for table in tables
    ]
    return Table([Column(name, False), Column(kind, False), Column("options", False, True)], [Group("", rows)])


def options(item: Any) -> str:
    items = item if isinstance(item, list) else [item]
    return listed([value(entry) for entry in items], 24)


def expression(item: Any) -> str:
    """A recipe, a family, a law or a rule as Python that makes it.

    >>> from ensample.policies import EnsembleSampling
    >>> expression(EnsembleSampling(10, 0.3))
    'es.EnsembleSampling(size=10, scale=0.3)'
    """
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    given = {
        entry.name: getattr(item, entry.name)
        for entry in fields(item)
        if entry.init and (entry.default is MISSING or getattr(item, entry.name) != entry.default)
    }
    arguments = [f"{name}={expression(option)}" for name, option in given.items()]
    if isinstance(item, Family):
        return f"es.problem({', '.join([repr(FAMILIES[type(item)]), *arguments])})"
    return f"es.{type(item).__name__}({', '.join(arguments)})"


def code_line(study: Study, cell: Cell) -> str:
    """Python that runs one cell again, with the same numbers."""
    settings = {"runs": study.runs, "seed": study.seed, "checkpoints": study.checkpoints, "evaluation": study.evaluation}
    said = ", ".join(f"{name}={option!r}" for name, option in settings.items())
    return f"es.simulate({expression(cell.recipe)}, {expression(cell.family)}, {cell.horizon}, {said}, cell={cell.key})"


def provenance(results: Results) -> list[dict[str, str]]:
    """The sessions that gave the results: when, with which command, where, with what."""
    return [
        {
            "when": str(session.get("at", "")),
            "command": " ".join(map(str, session.get("command", []))),
            "engine": str(session.get("engine", "")),
            "machine": "; ".join(filter(None, [str(session.get("processor", "")), str(session.get("machine", ""))])),
            "packages": ", ".join(
                [f"Python {session.get('python', '')}", *(f"{name} {v}" for name, v in session.get("packages", {}).items())]
            ),
        }
        for session in results.sessions
    ]
