"""From the words of a study file to problems and recipes."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ensample.checks import boolean
from ensample.errors import AssumptionError, InvalidArgument, WrongType
from ensample.policies import Recipe
from ensample.policies.describe import PARTS
from ensample.policies.loading import RECIPES
from ensample.problems import Family, known, problem
from ensample.problems.noise import BernoulliNoise, GaussianNoise, HeteroscedasticNoise, RademacherNoise
from ensample.theory import Setting, radius

__all__ = ["build_problem", "build_recipe", "setting_of"]

KINDS: dict[str, type[Recipe]] = {kind.__name__: kind for kind in RECIPES}
LAWS = {kind: PARTS[kind] for kind in PARTS if kind != "Setting"} | {
    kind.__name__: kind for kind in (GaussianNoise, BernoulliNoise, RademacherNoise, HeteroscedasticNoise)
}
THEOREM_KEYS = ("delta", "regularization", "perturbation", "member")


def build_problem(table: dict[str, Any]) -> Family:
    """`family` and its options."""
    options = {key: part(key, value) for key, value in table.items() if key != "family"}
    return problem(table["family"], **options)


def setting_of(family: Family, horizon: int, regularization: float = 1.0, delta: float = 0.05) -> Setting:
    """The constants of a family: every draw has the same."""
    setting = family.draw(np.random.default_rng(0)).setting(horizon, regularization, delta)
    return replace(setting, norm=round(setting.norm, 12))  # |theta| = 1 up to rounding


def build_recipe(table: dict[str, Any], family: Family, horizon: int) -> Recipe:
    """`recipe` and its fields; with `theorem = true` the constants that its theorem prescribes for this problem."""
    name = table["recipe"]
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument("recipe", name, known(str(name), list(KINDS)))
    options = {key: value for key, value in table.items() if key not in ("recipe", "theorem")}
    theorem = boolean("theorem", table.get("theorem", False))
    allowed = list(THEOREM_KEYS) if theorem else [item.name for item in fields(kind) if item.name != "setting"]  # type: ignore[arg-type]
    for key in options:
        if key not in allowed:
            raise InvalidArgument(key, options[key], f"a field of {name}: {known(key, allowed)}")
    if theorem:
        recipe = from_theorem(kind, options, family, horizon)
    else:
        units = unit_values(family, horizon, options)
        words = [item.name for item in fields(kind) if item.type is str]  # type: ignore[arg-type]
        recipe = construct(
            kind,
            {key: value if key in words else amount(key, part(key, value, units), units) for key, value in options.items()},
        )
    recipe.check(family.draw(np.random.default_rng(0)).arms)
    return recipe


def construct(kind: type[Any], options: dict[str, Any]) -> Any:
    needed = [item.name for item in fields(kind) if item.name == "size" and "size" not in options]
    if needed:
        raise InvalidArgument("size", None, f"the number of members, which {kind.__name__} needs")
    return kind(**options)


def from_theorem(kind: type[Any], options: dict[str, Any], family: Family, horizon: int) -> Recipe:
    if not hasattr(kind, "from_theorem"):
        raise InvalidArgument("theorem", True, f"false: no theorem here prescribes the constants of {kind.__name__}")
    constants = {key: options[key] for key in ("regularization", "delta") if key in options}
    chosen = {key: part(key, options[key]) for key in ("perturbation", "member") if key in options}
    try:
        return kind.from_theorem(setting_of(family, horizon, **constants), **chosen)  # type: ignore[no-any-return]
    except AssumptionError as error:
        raise InvalidArgument("theorem", True, f"a problem to which the theorem applies: {error}") from error
    except TypeError as error:
        raise InvalidArgument("theorem", options, f"what {kind.__name__}.from_theorem takes: {error}") from error


Units = dict[str, Callable[[], float]]


def unit_values(family: Family, horizon: int, options: dict[str, Any]) -> Units:
    """What a number may be given in: `noise` is sigma of the problem, `radius` is beta_T of the theorems."""
    lam = options.get("regularization", 1.0)
    return {
        "noise": lambda: setting_of(family, horizon).noise,
        "radius": lambda: radius(setting_of(family, horizon, lam)),
    }


def amount(key: str, value: Any, units: Units) -> Any:
    """A number as it is, or from words such as "noise", "2 noise" or "0.5 radius"; any other value as it is."""
    if not isinstance(value, str):
        return value
    *factor, unit = value.split() or [""]
    if unit in units and len(factor) <= 1:
        try:
            return float(factor[0] if factor else 1.0) * units[unit]()
        except ValueError:
            pass
    raise WrongType(key, value, f"a number, or a number and a unit ({', '.join(units)}) such as '2 noise'")


def part(key: str, value: Any, units: Units | None = None) -> Any:
    """A law or a member rule from its name, or from a table with its `kind` and fields."""
    if isinstance(value, str) and value in LAWS:
        value = {"kind": value}
    if not isinstance(value, dict):
        return value
    name = value.get("kind")
    kind = LAWS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument(f"{key}.kind", name, known(str(name), list(LAWS)))
    allowed = [item.name for item in fields(kind)]
    options = {name: option for name, option in value.items() if name != "kind"}
    for name in options:
        if name not in allowed:
            raise InvalidArgument(f"{key}.{name}", options[name], f"a field of {kind.__name__}: {known(name, allowed)}")
    try:
        return kind(**{name: amount(name, option, units or {}) for name, option in options.items()})
    except InvalidArgument as error:
        raise InvalidArgument(f"{key}.{error.argument}", error.value, error.expected) from error
