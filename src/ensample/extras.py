"""Packages that some of the work needs and the base install does not have."""

from importlib import import_module

from ensample.errors import InvalidArgument

__all__ = ["has", "require"]


def require(*packages: str, extra: str = "lab") -> None:
    """Raise, before any work is done, unless these packages can be imported."""
    for package in packages:
        if not has(package):
            raise InvalidArgument(package, None, f"the package {package}: pip install 'ensample[{extra}]'")


def has(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True
