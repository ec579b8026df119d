"""What a study asked, in the words of its file, and how to ask it again."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import tomli_w

from ensample.lab.cell import Cell
from ensample.lab.results import Results
from ensample.lab.study import Study
from ensample.problems import Family, Problem
from ensample.registry import is_ours
from ensample.report.study.tables import Column, Field, RowGroup, StudyTable
from ensample.report.study.words import listed, value


def as_toml(study: Study) -> str:
    """The study as a file; reading it gives the study again."""
    return tomli_w.dumps(
        {key: item for key, item in study.describe().items() if item not in ("", [])}
    )


def grid_tables(study: Study) -> list[tuple[str, StudyTable]]:
    """Problems and policies with their options, lists as the axes that they are."""
    return [
        (
            "Problems",
            options_table(
                study.problems,
                "problem",
                "family",
                {cell.problem: cell.family for cell in study.cells},
            ),
        ),
        (
            "Policies",
            options_table(
                study.policies,
                "policy",
                "recipe",
                {cell.policy: cell.recipe for cell in study.cells},
            ),
        ),
    ]


def options_table(
    tables: list[dict[str, Any]], name: str, kind: str, made: dict[str, Any]
) -> StudyTable:
    rows = [
        [
            Field(str(table["label"])),
            Field(called),
            Field(
                "; ".join(
                    [f"{key}: {options(item)}" for key, item in given.items()]
                    + left(made.get(table["label"]), given)
                )
            ),
        ]
        for table in tables
        for called, given in [parts_of(table, kind)]
    ]
    return StudyTable(
        [Column(name, False), Column(kind, False), Column("options", False, True)],
        [RowGroup("", rows)],
    )


def parts_of(table: dict[str, Any], kind: str) -> tuple[str, dict[str, Any]]:
    """(name, options), also of what is given whole."""
    whole = table[kind] if isinstance(table[kind], dict) else {"kind": table[kind]}
    rest = {
        key: item for key, item in (whole | table).items() if key not in ("label", "kind", kind)
    }
    return str(whole["kind"]), rest


def left(part: Any, given: dict[str, Any]) -> list[str]:
    """The plain fields that one's own class has by default: unlike those of ours no page documents them."""
    if not is_dataclass(part) or is_ours(type(part)):
        return []
    values = {
        item.name: getattr(part, item.name)
        for item in fields(part)
        if item.init and item.name not in given
    }
    return [
        f"{name}: {value(item)} by default"
        for name, item in values.items()
        if isinstance(item, bool | int | float | str)
    ]


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
    kind: Any = type(item)
    if isinstance(item, Family) and is_ours(kind):
        return f"es.problem({', '.join([repr(kind.name), *arguments])})"
    return (
        f"{'es' if is_ours(kind) else kind.__module__}.{kind.__qualname__}({', '.join(arguments)})"
    )


def code_line(study: Study, cell: Cell) -> str:
    """Python that runs one cell again, with the same numbers."""
    settings = {
        "runs": study.runs,
        "seed": study.seed,
        "checkpoints": study.checkpoints,
        "evaluation": study.evaluation,
    }
    said = ", ".join(f"{name}={option!r}" for name, option in settings.items())
    whole = isinstance(cell.family, Problem)  # whose arms would fill the page
    problem = f"results.study.cells[{cell.number}].family" if whole else expression(cell.family)
    return f"es.simulate({expression(cell.recipe)}, {problem}, {cell.horizon}, {said}, cell={cell.key})"


def provenance(results: Results) -> list[dict[str, str]]:
    """The sessions that gave the results: when, with which command, where, with what."""
    return [
        {
            "when": str(session.get("at", "")),
            "command": " ".join(map(str, session.get("command", []))),
            "engine": str(session.get("engine", "")),
            "machine": "; ".join(
                filter(None, [str(session.get("processor", "")), str(session.get("machine", ""))])
            ),
            "packages": ", ".join(
                [
                    f"Python {session.get('python', '')}",
                    *(f"{name} {v}" for name, v in session.get("packages", {}).items()),
                ]
            ),
        }
        for session in results.sessions
    ]
