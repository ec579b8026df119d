"""A study: a grid of cells, described by a TOML file."""

import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from ensample.checks import file_path, instance, whole
from ensample.errors import InvalidArgument, StudyError
from ensample.lab.build import to_tables
from ensample.lab.cell import Cell, Definition, code_digests, digest
from ensample.lab.grid import Grid, Table, as_list, usual_label
from ensample.lab.mistakes import Mistakes
from ensample.lab.published import check_published
from ensample.plain_data import plain
from ensample.policies import Recipe
from ensample.problems import Family, Problem
from ensample.registry import one_of
from ensample.simulation.dispatch import EVALUATIONS
from ensample.simulation.plan import LONGEST

KEYS = (
    *("name", "question", "horizon", "runs", "seed", "checkpoints", "evaluation"),
    *("baseline", "problem", "policy", "published"),
)
NEEDED = ("name", "horizon", "problem", "policy")
NEEDED_MESSAGE = "to be given: a study needs name, horizon, [problem] and [[policy]]"
SCALED = ("horizon", "runs", "checkpoints")  # keys of a scale, besides options of problems
BUNDLED = (
    *("ensemble-size", "rates", "arms", "perturbations", "scale", "anchors", "members"),
    *("calibration", "long-run", "forgetting", "clicks", "neural"),
)
LONGEST_NAME = 200  # bytes; file systems have 255
Policies = Table | str | Recipe
Problems = Table | str | Problem | Family


@dataclass(frozen=True)
class Study:
    """Grid of simulations: every policy on every problem for every horizon, `runs` times.

    A list stands for an axis of the grid. Numbers of a recipe may be given in units of the problem:
    "noise" is sigma, "radius" is beta_T of the theorems. A recipe, a problem, a law or a noise may
    be an object, or `module:name` of your own, which is imported: read only studies that you trust.
    Objects are kept as the tables that describe them.

    >>> sampling = {"recipe": "EnsembleSampling", "size": [1, 10], "scale": "noise"}
    >>> sphere = {"family": "sphere", "dim": [2, 5]}
    >>> study = Study("sizes", 500, [sampling, {"recipe": "Greedy"}], sphere, runs=3)
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
    baseline: str = ""  # label of the policy that others are compared with; by default the first
    question: str = ""
    published: list[Table] = field(default_factory=list)  # figures from the literature, for cells
    source: str = field(default="", compare=False)  # name of its origin in errors
    text: str = field(default="", compare=False, repr=False)  # of the file, if there is one
    # `own_code` of an earlier session
    code: dict[str, str] | None = field(default=None, compare=False, repr=False)
    # the grid, problem by problem
    cells: tuple[Cell, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        name = self.name if isinstance(self.name, str) else "study"
        object.__setattr__(self, "source", self.source or name)
        mistakes = Mistakes(self.source)
        with mistakes.collected():
            object.__setattr__(self, "problem", to_tables("problem", "family", self.problem))
        with mistakes.collected():
            object.__setattr__(self, "policy", to_tables("policy", "recipe", self.policy))
        self._check(mistakes)
        object.__setattr__(self, "cells", tuple(Grid(self, mistakes).cells()))
        check_published(self, mistakes)
        mistakes.raise_any()

    def _check(self, mistakes: Mistakes) -> None:
        """Check what is not about problems and policies."""
        for key, value in self.describe().items():
            if not mistakes.concern(key):
                with mistakes.collected():
                    plain(key, value)
        for key in NEEDED:
            if getattr(self, key) is None:
                mistakes.add(key, None, NEEDED_MESSAGE)
        for key, check in CHECKS.items():
            if not mistakes.concern(key):
                value = getattr(self, key)
                values = (
                    value if key == "horizon" and isinstance(value, list) and value else [value]
                )
                for one in values:
                    with mistakes.collected():
                        check(key, one)

    @classmethod
    def read(cls, path: str | Path, scale: str = "") -> Self:
        """Return the study of a TOML file, at one of its [scales] where one is named."""
        file = file_path("path", path)
        try:
            if file.exists() and not file.is_file():  # a device or a pipe may never end
                raise OSError("it is no file")
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            expected = f"a TOML file one can read ({error})"
            raise StudyError(str(file), "file", str(file), expected) from None
        return cls.parse(text, str(file), scale)

    @classmethod
    def parse(cls, text: str, source: str = "study", scale: str = "") -> Self:
        """Return the study of the text of a TOML file."""
        try:
            table = tomllib.loads(text)
        except ValueError as error:  # also of a number with too many digits
            raise StudyError(source, "text", text, f"valid TOML: {error}") from None
        except RecursionError:
            expected = "TOML whose lists and tables are not so deep in one another"
            raise StudyError(source, "text", text, expected) from None
        mistakes = Mistakes(source)
        scales = table.pop("scales", {})
        for key in [key for key in table if key not in KEYS]:
            expected = f"a key of a study: {one_of(key, [*KEYS, 'scales'])}"
            mistakes.add(key, table.pop(key), expected)
        given: Table = dict.fromkeys(NEEDED) | at_scale(table, scales, scale, mistakes)
        try:
            study = cls(**given, source=source, text=text)
        except StudyError as error:
            mistakes.add_all(error)
        mistakes.raise_any()
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
        """Return the study as plain data: `Study(**study.describe()) == study`."""
        return {key: getattr(self, key) for key in KEYS}

    def definition(self, cell: Cell) -> Definition:
        """Return what decides the numbers of a cell, run by run."""
        rest = {"checkpoints": self.checkpoints, "evaluation": self.evaluation, "seed": self.seed}
        code = code_digests(cell.definition)
        if self.code is not None:
            code = {module: self.code.get(module, now) for module, now in code.items()}
        return cell.definition | rest | ({"code": code} if code else {})

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of the cells' definitions, by number. Cells with equal ones are run once."""
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


