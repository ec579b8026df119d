"""Tables of studies and bodies of calls: some fields of an object, the others as by default."""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from ensample.codec.arguments import (
    ANYTHING,
    INNER,
    LONGEST,
    PARTS,
    ArgumentType,
    Bases,
    Table,
    Units,
    belongs_to,
    classes_of,
    construct,
    parameters,
    within,
)
from ensample.errors import EnsampleError, InvalidArgument, WrongType
from ensample.plain_data import DEEPEST
from ensample.registry import has_plain_constructor, import_object, name_of, one_of, public_object

STUDIED: Bases = ("Recipe", "Family", "Problem", *INNER)
BY_PLACE: Any = object()  # the key of arguments without a name, which only typed text can have
OPTIONS: Bases = (*PARTS, "Noise")  # what a text may name


def to_table(where: str, value: Any, depth: int = 0) -> Any:
    """Return plain data for a study: objects as tables, functions by name, arrays as lists."""
    if depth > DEEPEST:
        return value  # `plain` refuses it
    if belongs_to(type(value), STUDIED):
        options = options_of(value)
        if options is None:
            expected = "a frozen dataclass, or its name, such as mymodule:my_problem"
            raise InvalidArgument(where, value, expected)
        return {"kind": name_of(type(value))} | to_table(where, options, depth + 1)
    if isinstance(value, dict):
        return {key: to_table(f"{where}.{key}", item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_table(f"{where}[{i}]", item, depth + 1) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return name_of(value) if callable(value) and hasattr(value, "__qualname__") else value


def options_of(part: Any) -> Table | None:
    """Return the arguments that make an object again; None where they are not known."""
    if not has_plain_constructor(type(part)):
        known: Table | None = getattr(part, "parameters", None)
        return known
    found: Table = {}
    for item in fields(part):
        value, default = getattr(part, item.name), item.default
        if item.default_factory is not MISSING:
            default = item.default_factory()
        is_usual = type(value) is type(default) and bool(value == default)
        if item.init and not is_usual:
            found[item.name] = "none" if value is None else value
    return found


def definition(part: Any) -> Any:
    """Return an object as a table; what no table can have is known by its class."""
    try:
        return to_table("", part)
    except InvalidArgument:
        return {"own": name_of(type(part))}


def from_table(argument: str, value: Any, takes: ArgumentType, units: Units) -> Any:
    """Return what a study's table gives for an argument: a part, a number, a text or None.

    >>> from_table("scale", "2 noise", ANYTHING, {"noise": lambda: 0.25})
    0.5
    >>> from_table("member", {"kind": "StickyMember", "rounds": 3}, ANYTHING, {})
    StickyMember(rounds=3)
    """
    return TableReader(STUDIED, units, imports=True).value(argument, value, takes)


def from_json(argument: str, value: Any, bases: Bases) -> Any:
    """Return the object that JSON from anybody describes, of our classes only.

    >>> from_json("recipe", {"kind": "EnsembleSampling", "size": 30}, ("Recipe",)).size
    30
    """
    try:
        return TableReader(bases).value(argument, value, ANYTHING)
    except InvalidArgument:
        raise
    except EnsampleError as error:
        raise InvalidArgument(argument, value, str(error)) from None


class Unreadable(str):
    """A piece of a typed text that stands for nothing: who reads it knows what was expected."""


class TableReader(NamedTuple):
    """Maker of objects from tables.

    `units` is None where a text stands for nothing but itself. With `imports` names were given by
    the user, and their modules are imported.
    """

    bases: Bases
    units: Units | None = None
    imports: bool = False

    def value(self, argument: str, value: Any, takes: ArgumentType) -> Any:
        if isinstance(value, Unreadable):
            expected = takes.expected("", self.units or {})
            raise InvalidArgument(argument, str(value), expected)
        if isinstance(value, dict):
            return self.part(argument, value, takes)
        if isinstance(value, list | tuple):
            items = enumerate(value)
            return tuple(self.value(f"{argument}[{i}]", item, takes) for i, item in items)
        if isinstance(value, str) and self.units is not None and not takes.allows(value):
            return self.word(argument, value, self.units, takes)
        return value

    def part(self, argument: str, table: Table, takes: ArgumentType) -> Any:
        """Return the object that a table with its `kind` and its arguments describes."""
        name, kind = table.get("kind"), None
        if isinstance(name, str):
            is_theirs = self.imports and ":" in name
            kind = import_object(f"{argument}.kind", name) if is_theirs else public_object(name)
        is_class = isinstance(kind, type) and belongs_to(kind, self.bases)
        if not is_class or inspect.isabstract(kind):
            classes = takes.classes or classes_of(self.bases)
            if self.units is None:  # JSON can give plain fields only
                classes = {name: kind for name, kind in classes.items() if is_dataclass(kind)}
            raise InvalidArgument(f"{argument}.kind", name, kind_expected(table, classes))
        options = {key: value for key, value in table.items() if key not in ("kind", BY_PLACE)}
        with within(argument):
            return construct(kind, options, self.value, table.get(BY_PLACE, ()))

    def word(self, argument: str, word: str, units: Units, takes: ArgumentType) -> Any:
        """Return what a text stands for: a part by its name, None, or a number with a unit."""
        if word in classes_of(OPTIONS):
            return self.part(argument, {"kind": word}, takes)
        if ":" in word:
            found = import_object(argument, word)
            return construct(found, {}) if isinstance(found, type) else found
        if word == "none":
            return None
        factor, _, unit = word.rpartition(" ")
        try:
            return float(factor or 1.0) * units[unit]()
        except (KeyError, ValueError):
            raise WrongType(argument, word, takes.expected(word, units)) from None


def kind_expected(table: Table, classes: Mapping[str, Any]) -> str:
    """Return what a table could have had as its kind; the example has the table's fields."""
    if "kind" in table:
        return one_of(str(table["kind"])[:LONGEST], list(classes))
    like = (name for name, kind in classes.items() if table.keys() <= parameters(kind).keys())
    example = next(like, next(iter(classes)))
    return f'the kind of this table, such as kind = "{example}": one of {", ".join(classes)}'
