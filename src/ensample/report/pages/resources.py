"""What pages are made of."""

import base64
import hashlib
from importlib.resources import files

import jinja2
from markupsafe import Markup

from ensample.report.drawing.style import variables


def resource(name: str) -> str:
    """The text of a file of `ensample.report`."""
    return files("ensample.report").joinpath(name).read_text(encoding="utf-8")


def colours() -> dict[str, str]:
    """A page's colours, light and dark, as CSS."""
    named = variables().items()
    return {
        mode: Markup("".join(f"{name}:{getattr(pair, mode)};" for name, pair in named))
        for mode in ("light", "dark")
    }


def content_policy(script: str) -> str:
    """What a browser lets the page do: nothing from elsewhere, and no script but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def environment() -> jinja2.Environment:
    """Of templates in which nothing is markup but what says so."""
    return jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
