"""A study: a grid of cells, described by a TOML file."""

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ensample.checks import file_path, whole
from ensample.errors import AssumptionError, InvalidArgument, StudyError
from ensample.lab.grid import axes_of, expand
from ensample.lab.parts import build_problem, build_recipe
from ensample.policies import Recipe
from ensample.problems import Family, known
from ensample.simulation.simulate import EVALUATIONS

__all__ = ["Cell", "Study"]

KEYS = ("name", "question", "horizon", "runs", "seed", "checkpoints", "evaluation", "baseline", "problem", "policy", "scales")
POLICY_ONLY = ("label", "problems")  # keys of a policy that are not fields of its recipe
Table = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One recipe on one problem for one horizon; `runs` replicates of it."""

    number: int
    policy: str  # label
    problem: str  # label
    axes: Mapping[str, Any]  # what varies: {"horizon": 1000, "dim": 5, "size": 10}
    recipe: Recipe
    family: Family
    horizon: int
    key: int  # of the problem's random numbers: the same for every policy and horizon

    @property
    def name(self) -> str:
        """What tells this cell from the others."""
        return ", ".join([self.policy, self.problem, *(f"{axis}={value}" for axis, value in self.axes.items())])


@dataclass(frozen=True)
class Study:
    """What to run: every policy on every problem for every horizon, `runs` times.

    A list stands for an axis of the grid. Numbers of a recipe may be given in units of the problem: "noise" is sigma, "radius"
    is beta_T of the theorems.

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
    policy: Table | list[Table]
    problem: Table | list[Table]
    runs: int = 100
    seed: int = 0
    checkpoints: int = 200
    evaluation: str = "auto"
    baseline: str = ""  # the label of the policy that others are compared with; the first unless named
    question: str = ""
    source: str = field(default="", compare=False)  # where errors say that it comes from
    text: str = field(default="", compare=False, repr=False)  # of the file, if there is one

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", self.source or (self.name if isinstance(self.name, str) else "study"))
        with naming(self.source):
            if not isinstance(self.name, str) or not self.name or set(self.name) & set("/\\\0") or self.name.startswith("."):
                raise InvalidArgument("name", self.name, "a name fit for a folder")
            for key in ("question", "baseline"):
                if not isinstance(getattr(self, key), str):
                    raise InvalidArgument(key, getattr(self, key), "text")
            for horizon in listed("horizon", self.horizon):
                whole("horizon", horizon, 1)
            whole("runs", self.runs, 1)
            whole("seed", self.seed, 0)
            whole("checkpoints", self.checkpoints, 1)
            if self.evaluation not in EVALUATIONS:
                raise InvalidArgument("evaluation", self.evaluation, known(str(self.evaluation), list(EVALUATIONS)))
        try:
            json.dumps(self.describe())
        except TypeError as error:
            raise StudyError(
                self.source, "study", self.name, f"plain data: text, numbers, lists and tables ({error})"
            ) from None
        cells = tuple(self._build())
        object.__setattr__(self, "_cells", cells)
        policies = list(dict.fromkeys(cell.policy for cell in cells))
        if self.baseline and self.baseline not in policies:
            raise StudyError(self.source, "baseline", self.baseline, known(self.baseline, policies))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The grid, problem by problem."""
        return self._cells  # type: ignore[attr-defined, no-any-return]

    @classmethod
    def read(cls, path: str | Path, scale: str = "") -> Self:
        """From a TOML file, at one of its `[scales]` where one is named."""
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
        except tomllib.TOMLDecodeError as error:
            raise StudyError(source, "syntax", "", f"valid TOML: {error}") from None
        for key in table:
            if key not in KEYS:
                raise StudyError(source, key, table[key], f"a key of a study: {known(key, list(KEYS))}")
        for key in ("name", "horizon", "problem", "policy"):
            if key not in table:
                raise StudyError(source, key, None, "to be given: a study needs name, horizon, [problem] and [[policy]]")
        scales = table.pop("scales", {})
        if scale:
            if scale not in scales:
                raise StudyError(source, "scale", scale, known(scale, list(scales)) if scales else "none: it has one scale")
            table = at_scale(table, scales[scale], source, f"scales.{scale}")
        return cls(**table, source=source, text=text)

    def describe(self) -> Table:
        """The study as plain data: `Study(**study.describe()) == study`."""
        return {key: getattr(self, key) for key in KEYS if key != "scales"}

    def _build(self) -> Iterator[Cell]:
        numbers = itertools.count()
        problems = tables(self.source, "problem", self.problem)
        policies = tables(self.source, "policy", self.policy)
        labels = [str(table.get("label", table.get("family", ""))) for table in problems]
        taken: set[str] = set()
        for place, (table, label) in enumerate(zip(problems, labels, strict=True)):
            where = "problem" if isinstance(self.problem, dict) else f"problem[{place}]"
            options = required(self.source, where, {k: v for k, v in table.items() if k != "label"}, "family")
            for chosen in expand(options):
                with naming(self.source, where):
                    family = build_problem(chosen)
                axes = {axis: shown(chosen[axis]) for axis in axes_of(options)}
                for horizon in listed("horizon", self.horizon):
                    outer = ({"horizon": horizon} if isinstance(self.horizon, list) else {}) | axes
                    for cell in self._of_problem(policies, labels, label, family, horizon, outer, numbers):
                        if cell.name in taken:
                            raise StudyError(self.source, "label", cell.name, "cells that differ: give the policies labels")
                        taken.add(cell.name)
                        yield cell

    def _of_problem(
        self,
        policies: list[Table],
        labels: list[str],
        label: str,
        family: Family,
        horizon: int,
        axes: Table,
        numbers: Iterator[int],
    ) -> Iterator[Cell]:
        """The cells of one problem and horizon, policy by policy."""
        for place, table in enumerate(policies):
            where = "policy" if isinstance(self.policy, dict) else f"policy[{place}]"
            options = required(self.source, where, {k: v for k, v in table.items() if k not in POLICY_ONLY}, "recipe")
            only = table.get("problems", labels)
            for wanted in only if isinstance(only, list) else [only]:
                if wanted not in labels:
                    raise StudyError(self.source, f"{where}.problems", wanted, known(str(wanted), labels))
            if label not in only:
                continue
            for chosen in expand(options):
                with naming(self.source, where):
                    recipe = build_recipe(chosen, family, horizon)
                varying = {axis: shown(getattr(recipe, axis, chosen[axis])) for axis in axes_of(options)}
                own = {f"policy {axis}" if axis in axes else axis: value for axis, value in varying.items()}
                name = str(table.get("label", table["recipe"]))
                yield Cell(next(numbers), name, label, axes | own, recipe, family, horizon, key_of(family))


class naming:
    """Errors inside name the file and the table."""

    def __init__(self, source: str, table: str = "") -> None:
        self.source = source
        self.prefix = f"{table}." if table else ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InvalidArgument) and not isinstance(error, StudyError):
            raise StudyError(self.source, self.prefix + error.argument, error.value, error.expected) from error
        if isinstance(error, AssumptionError):
            raise StudyError(self.source, self.prefix + "theorem", True, f"a problem that fits: {error}") from error


def tables(source: str, key: str, value: Any) -> list[Table]:
    """One table or a list of them."""
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(table, dict) for table in given):
        raise StudyError(source, key, value, f"a table [{key}] or several [[{key}]]")
    for table in given:
        for name, item in table.items():
            if item == []:
                raise StudyError(source, f"{key}.{name}", item, "an axis with at least one value")
    return given


def required(source: str, where: str, table: Table, key: str) -> Table:
    if key not in table:
        raise StudyError(source, f"{where}.{key}", None, f"to be given, for example {key} = {EXAMPLES[key]!r}")
    if isinstance(table[key], list):
        raise StudyError(source, f"{where}.{key}", table[key], f"one name; several are several [[{where.split('[')[0]}]]")
    return table


EXAMPLES = {"family": "sphere", "recipe": "EnsembleSampling"}


def at_scale(table: Table, changes: Any, source: str, where: str) -> Table:
    """The table with some values replaced; [scales.NAME.problem] goes into every problem."""
    if not isinstance(changes, dict):
        raise StudyError(source, where, changes, "a table of values to replace")
    changed = dict(table)
    for key, value in changes.items():
        if key == "problem" and isinstance(value, dict):
            given = table["problem"] if isinstance(table["problem"], list) else [table["problem"]]
            changed["problem"] = [{**item, **{k: v for k, v in value.items() if k in item}} for item in given]
        elif key in ("horizon", "runs", "checkpoints"):
            changed[key] = value
        else:
            raise StudyError(source, f"{where}.{key}", value, "one of horizon, runs, checkpoints, problem")
    return changed


def listed(key: str, value: Any) -> list[Any]:
    """The values of an axis."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InvalidArgument(key, value, "an axis with at least one value")
    return values


def key_of(family: Family) -> int:
    """A number for the problem itself, so that a cell keeps its random numbers when the grid around it changes."""
    digest = hashlib.sha256(repr(family).encode()).digest()
    return int.from_bytes(digest[:6], "big")


def shown(value: Any) -> Any:
    """An axis' value as a number or as text."""
    return value if isinstance(value, int | float | str) else repr(value) if not isinstance(value, dict) else json.dumps(value)
