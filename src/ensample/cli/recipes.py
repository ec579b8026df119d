"""Recipes as one types them: `EnsembleSampling(size=20, scale=2*noise)`, `LinUCB.from_theorem`, `mymodule:MyRecipe(size=3)`."""

import ast
from functools import partial
from typing import Any

import ensample as es
from ensample.cli.fields import Reader, dotted, find_here
from ensample.errors import InvalidArgument
from ensample.registry import import_object, one_of, public_classes

RECIPES = public_classes(es.Recipe)
LONGEST = 2000  # characters: enough for any recipe, too few to exhaust a parser
THEOREM = "from_theorem"
EXPECTED = "a recipe such as EnsembleSampling(size=20, scale=2*noise), LinUCB.from_theorem or mymodule:MyRecipe(size=3)"


def looks_like_a_recipe(text: str) -> bool:
    """Whether a policy is meant as a recipe rather than as a short name."""
    return text in RECIPES or any(sign in text for sign in "(:.")


def build(text: str, setting: es.Setting) -> es.Recipe:
    """The recipe that a text describes; `noise` and `radius` (beta_T of the theorems) in it are those of the setting.

    >>> setting = es.Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1)
    >>> build("EnsembleSampling(size=20, scale=2*noise, member=RoundRobin())", setting).scale
    0.6
    """
    reader = Reader(text, setting)
    module, node = parsed(text)
    names = dotted(node.func if isinstance(node, ast.Call) else node)
    if not names:
        raise InvalidArgument("policy", text, EXPECTED)
    thing = own(text, module, names) if module else public_object(text, names)
    if isinstance(thing, es.Recipe) and not isinstance(node, ast.Call):
        return thing
    if names[-1] == THEOREM:
        thing = partial(thing, setting)
    try:
        arguments, fields = reader.arguments(node, thing)
    except RecursionError:
        raise InvalidArgument("policy", text, f"{EXPECTED}, less deeply nested") from None
    made = reader.call(".".join(names), thing, arguments, fields)
    if not isinstance(made, es.Recipe):
        raise InvalidArgument("policy", text, f"a recipe, and this makes {made!r}")
    return made


def parsed(text: str) -> tuple[str, ast.expr]:
    """The module, if one is named, and the syntax of the rest."""
    module, colon, call = text.partition(":") if ":" in text.partition("(")[0] else ("", "", text)
    if len(text) > LONGEST or (
        colon and not all(name.isidentifier() for name in module.split("."))
    ):
        raise InvalidArgument("policy", text, EXPECTED)
    try:
        return module, ast.parse(call.strip(), mode="eval").body
    except SyntaxError as error:
        raise InvalidArgument("policy", text, f"{EXPECTED} ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError):  # null characters; too many brackets
        raise InvalidArgument("policy", text, EXPECTED) from None


def public_object(text: str, names: list[str]) -> Any:
    """A recipe of this library, or the theorem's."""
    name, *rest = names
    if name not in RECIPES:
        raise InvalidArgument("policy", text, f"a recipe: {one_of(name, list(RECIPES))}")
    if rest not in ([], [THEOREM]):
        raise InvalidArgument("policy", text, f"{name} or {name}.{THEOREM}")
    if rest and not hasattr(RECIPES[name], THEOREM):
        raise InvalidArgument(
            "policy", text, f"{name} with fields: no theorem here prescribes them"
        )
    return getattr(RECIPES[name], THEOREM) if rest else RECIPES[name]


def own(text: str, module: str, names: list[str]) -> Any:
    """Something in a module of the user's own."""
    find_here()
    try:
        return import_object("policy", f"{module}:{'.'.join(names)}")
    except InvalidArgument as error:
        raise InvalidArgument("policy", text, error.expected) from error
