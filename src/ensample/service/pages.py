"""Pages: templates and files that belong to them, all from this package."""

from functools import cache
from importlib.resources import files
from typing import Any

from starlette.responses import Response

from ensample.extras import package
from ensample.palette import sheet

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def environment() -> Any:
    """Everything is escaped, and a name that is not there is an error."""
    jinja2 = package("jinja2", "the dashboard")
    loader = jinja2.PackageLoader("ensample.service")
    found = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    found.filters["shortened"] = shortened
    return found


def shortened(name: str, most: int = 60) -> str:
    """
    >>> shortened("a" * 70, most=5)
    'aaaa…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def page(template: str, status: int = 200, **given: Any) -> Response:
    """A template filled in."""
    return Response(
        environment().get_template(template).render(**given),
        status,
        media_type="text/html; charset=utf-8",
    )


@cache
def known() -> dict[str, bytes]:
    """By name: nothing that is asked for becomes a path."""
    folder = files("ensample.service") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} | {
        "colours.css": sheet().encode()
    }


def static(name: str) -> Response | None:
    found, kind = known().get(name), TYPES.get(name[name.rfind(".") :])
    return None if found is None or kind is None else Response(found, 200, media_type=kind)
