"""Names of objects: `LinUCB` is ours, `mymodule:MyRecipe` somebody else's.

Ours are the public names of `__init__.pyi`: a recipe, a law, a rule, a noise or a problem is known
to snapshots, studies and the command line as soon as it has its line there. A namesake of ours in
another module has a colon in its name.
"""

import difflib
import inspect
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ensample.errors import InvalidArgument
from ensample.names import HOMES


def public_object(name: str) -> Any:
    """Return the object of a public name of ours, or None. Only our modules are imported."""
    return getattr(import_module(HOMES[name]), name) if name in HOMES else None


@cache
def public_classes(*bases: type) -> dict[str, type[Any]]:
    """Return our classes derived from these, in alphabetical order, without abstract ones.

    They are in the packages of their bases.
    """
    packages = {package_of(base.__module__) for base in bases}
    names = [name for name, home in HOMES.items() if package_of(home) in packages]
    things = {name: public_object(name) for name in sorted(names, key=str.lower)}
    return {
        name: thing
        for name, thing in things.items()
        if isinstance(thing, type) and issubclass(thing, bases) and not inspect.isabstract(thing)
    }


def package_of(module: str) -> str:
    """Return the part that a module belongs to: "policies" of "ensample.policies.linucb"."""
    return module.split(".")[1] if "." in module else ""


def is_ours(thing: Any) -> bool:
    """Return True if one of our public names stands for this class or function."""
    name, module = getattr(thing, "__qualname__", ""), getattr(thing, "__module__", "")
    return HOMES.get(name) == module and getattr(sys.modules.get(module), name, None) is thing


def name_of(thing: Any) -> str:
    """The public name of a class or function of ours; of others `module:Name`.

    >>> from ensample.perturbations import Gaussian
    >>> name_of(Gaussian), name_of(HOMES.__class__)
    ('Gaussian', 'builtins:dict')
    """
    return thing.__qualname__ if is_ours(thing) else f"{thing.__module__}:{thing.__qualname__}"


def has_plain_constructor(kind: type) -> bool:
    """Return True if the fields define a dataclass: no subclass has an `__init__`."""
    maker = next(owner for owner in kind.__mro__ if "__init__" in vars(owner))
    return "__dataclass_fields__" in vars(maker)


def loaded_object(name: str) -> Any:
    """Return the object `module:Name` if its module is imported already, else None.

    For names in files of unknown origin: nothing is imported, and no code runs to find out.
    """
    module, _, path = name.partition(":")
    thing: Any = sys.modules.get(module)
    for part in path.split("."):
        if not isinstance(thing, ModuleType | type):
            return None
        thing = object.__getattribute__(thing, "__dict__").get(part)
    return thing


def import_object(argument: str, name: str) -> Any:
    """Import the object of `module:Name`, a name that must come from the user.

    >>> import_object("law", "math:tau")
    6.283185307179586
    """
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise InvalidArgument(
            argument, name, "the name of something in a module, such as mymodule:MyRecipe"
        )
    try:
        thing: Any = import_module(module)
    except Exception as error:  # whatever a module does when it is imported
        expected = f"a module that can be imported ({type(error).__name__}: {error})"
        raise InvalidArgument(argument, name, expected) from error
    for part in path.split("."):
        if not hasattr(thing, part):
            there = [item for item in getattr(thing, "__dict__", {}) if not item.startswith("_")]
            raise InvalidArgument(argument, name, f"a name that is there: {one_of(part, there)}")
        thing = getattr(thing, part)
    return thing


def one_of(name: str, names: list[str]) -> str:
    """The known names, and the nearest of them where one is near.

    >>> one_of("spere", ["sphere", "adversarial-duplicates"])
    "one of sphere, adversarial-duplicates (did you mean 'sphere'?)"
    >>> one_of("gaussian-process", ["sphere", "adversarial-duplicates"])
    'one of sphere, adversarial-duplicates'
    """
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"one of {', '.join(names)}{hint}"
