"""From the words of a study file to problems and recipes."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from ensample.calibration import AUTO
from ensample.checks import boolean, number
from ensample.errors import AssumptionError, EnsampleError, InvalidArgument, WrongType
from ensample.lab.asked import ANYTHING, INNER, PARTS, ArgumentType, asked_of, kind_expected
from ensample.policies import Recipe
from ensample.problems import (
    Family,
    Problem,
    check_needed,
    example_of,
    families_by_name,
    setting_of,
)
from ensample.registry import import_object, is_ours, one_of, public_classes, public_object
from ensample.theory import radius

MOST_NUMBERS = 500_000_000  # of the arms of a problem, or of a matrix in its dimension: 4 GB
Units = dict[str, Callable[[], float]]  # what a number may be given in
Table = dict[str, Any]


class Unsuitable(InvalidArgument):
    """A recipe that does not go with this problem, and may with another."""


def build_problem(table: Table) -> Problem | Family:
    """`family` (a name of ours, `module:name`, or a whole problem as a table) and its options."""
    name, options = table["family"], {key: value for key, value in table.items() if key != "family"}
    if isinstance(name, dict):
        found = made("family", name, (Family, Problem), {})
        allow(options, [], "no option of a problem that is given whole")
    elif ":" in name:
        found = import_object("family", name)
        if isinstance(found, Family | Problem):
            allow(options, [], f"no option: {name} is a problem already")
        else:
            found = called(
                "family", name, found, {key: part(key, value, {}) for key, value in options.items()}
            )
    else:
        there = families_by_name()
        if name not in there:
            raise InvalidArgument("family", name, one_of(name, list(there)))
        allow(options, [item.name for item in fields(there[name])], f"an option of {name!r}")  # type: ignore[arg-type]
        kind = there[name]
        check_needed(kind, options)
        found = kind(**{key: option(kind, key, value, {}) for key, value in options.items()})
    if not isinstance(found, Family | Problem):
        raise InvalidArgument(
            "family", name, f"a problem or a family of them, and this is {found!r}"
        )
    check_size(found)
    return found


def check_size(problem: Problem | Family) -> None:
    """Raise, before one is drawn, for problems that no machine holds."""
    if isinstance(problem, Problem):
        return  # it is here
    dim, arms = getattr(problem, "dim", 1), getattr(problem, "arms", 1)
    if isinstance(dim, int) and isinstance(arms, int) and dim * max(dim, arms) > MOST_NUMBERS:
        size = f"dim = {dim:,}" + (f" and arms = {arms:,}" if arms > 1 else "")
        expected = f"one whose arms, and a square matrix in its dimension, are at most {MOST_NUMBERS:,} numbers: here {size}"
        raise InvalidArgument("dim" if dim >= arms else "arms", max(dim, arms), expected)


def build_recipe(table: Table, problem: Problem | Family, horizon: int) -> Recipe:
    """`recipe` (a name of ours, `module:Name`, or a whole recipe as a table) and its fields.

    With `theorem = true` the constants are those that its theorem prescribes for this problem.
    """
    name, options = (
        table["recipe"],
        {key: value for key, value in table.items() if key not in ("recipe", "theorem")},
    )
    theorem = boolean("theorem", table.get("theorem", False))
    kind = recipe_named(name)
    if isinstance(kind, Recipe):
        recipe = kind
        allow(options, [], "no field: the recipe is given whole")
    else:
        recipe = (by_theorem if theorem else by_fields)(kind, options, problem, horizon)
    try:
        recipe.check(example_of(problem).arms)
    except InvalidArgument as error:
        raise Unsuitable(error.argument, error.value, error.expected) from error
    except AssumptionError as error:
        raise Unsuitable("theorem", True, f"a problem to which it applies: {error}") from error
    return recipe


def recipe_named(name: str | Table) -> Any:
    """A class, or a recipe where one is given whole."""
    if isinstance(name, dict):
        return made("recipe", name, (Recipe,), {})
    if ":" not in name:
        there = public_classes(Recipe)
        if name not in there:
            raise InvalidArgument("recipe", name, one_of(name, list(there)))
        return there[name]
    found = import_object("recipe", name)
    if isinstance(found, Recipe) or (
        isinstance(found, type) and issubclass(found, Recipe) and is_dataclass(found)
    ):
        return found
    raise InvalidArgument(
        "recipe", name, f"a recipe or its class, a frozen dataclass, and this is {found!r}"
    )


def by_fields(kind: Any, options: Table, problem: Problem | Family, horizon: int) -> Recipe:
    given = options.get("regularization", AUTO)
    lam = 1.0 if given == AUTO else number("regularization", given, 1e-12, 1e50)
    units: Units = {
        "noise": lambda: example_of(problem).noise.size,
        "radius": lambda: radius(setting_of(problem, horizon, lam)),
    }
    check_arguments(kind, options, without=("setting",))
    return calling(kind, {key: option(kind, key, value, units) for key, value in options.items()})  # type: ignore[no-any-return]


def by_theorem(kind: Any, options: Table, problem: Problem | Family, horizon: int) -> Recipe:
    if not hasattr(kind, "from_theorem"):
        raise InvalidArgument(
            "theorem", True, f"false: no theorem here prescribes the constants of {kind.__name__}"
        )
    taken = list(inspect.signature(kind.from_theorem).parameters)[1:]
    allow(
        options,
        ["regularization", "delta", *taken],
        f"what {kind.__name__}.from_theorem can be told",
    )
    constants = {key: options[key] for key in ("regularization", "delta") if key in options}
    chosen = {
        key: part(key, options[key], {}, asked_of(kind.from_theorem, key))
        for key in taken
        if key in options
    }
    try:
        return kind.from_theorem(setting_of(problem, horizon, **constants), **chosen)  # type: ignore[no-any-return]
    except AssumptionError as error:
        raise Unsuitable("theorem", True, f"a problem to which it applies: {error}") from error


def part(key: str, value: Any, units: Units, asked: ArgumentType = ANYTHING) -> Any:
    """A law or a rule from its name or from a table with its `kind` and fields; a number, also from words; else as it is.

    `asked` is what the argument may be, which errors name.
    """
    if isinstance(value, str) and value in public_classes(*PARTS):
        value = {"kind": value}
    if isinstance(value, str) and ":" in value:
        found = import_object(key, value)
        return called(key, value, found, {}) if isinstance(found, type) else found
    if isinstance(value, str):
        if value == AUTO and units:
            return AUTO
        return None if value == "none" else amount(key, value, units, asked)  # TOML has no null
    if isinstance(value, list | tuple):
        return tuple(
            part(f"{key}[{place}]", item, units, asked) for place, item in enumerate(value)
        )
    return made(key, value, INNER, units, asked) if isinstance(value, dict) else value


def made(
    key: str, table: Table, bases: tuple[type, ...], units: Units, asked: ArgumentType = ANYTHING
) -> Any:
    """What a table with a `kind` and its arguments describes."""
    name = table.get("kind")
    text = name if isinstance(name, str) else ""
    kind = import_object(f"{key}.kind", text) if ":" in text else public_object(text)
    if not (isinstance(kind, type) and issubclass(kind, bases)):
        raise InvalidArgument(f"{key}.kind", name, kind_expected(table, asked.parts or bases))
    options = {name: value for name, value in table.items() if name != "kind"}
    with within(key):
        check_arguments(kind, options)
        return calling(
            kind, {name: option(kind, name, value, units) for name, value in options.items()}
        )


def option(kind: Any, name: str, value: Any, units: Units) -> Any:
    """One argument of a class; text where it asks for text, by its type or by the name of a file or column."""
    field = (
        next((item for item in fields(kind) if item.name == name), None)
        if is_dataclass(kind)
        else None
    )
    asks = field is not None and (field.type in (str, "str") or field.metadata.get("text", False))
    return value if asks else part(name, value, units, asked_of(kind, name))


def called(key: str, name: str, make: Any, options: Table) -> Any:
    """What a class or a function of somebody else's makes."""
    if not callable(make):
        raise InvalidArgument(key, name, f"a class or a function, and this is {make!r}")
    check_arguments(make, options)
    return calling(make, options)


