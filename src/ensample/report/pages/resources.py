"""What pages are made of."""

from importlib.resources import files

from markupsafe import Markup

from ensample.report.drawing.style import variables

__all__ = ["colours", "resource"]


def resource(name: str) -> str:
    """The text of a file of this package."""
    return files("ensample.report").joinpath(name).read_text(encoding="utf-8")


def colours() -> dict[str, str]:
    """A page's colours, light and dark, as CSS."""
    named = variables().items()
    return {mode: Markup("".join(f"{name}:{getattr(pair, mode)};" for name, pair in named)) for mode in ("light", "dark")}
