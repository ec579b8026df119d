"""A study: a grid of cells, described by a TOML file."""

import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ensample.checks import file_path, whole
from ensample.errors import InvalidArgument, StudyError
from ensample.lab.build import to_tables
from ensample.lab.cell import Cell, Definition, code_digests, digest
from ensample.lab.grid import LONGEST, Table, cells_of, usual_label
from ensample.lab.mistakes import Mistakes
from ensample.lab.published import check_published
from ensample.plain_data import plain
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import one_of
from ensample.simulation.dispatch import EVALUATIONS

KEYS = (
    "name",
    "question",
    "horizon",
    "runs",
    "seed",
    "checkpoints",
    "evaluation",
    "baseline",
    "problem",
    "policy",
    "published",
)
NEEDED = ("name", "horizon", "problem", "policy")
Policies = Table | str | Recipe
Problems = Table | str | Problem | Family
LONGEST_NAME = 200  # bytes; file systems have 255


@dataclass(frozen=True)
class Study:
    """What to run: every policy on every problem for every horizon, `runs` times.

    A list stands for an axis of the grid. Numbers of a recipe may be given in units of the problem: "noise" is sigma, "radius"
    is beta_T of the theorems. A recipe, a problem, a law or a noise may be an object, or `module:name` of your own, which is
    imported: read only studies that you trust. Objects are kept as the tables that describe them.

    >>> study = Study(
    ...     name="sizes", horizon=500, runs=3,
    ...     problem={"family": "sphere", "dim": [2, 5]},
    ...     policy=[{"recipe": "EnsembleSampling", "size": [1, 10], "scale": "noise"}, {"recipe": "Greedy"}],
    ... )
    >>> len(study.cells), study.cells[3].name
    (6, 'EnsembleSampling, sphere, dim=5, size=1')
    """

    name: str
    horizon: int | list[int]
    policy: Policies | list[Policies]
    problem: Problems | list[Problems]
    runs: int = 100
    seed: int = 0
    checkpoints: int = 200
    evaluation: str = "auto"
    baseline: str = (
        ""  # the label of the policy that others are compared with; the first unless named
    )
    question: str = ""
    published: list[Table] = field(
        default_factory=list
    )  # figures from the literature, each for one cell
    source: str = field(default="", compare=False)  # where errors say that it comes from
    text: str = field(default="", compare=False, repr=False)  # of the file, if there is one
    code: dict[str, str] | None = field(
        default=None, compare=False, repr=False
    )  # `own_code` of an earlier session
    cells: tuple[Cell, ...] = field(
        init=False, compare=False, repr=False
    )  # the grid, problem by problem

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "source", self.source or (self.name if isinstance(self.name, str) else "study")
        )
        mistakes = Mistakes(self.source)
        with mistakes.noted():
            object.__setattr__(self, "problem", to_tables("problem", "family", self.problem))
        with mistakes.noted():
            object.__setattr__(self, "policy", to_tables("policy", "recipe", self.policy))
        self._check(mistakes)
        object.__setattr__(self, "cells", tuple(cells_of(self, mistakes)))
        check_published(self, mistakes)
        mistakes.complain()

    def _check(self, mistakes: Mistakes) -> None:
        """What is not about problems and policies."""
        for key, value in self.describe().items():
            if not mistakes.touch(key):
                with mistakes.noted():
                    plain(key, value)
        for key in NEEDED:
            if getattr(self, key) is None:
                mistakes.add(
                    key, None, "to be given: a study needs name, horizon, [problem] and [[policy]]"
                )
        for key, check in CHECKS.items():
            values = (
                getattr(self, key) if key == "horizon" else None
            )  # the only one that may be an axis
            wrong = mistakes.touch(key)
            for value in values if isinstance(values, list) and values else [getattr(self, key)]:
                if not wrong:
                    with mistakes.noted():
                        check(key, value)

    @classmethod
    def read(cls, path: str | Path, scale: str = "") -> Self:
        """From a TOML file, at one of its [scales] where one is named."""
        file = file_path("path", path)
        try:
            if file.exists() and not file.is_file():  # a device or a pipe may never end
                raise OSError("it is no file")
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(
                str(file), "file", str(file), f"a TOML file one can read ({error})"
            ) from None
        return cls.parse(text, str(file), scale)

    @classmethod
    def parse(cls, text: str, source: str = "study", scale: str = "") -> Self:
        """From the text of a TOML file."""
        try:
            table = tomllib.loads(text)
        except ValueError as error:  # also of a number with too many digits
            raise StudyError(source, "text", text, f"valid TOML: {error}") from None
        except RecursionError:
            raise StudyError(
                source, "text", text, "TOML whose lists and tables are not so deep in one another"
            ) from None
        mistakes = Mistakes(source)
        scales = table.pop("scales", {})
        for key in [key for key in table if key not in KEYS]:
            mistakes.add(key, table.pop(key), f"a key of a study: {one_of(key, [*KEYS, 'scales'])}")
        given: Table = dict.fromkeys(NEEDED) | at_scale(table, scales, scale, mistakes)
        try:
            study = cls(**given, source=source, text=text)
        except StudyError as error:
            mistakes.add_all(error)
        mistakes.complain()
        return study

    @property
    def problems(self) -> list[Table]:
        """The [problem] tables, each with its label."""
        return labelled(self.problem, "family")

    @property
    def policies(self) -> list[Table]:
        """The [[policy]] tables, each with its label."""
        return labelled(self.policy, "recipe")

    def describe(self) -> Table:
        """The study as plain data: `Study(**study.describe()) == study`."""
        return {key: getattr(self, key) for key in KEYS}

    def definition(self, cell: Cell) -> Definition:
        """What decides the numbers of a cell, run by run."""
        rest = {"checkpoints": self.checkpoints, "evaluation": self.evaluation, "seed": self.seed}
        now = code_digests(cell.definition)
        code = (
            now
            if self.code is None
            else {module: self.code.get(module, now[module]) for module in now}
        )
        return cell.definition | rest | ({"code": code} if code else {})

    @property
    def digests(self) -> tuple[str, ...]:
        """Of the cells' definitions, by number. Cells that differ in words only have one: they are run once."""
        return self._defined[0]

    @property
    def own_code(self) -> dict[str, str]:
        """Digests of the modules that are not ours and decide numbers."""
        return self._defined[1]

    @cached_property
    def _defined(self) -> tuple[tuple[str, ...], dict[str, str]]:
        digests: list[str] = []
        code: dict[str, str] = {}
        for cell in self.cells:
            definition = self.definition(cell)
            digests.append(digest(definition))
            code |= definition.get("code", {})
        return tuple(digests), code


