"""Packages that some of the work needs and the base install does not have."""

from importlib import import_module
from typing import Any

from ensample.errors import InvalidArgument

__all__ = ["has", "package", "pandas_package", "require"]


def package(name: str, extra: str = "lab") -> Any:
    """A module that is, or needs, an optional dependency; where that is missing, an error says which extra brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise InvalidArgument(missing, None, f"the package {missing}: pip install 'ensample[{extra}]'") from None


def pandas_package() -> Any:
    """pandas, which no extra brings: those who ask for its frames have it."""
    try:
        return import_module("pandas")
    except ImportError:
        raise InvalidArgument("pandas", None, "the package pandas: pip install pandas") from None


def require(*packages: str, extra: str = "lab") -> None:
    """Raise, before any work is done, unless these packages can be imported."""
    for name in packages:
        package(name, extra)


def has(name: str) -> bool:
    """Whether a package can be imported."""
    try:
        import_module(name)
    except ImportError:
        return False
    return True
