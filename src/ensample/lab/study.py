"""A study: a grid of cells, described by a TOML file."""

import tomllib
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ensample.checks import file_path, whole
from ensample.errors import InvalidArgument, StudyError
from ensample.lab.cell import Cell
from ensample.lab.grid import LONGEST, Table, blaming, cells_of, usual_label
from ensample.lab.plain_data import check_plain
from ensample.lab.published import published_in
from ensample.lab.written import tables
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import known
from ensample.simulation.registry import EVALUATIONS

__all__ = ["Study"]

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
    baseline: str = ""  # the label of the policy that others are compared with; the first unless named
    question: str = ""
    published: list[Table] = field(default_factory=list)  # figures from the literature, each for one cell
    source: str = field(default="", compare=False)  # where errors say that it comes from
    text: str = field(default="", compare=False, repr=False)  # of the file, if there is one
    cells: tuple[Cell, ...] = field(init=False, compare=False, repr=False)  # the grid, problem by problem

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", self.source or (self.name if isinstance(self.name, str) else "study"))
        with blaming(self.source):
            object.__setattr__(self, "problem", tables("problem", "family", self.problem))
            object.__setattr__(self, "policy", tables("policy", "recipe", self.policy))
            self._check()
        object.__setattr__(self, "cells", tuple(cells_of(self)))
        policies = list(dict.fromkeys(cell.policy for cell in self.cells))
        if self.baseline and self.baseline not in policies:
            raise StudyError(self.source, "baseline", self.baseline, known(self.baseline, policies))
        with blaming(self.source):
            published_in(self)

    def _check(self) -> None:
        """What is not about problems and policies."""
        check_plain(self.describe())
        if not isinstance(self.name, str) or not fit_for_a_folder(self.name):
            raise InvalidArgument("name", self.name, "a name fit for a folder")
        for key in ("question", "baseline"):
            if not isinstance(getattr(self, key), str):
                raise InvalidArgument(key, getattr(self, key), "text")
        if isinstance(self.horizon, list) and not self.horizon:
            raise InvalidArgument("horizon", self.horizon, "an axis with at least one value")
        for horizon in self.horizon if isinstance(self.horizon, list) else [self.horizon]:
            whole("horizon", horizon, 1, LONGEST)
        whole("runs", self.runs, 1, LONGEST)
        whole("checkpoints", self.checkpoints, 1, LONGEST)
        whole("seed", self.seed, 0)
        if self.evaluation not in EVALUATIONS:
            raise InvalidArgument("evaluation", self.evaluation, known(str(self.evaluation), list(EVALUATIONS)))

    @classmethod
    def read(cls, path: str | Path, scale: str = "") -> Self:
        """From a TOML file, at one of its [scales] where one is named."""
        file = file_path("path", path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(str(file), "file", str(file), f"a TOML file one can read ({error})") from None
        return cls.parse(text, str(file), scale)

    @classmethod
    def parse(cls, text: str, source: str = "study", scale: str = "") -> Self:
        """From the text of a TOML file."""
        try:
            table = tomllib.loads(text)
        except ValueError as error:  # also of a number with too many digits
            raise StudyError(source, "text", text, f"valid TOML: {error}") from None
        except RecursionError:
            raise StudyError(source, "text", text, "TOML whose lists and tables are not so deep in one another") from None
        for key in table:
            if key not in (*KEYS, "scales"):
                raise StudyError(source, key, table[key], f"a key of a study: {known(key, [*KEYS, 'scales'])}")
        for key in ("name", "horizon", "problem", "policy"):
            if key not in table:
                raise StudyError(source, key, None, "to be given: a study needs name, horizon, [problem] and [[policy]]")
        scales = table.pop("scales", {})
        if isinstance(scales, dict):
            for other in scales:  # a slip in a scale that is not asked for is a slip too
                at_scale(table, scales, other, source)
        return cls(**at_scale(table, scales, scale, source), source=source, text=text)

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


def labelled(given: Any, needed: str) -> list[Table]:
    tables = given if isinstance(given, list) else [given]
    return [{"label": usual_label(table[needed])} | table for table in tables]


def fit_for_a_folder(name: str) -> bool:
    """Of the results, with room for what is added to it."""
    odd = any(letter in "/\\" or unicodedata.category(letter) == "Cc" for letter in name)
    return bool(name) and not odd and not name.startswith(".") and len(name.encode()) <= LONGEST_NAME


def at_scale(table: Table, scales: Any, scale: str, source: str) -> Table:
    """The table with the values of [scales.SCALE]; a [scales.SCALE.problem] goes into the problems that have its keys."""
    if not isinstance(scales, dict) or not all(isinstance(changes, dict) for changes in scales.values()):
        raise StudyError(source, "scales", scales, "tables [scales.NAME] of values to replace")
    if not scale:
        return table
    if scale not in scales:
        raise StudyError(source, "scale", scale, known(scale, list(scales)) if scales else "none: the study has but one")
    changed = dict(table)
    for key, value in scales[scale].items():
        if key == "problem" and isinstance(value, dict):
            given = table["problem"] if isinstance(table["problem"], list) else [table["problem"]]
            changed["problem"] = [replaced(item, value) for item in given]
        elif key in ("horizon", "runs", "checkpoints"):
            changed[key] = value
        else:
            raise StudyError(source, f"scales.{scale}.{key}", value, "one of horizon, runs, checkpoints, problem")
    return changed


def replaced(item: Any, changes: Table) -> Any:
    """A [problem] with new values for the keys that it has; what is no table is left for the grid to refuse."""
    return item | {name: new for name, new in changes.items() if name in item} if isinstance(item, dict) else item