def labelled(given: Any, needed: str) -> list[Table]:
    tables = given if isinstance(given, list) else [given]
    return [{"label": usual_label(table[needed])} | table for table in tables]


def fit_for_a_folder(name: str) -> bool:
    """Of the results, with room for what is added to it."""
    odd = any(letter in "/\\" or unicodedata.category(letter) == "Cc" for letter in name)
    return (
        bool(name) and not odd and not name.startswith(".") and len(name.encode()) <= LONGEST_NAME
    )


def check_name(key: str, value: Any) -> None:
    if not isinstance(value, str) or not fit_for_a_folder(value):
        raise InvalidArgument(key, value, "a name fit for a folder")


def check_text(key: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidArgument(key, value, "text")


def check_count(key: str, value: Any) -> None:
    whole(key, value, 1, LONGEST)


def check_horizon(key: str, value: Any) -> None:
    if value == []:
        raise InvalidArgument(key, value, "an axis with at least one value")
    check_count(key, value)


def check_evaluation(key: str, value: Any) -> None:
    if value not in EVALUATIONS:
        raise InvalidArgument(key, value, one_of(str(value), list(EVALUATIONS)))


CHECKS: dict[str, Callable[[str, Any], object]] = {
    "name": check_name,
    "question": check_text,
    "horizon": check_horizon,
    "runs": check_count,
    "checkpoints": check_count,
    "seed": lambda key, value: whole(key, value, 0),
    "evaluation": check_evaluation,
    "baseline": check_text,
}
SCALED = ("horizon", "runs", "checkpoints")  # what a scale may change, besides options of problems


def at_scale(table: Table, scales: Any, scale: str, mistakes: Mistakes) -> Table:
    """The table with the values of [scales.SCALE]; a slip in a scale that is not asked for is a slip too."""
    if not isinstance(scales, dict) or not all(
        isinstance(changes, dict) for changes in scales.values()
    ):
        mistakes.add("scales", scales, "tables [scales.NAME] of values to replace")
        return table
    for other, changes in scales.items():
        for key, value in changes.items():
            if key not in SCALED and not (key == "problem" and isinstance(value, dict)):
                mistakes.add(f"scales.{other}.{key}", value, f"one of {', '.join(SCALED)}, problem")
    if not scale:
        return table
    if scale not in scales:
        mistakes.add(
            "scale", scale, one_of(scale, list(scales)) if scales else "none: the study has but one"
        )
        return table
    return changed(table, scales[scale])


def changed(table: Table, changes: Table) -> Table:
    """A [scales.SCALE.problem] goes into the problems that have its keys."""
    new = table | {key: changes[key] for key in SCALED if key in changes}
    options = changes.get("problem")
    if isinstance(options, dict) and "problem" in table:
        given = table["problem"] if isinstance(table["problem"], list) else [table["problem"]]
        new["problem"] = [replaced(item, options) for item in given]
    return new


def replaced(item: Any, changes: Table) -> Any:
    """A [problem] with new values for the keys that it has; what is no table is left for the grid to refuse."""
    return (
        item | {name: new for name, new in changes.items() if name in item}
        if isinstance(item, dict)
        else item
    )
