"""From the words of a study file to problems and recipes."""

from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ensample.checks import boolean, number
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.policies import Recipe
from ensample.policies.describe import PARTS
from ensample.policies.loading import RECIPES
from ensample.problems import PROBLEMS, Family, Problem, known, problem
from ensample.problems.noise import BernoulliNoise, GaussianNoise, HeteroscedasticNoise, RademacherNoise
from ensample.theory import Setting, radius

__all__ = ["build_problem", "build_recipe", "example_of", "setting_of"]

KINDS: dict[str, type[Recipe]] = {kind.__name__: kind for kind in RECIPES}
LAWS = {name: kind for name, kind in PARTS.items() if kind is not Setting} | {
    kind.__name__: kind for kind in (GaussianNoise, BernoulliNoise, RademacherNoise, HeteroscedasticNoise)
}
MOST_NUMBERS = 500_000_000  # of the arms of a problem, or of a matrix in its dimension: 4 GB
Units = dict[str, Callable[[], float]]  # what a number may be given in


def build_problem(table: dict[str, Any]) -> Family:
    """`family` and its options."""
    name = table["family"]
    if name not in PROBLEMS:
        raise InvalidArgument("family", name, known(name, list(PROBLEMS)))
    options = {key: value for key, value in table.items() if key != "family"}
    allow(options, [item.name for item in fields(PROBLEMS[name])], f"an option of {name!r}")  # type: ignore[arg-type]
    family = problem(name, **{key: part(key, value, {}) for key, value in options.items()})
    check_size(family)
    return family


def check_size(family: Family) -> None:
    """Raise, before one is drawn, for problems that no machine holds."""
    arms = getattr(family, "arms", 1)
    if family.dim * max(family.dim, arms) > MOST_NUMBERS:
        size = f"dim = {family.dim:,}" + (f" and arms = {arms:,}" if arms > 1 else "")
        expected = f"one whose arms, and a square matrix in its dimension, are at most {MOST_NUMBERS:,} numbers: here {size}"
        raise InvalidArgument("dim" if family.dim >= arms else "arms", max(family.dim, arms), expected)


@lru_cache(maxsize=32)
def example_of(family: Family) -> Problem:
    """One draw of a family: every draw has the same constants."""
    return family.draw(np.random.default_rng(0))


def setting_of(family: Family, horizon: int, regularization: float = 1.0, delta: float = 0.05) -> Setting:
    """The constants of a family."""
    setting = example_of(family).setting(horizon, regularization, delta)
    return replace(setting, norm=round(setting.norm, 12))  # |theta| = 1 up to rounding


def build_recipe(table: dict[str, Any], family: Family, horizon: int) -> Recipe:
    """`recipe` and its fields or, with `theorem = true`, the constants that its theorem prescribes for this problem."""
    name = table["recipe"]
    kind: Any = KINDS.get(name)
    if kind is None:
        raise InvalidArgument("recipe", name, known(name, list(KINDS)))
    options = {key: value for key, value in table.items() if key not in ("recipe", "theorem")}
    make = by_theorem if boolean("theorem", table.get("theorem", False)) else by_fields
    recipe: Recipe = make(kind, options, family, horizon)
    try:
        recipe.check(example_of(family).arms)
    except AssumptionError as error:
        raise InvalidArgument("theorem", True, f"a problem to which it applies: {error}") from error
    return recipe


def by_fields(kind: Any, options: dict[str, Any], family: Family, horizon: int) -> Recipe:
    own = {item.name: item for item in fields(kind) if item.name != "setting"}
    check_fields(kind, options, list(own))
    lam = number("regularization", options.get("regularization", 1.0), 1e-12, 1e50)
    units: Units = {
        "noise": lambda: setting_of(family, horizon).noise,
        "radius": lambda: radius(setting_of(family, horizon, lam)),
    }
    return kind(  # type: ignore[no-any-return]
        **{key: value if own[key].type is str else part(key, value, units) for key, value in options.items()}
    )


def by_theorem(kind: Any, options: dict[str, Any], family: Family, horizon: int) -> Recipe:
    if not hasattr(kind, "from_theorem"):
        raise InvalidArgument("theorem", True, f"false: no theorem here prescribes the constants of {kind.__name__}")
    taken = kind.from_theorem.__code__.co_varnames[2 : kind.from_theorem.__code__.co_argcount]
    allow(options, ["regularization", "delta", *taken], f"what {kind.__name__}.from_theorem can be told")
    constants = {key: options[key] for key in ("regularization", "delta") if key in options}
    chosen = {key: part(key, options[key], {}) for key in taken if key in options}
    try:
        return kind.from_theorem(setting_of(family, horizon, **constants), **chosen)  # type: ignore[no-any-return]
    except AssumptionError as error:
        raise InvalidArgument("theorem", True, f"a problem to which it applies: {error}") from error


def part(key: str, value: Any, units: Units) -> Any:
    """A law or a rule from its name or from a table with its `kind` and fields; a number, also from words; else as it is."""
    if isinstance(value, str) and value in LAWS:
        value = {"kind": value}
    if isinstance(value, str):
        return None if value == "none" else amount(key, value, units)  # TOML has no null
    if not isinstance(value, dict):
        return value
    name = value.get("kind")
    kind = LAWS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument(f"{key}.kind", name, known(str(name), list(LAWS)))
    options = {name: option for name, option in value.items() if name != "kind"}
    try:
        check_fields(kind, options, [item.name for item in fields(kind)])
        return kind(**{name: part(name, option, units) for name, option in options.items()})
    except InvalidArgument as error:
        raise type(error)(f"{key}.{error.argument}", error.value, error.expected) from None


def amount(key: str, words: str, units: Units) -> float:
    """A number from words such as "noise", "2 noise" or "0.5 radius"."""
    factor, _, unit = words.rpartition(" ")
    try:
        return float(factor or 1.0) * units[unit]()
    except (KeyError, ValueError):
        expected = f"a number, or one with a unit ({', '.join(units)})" if units else "a number or the name of a law"
        raise WrongType(key, words, expected) from None


def check_fields(kind: Any, options: dict[str, Any], known_fields: list[str]) -> None:
    allow(options, known_fields, f"a field of {kind.__name__}")
    for item in fields(kind):
        if item.default is MISSING and item.name not in options:
            raise InvalidArgument(item.name, None, f"to be given: {kind.__name__} needs it")


def allow(options: dict[str, Any], allowed: list[str], expected: str) -> None:
    for key, value in options.items():
        if key not in allowed:
            raise InvalidArgument(key, value, f"{expected}: {known(key, allowed)}")
