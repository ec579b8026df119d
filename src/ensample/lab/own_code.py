"""The code of recipes, problems and laws that are not ours: it decides numbers as their fields do.

Ours has a version. Of others the source of the module that a class is in is what we can tell; what that module imports is not
looked at.
"""

import hashlib
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from ensample.registry import loaded_object


def code_digests(defined: Any) -> dict[str, str]:
    """By module, a digest of its source as it was when it was first asked for; ours are left out.

    >>> code_digests({"kind": "LinUCB", "model": {"kind": "Linear"}})
    {}
    """
    found = {
        name.partition(":")[0]: source_digest(name)
        for name in sorted(set(names_in(defined)))
        if ":" in name
    }
    return {module: digest for module, digest in found.items() if digest}


@cache
def source_digest(name: str) -> str:
    """Of the module that `module:Name` is in, of the class alone where that is no file (a notebook); empty if unknown."""
    thing = loaded_object(name)
    for part in (inspect.getmodule(thing), thing):
        try:
            return hashlib.sha256(inspect.getsource(part).encode()).hexdigest()[:16]  # type: ignore[arg-type]
        except (OSError, TypeError):  # it has no source that one could read
            continue
    return ""


def names_in(defined: Any) -> Iterator[str]:
    """The classes of a definition."""
    if isinstance(defined, dict):
        yield from (value for key, value in defined.items() if key in ("kind", "own"))
        defined = list(defined.values())
    if isinstance(defined, list):
        for item in defined:
            yield from names_in(item)