def bundled(name: str, scale: str = "") -> Study:
    """Return a study that comes with the package, at its default scale or another of its scales.

    >>> bundled("rates").name
    'rates'
    """
    if name not in BUNDLED:
        raise InvalidArgument("study", name, one_of(str(name), list(BUNDLED)))
    file = files("ensample.lab").joinpath("studies", f"{name}.toml")
    return Study.parse(file.read_text(encoding="utf-8"), name, scale)


def labelled(given: Any, needed: str) -> list[Table]:
    return [{"label": usual_label(table[needed])} | table for table in as_list(given)]


def check_name(key: str, value: Any) -> None:
    """Raise unless a folder may have this name, with room for what is added to it."""
    if isinstance(value, str):
        odd = any(letter in "/\\" or unicodedata.category(letter) == "Cc" for letter in value)
        is_short = 0 < len(value.encode()) <= LONGEST_NAME
        if is_short and not odd and not value.startswith("."):
            return
    raise InvalidArgument(key, value, "a name fit for a folder")


def check_text(key: str, value: Any) -> None:
    instance(key, value, str, "text")


def check_count(key: str, value: Any) -> None:
    if key == "horizon" and value == []:
        raise InvalidArgument(key, value, "an axis with at least one value")
    whole(key, value, 1, LONGEST)


def check_evaluation(key: str, value: Any) -> None:
    if value not in EVALUATIONS:
        raise InvalidArgument(key, value, one_of(str(value), list(EVALUATIONS)))


CHECKS: dict[str, Callable[[str, Any], object]] = {
    "name": check_name,
    "question": check_text,
    "horizon": check_count,
    "runs": check_count,
    "checkpoints": check_count,
    "seed": lambda key, value: whole(key, value, 0),
    "evaluation": check_evaluation,
    "baseline": check_text,
}


def at_scale(table: Table, scales: Any, scale: str, mistakes: Mistakes) -> Table:
    """Return the table with the values of [scales.SCALE]. Mistakes of other scales count too."""
    are_tables = isinstance(scales, dict) and all(isinstance(one, dict) for one in scales.values())
    if not are_tables:
        mistakes.add("scales", scales, "tables [scales.NAME] of values to replace")
        return table
    for name, changes in scales.items():
        for key, value in changes.items():
            if key not in SCALED and not (key == "problem" and isinstance(value, dict)):
                expected = f"one of {', '.join(SCALED)}, problem"
                mistakes.add(f"scales.{name}.{key}", value, expected)
    if scale and scale not in scales:
        none = "none: the study has but one"
        mistakes.add("scale", scale, one_of(scale, list(scales)) if scales else none)
    return rescaled(table, scales.get(scale, {}))


def rescaled(table: Table, changes: Table) -> Table:
    """Return the table with other values. Those of `problem` go to problems that have them."""
    new = table | {key: changes[key] for key in SCALED if key in changes}
    options = changes.get("problem")
    if isinstance(options, dict) and "problem" in table:
        problems = as_list(table["problem"])  # an item that is no table is refused by the grid
        new["problem"] = [
            item | {name: options[name] for name in options if name in item}
            if isinstance(item, dict)
            else item
            for item in problems
        ]
    return new
