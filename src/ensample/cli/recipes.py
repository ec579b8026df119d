"""Recipes and laws as one types them."""

import inspect
import os
import sys
from typing import Any

import ensample as es
from ensample.codec import Units, from_text
from ensample.registry import public_classes

RECIPES = public_classes(es.Recipe)


def looks_like_a_recipe(text: str) -> bool:
    """Return True if a policy is meant as a recipe rather than as a short name."""
    return text in RECIPES or any(sign in text for sign in "(:.")


def build(text: str, setting: es.Setting) -> es.Recipe:
    """Return the recipe of a text, with `noise` and `radius` (beta_T of the theorems) of a setting.

    >>> setting = es.Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1)
    >>> build("EnsembleSampling(size=20, scale=2*noise, member=RoundRobin())", setting).scale
    0.6
    """
    find_here()
    recipe: es.Recipe = from_text("policy", text, "Recipe", units_of(setting), setting)
    return recipe


def units_of(setting: es.Setting) -> Units:
    return {"noise": lambda: setting.noise, "radius": lambda: es.theory.radius(setting)}


def find_here() -> None:
    """Let modules of the user's own lie in the current folder. Installed ones come first."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def fields_of(kind: type[Any]) -> str:
    """Return the fields of a recipe with their defaults, without the setting, which is the theorem's.

    >>> fields_of(es.PerturbedHistory)
    "scale='auto', regularization='auto', initial=None, reward=None, *, half_life=None, model=Linear()"
    """
    empty = inspect.Parameter.empty
    signature = inspect.signature(kind)
    plain = [
        item.replace(annotation=empty)
        for item in signature.parameters.values()
        if item.name != "setting"
    ]
    return str(signature.replace(parameters=plain, return_annotation=empty))[1:-1]
