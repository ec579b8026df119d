"""Problems and recipes from the tables of a study."""

from dataclasses import fields, is_dataclass
from functools import partial
from inspect import isabstract, signature
from typing import Any

from ensample.calibration import AUTO
from ensample.checks import boolean, number
from ensample.codec import (
    ANYTHING,
    Units,
    check_names,
    construct,
    definition,
    from_table,
    object_of,
    to_table,
)
from ensample.errors import AssumptionError, InvalidArgument
from ensample.policies import Recipe
from ensample.problems import (
    Family,
    Problem,
    check_needed,
    example_of,
    families_by_name,
    setting_of,
)
from ensample.registry import import_object, one_of, public_classes
from ensample.theory import radius

Table = dict[str, Any]
MOST_NUMBERS = 500_000_000  # of a problem's arms, or of a matrix in its dimension: 4 GB


class Unsuitable(InvalidArgument):
    """A recipe that does not go with this problem, and may with another."""


def build_problem(table: Table) -> Problem | Family:
    """Return the problem of `family` (a name, `module:name`, or a table with its kind)."""
    name, options = table["family"], {key: table[key] for key in table if key != "family"}
    if isinstance(name, dict):
        found = from_table("family", name, object_of(Family, Problem), {})
        check_names(options, [], "no option of a problem that is given whole")
    elif ":" in name:
        found = import_object("family", name)
        if isinstance(found, Family | Problem):
            check_names(options, [], f"no option: {name} is a problem already")
        elif not callable(found):
            expected = f"a class or a function, and this is {found!r}"
            raise InvalidArgument("family", name, expected)
        else:
            found = construct(found, options, partial(from_table, units={}))
    else:
        families = families_by_name()
        if name not in families:
            raise InvalidArgument("family", name, one_of(name, list(families)))
        kind = families[name]
        allowed = [item.name for item in fields(kind)]  # type: ignore[arg-type]
        check_names(options, allowed, f"an option of {name!r}")
        check_needed(kind, options)
        found = construct(kind, options, partial(from_table, units={}))
    if not isinstance(found, Family | Problem):
        expected = f"a problem or a family of them, and this is {found!r}"
        raise InvalidArgument("family", name, expected)
    check_size(found)
    return found


def check_size(problem: Problem | Family) -> None:
    """Raise, before one is drawn, for problems that no machine holds."""
    if isinstance(problem, Problem):
        return  # it is here
    dim, arms = getattr(problem, "dim", 1), getattr(problem, "arms", 1)
    if isinstance(dim, int) and isinstance(arms, int) and dim * max(dim, arms) > MOST_NUMBERS:
        size = f"dim = {dim:,}" + (f" and arms = {arms:,}" if arms > 1 else "")
        expected = (
            "one whose arms, and a square matrix in its dimension, are at most "
            f"{MOST_NUMBERS:,} numbers: here {size}"
        )
        raise InvalidArgument("dim" if dim >= arms else "arms", max(dim, arms), expected)


def build_recipe(table: Table, problem: Problem | Family, horizon: int) -> Recipe:
    """Return the recipe of `recipe` (a name, `module:Name`, or a table with its kind) and fields.

    With `theorem = true` the constants are those that its theorem prescribes for this problem.
    """
    options = {key: table[key] for key in table if key not in ("recipe", "theorem")}
    theorem = boolean("theorem", table.get("theorem", False))
    kind = recipe_named(table["recipe"])
    if isinstance(kind, Recipe):
        recipe = kind
        check_names(options, [], "no field: the recipe is given whole")
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
    """Return a class, or a recipe where one is given whole."""
    if isinstance(name, dict):
        found = from_table("recipe", name, object_of(Recipe), {})
        if not isinstance(found, Recipe):
            raise InvalidArgument("recipe", name, f"a recipe, and this is {found!r}")
        return found
    if ":" not in name:
        recipes = public_classes(Recipe)
        if name not in recipes:
            raise InvalidArgument("recipe", name, one_of(name, list(recipes)))
        return recipes[name]
    found = import_object("recipe", name)
    is_class = isinstance(found, type) and issubclass(found, Recipe) and is_dataclass(found)
    if isinstance(found, Recipe) or (is_class and not isabstract(found)):
        return found
    expected = f"a recipe or its class, a frozen dataclass, and this is {found!r}"
    raise InvalidArgument("recipe", name, expected)


def by_fields(kind: Any, options: Table, problem: Problem | Family, horizon: int) -> Recipe:
    given = options.get("regularization", AUTO)
    lam = 1.0 if given == AUTO else number("regularization", given, 1e-12, 1e50)
    units: Units = {
        "noise": lambda: example_of(problem).noise.size,
        "radius": lambda: radius(setting_of(problem, horizon, lam)),
    }
    return construct(kind, options, partial(from_table, units=units))  # type: ignore[no-any-return]


def by_theorem(kind: Any, options: Table, problem: Problem | Family, horizon: int) -> Recipe:
    if not hasattr(kind, "from_theorem"):
        expected = f"false: no theorem here prescribes the constants of {kind.__name__}"
        raise InvalidArgument("theorem", True, expected)
    constants = ("regularization", "delta")
    allowed = [*constants, *list(signature(kind.from_theorem).parameters)[1:]]
    check_names(options, allowed, f"an argument of {kind.__name__}.from_theorem")
    setting_options = {name: options[name] for name in constants if name in options}
    rest = {name: options[name] for name in options if name not in constants}
    try:
        make = partial(kind.from_theorem, setting_of(problem, horizon, **setting_options))
        return construct(make, rest, partial(from_table, units={}))  # type: ignore[no-any-return]
    except AssumptionError as error:
        raise Unsuitable("theorem", True, f"a problem to which it applies: {error}") from error


def to_tables(key: str, needed: str, value: Any) -> Any:
    """Return a [key] table or several from tables, names or objects; others stay as they are."""
    if isinstance(value, list | tuple):
        return [one_table(f"{key}[{place}]", needed, item) for place, item in enumerate(value)]
    return one_table(key, needed, value)


def one_table(where: str, needed: str, value: Any) -> Any:
    if isinstance(value, str | Recipe | Family | Problem):
        value = {needed: value}
    if not isinstance(value, dict):
        return value
    given = value.get(needed)
    if isinstance(given, str) and ":" in given:
        named = import_object(f"{where}.{needed}", given)
        is_whole = isinstance(named, Recipe | Family | Problem)
        if is_whole and "own" not in definition(named):  # its fields count, not where it is kept
            value = {"label": label_of(given)} | value | {needed: named}
    table = {key: to_table(f"{where}.{key}", item) for key, item in value.items()}
    whole = value.get(needed)
    if isinstance(whole, Recipe | Family | Problem):
        again = from_table(f"{where}.{needed}", table[needed], ANYTHING, {})
        if is_dataclass(whole) and again != whole:
            expected = f"what its fields describe, and they make {again!r}"
            raise InvalidArgument(f"{where}.{needed}", whole, expected)
    return table


def label_of(name: str) -> str:
    """Return what follows the module.

    >>> label_of("mymodule:MyRecipe"), label_of("sphere")
    ('MyRecipe', 'sphere')
    """
    return name.rpartition(":")[2]
