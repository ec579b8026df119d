"""Optional packages, which the base installation does not have."""

import shlex
from importlib import import_module
from typing import Any

from ensample.errors import MissingPackage

DISTRIBUTIONS = {
    "faiss": "faiss-cpu",
    "markdown_it": "markdown-it-py",
    "openfeature": "openfeature-sdk",
    "prometheus_client": "prometheus-client",
    "psycopg": "psycopg[binary]",
    "psycopg_pool": "psycopg-pool",
    "sklearn": "scikit-learn",
    "tomli_w": "tomli-w",
}
"""Distribution names of packages imported under another name."""


def package(name: str, user: str) -> Any:
    """Import a module that is, or needs, an optional package; the error names `user`."""
    require(name, user=user)
    return import_module(name)


def pandas_package() -> Any:
    """Return pandas, which no extra has."""
    return package("pandas", "a frame of pandas")


def require(*names: str, user: str) -> None:
    """Raise, before any work, unless all of these can be imported; the error names `user`.

    >>> require("numpy", "no_such_package", user="ensample race")
    Traceback (most recent call last):
    ...
    ensample.errors.MissingPackage: ensample race needs no_such_package: pip install no_such_package
    """
    missing = [absent for absent in map(missing_package, names) if absent]
    if missing:
        packages = tuple(dict.fromkeys(missing))
        raise MissingPackage(user, packages, install_command(*packages))


def missing_package(name: str) -> str:
    """Return the package without which a module cannot be imported, or nothing."""
    try:
        import_module(name)
    except ImportError as error:
        return (error.name or name).partition(".")[0]
    return ""


def install_command(*packages: str) -> str:
    """Return the command that installs packages, given by their import names.

    >>> install_command("polars", "psycopg")
    "pip install polars 'psycopg[binary]'"
    """
    return shlex.join(["pip", "install", *(DISTRIBUTIONS.get(name, name) for name in packages)])


def has(name: str) -> bool:
    """Return True if a package can be imported."""
    try:
        import_module(name)
    except ImportError:
        return False
    return True