def calling(make: Any, arguments: Table) -> Any:
    """`make(**arguments)`; what is not ours may raise anything."""
    try:
        return make(**arguments)
    except EnsampleError:
        raise
    except Exception as error:
        if is_ours(make):
            raise
        expected = f"arguments that {make.__name__} accepts ({type(error).__name__}: {error})"
        raise InvalidArgument("fields", arguments, expected) from error


def amount(key: str, words: str, units: Units, asked: ArgumentType) -> float:
    """A number from words such as "noise", "2 noise" or "0.5 radius"."""
    factor, _, unit = words.rpartition(" ")
    try:
        return float(factor or 1.0) * units[unit]()
    except (KeyError, ValueError):
        raise WrongType(key, words, asked.expected(words, units)) from None


def check_arguments(make: Any, options: Table, without: tuple[str, ...] = ()) -> None:
    """Raise unless these are arguments of a class or a function, and all that it needs."""
    takes = {
        name: item
        for name, item in inspect.signature(make).parameters.items()
        if name not in without
    }
    if any(item.kind is item.VAR_KEYWORD for item in takes.values()):
        return
    allow(options, list(takes), f"a field of {make.__name__}")
    for name, item in takes.items():
        if (
            item.default is item.empty
            and item.kind is not item.VAR_POSITIONAL
            and name not in options
        ):
            raise InvalidArgument(name, None, f"to be given: {make.__name__} needs it")


@contextmanager
def within(key: str) -> Iterator[None]:
    """Errors inside name what it is a part of."""
    try:
        yield
    except InvalidArgument as error:
        raise type(error)(f"{key}.{error.argument}", error.value, error.expected) from None


def allow(options: Table, allowed: list[str], expected: str) -> None:
    for key, value in options.items():
        if key not in allowed:
            raise InvalidArgument(
                key, value, f"{expected}: {one_of(key, allowed)}" if allowed else expected
            )
