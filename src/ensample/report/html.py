"""Parts that all pages share: style sheet, colours, template environment, security policy."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from ensample.palette import sheet
from ensample.version import __version__


def resource(name: str) -> str:
    """Return the text of a file of `ensample.report`."""
    return files("ensample.report").joinpath(name).read_text(encoding="utf-8")


def render(template: str, css: str = "", filters: dict[str, Any] | None = None, **data: Any) -> str:
    """Return a page that needs no other file; in templates only `Markup` is taken for markup."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.loader = jinja2.PackageLoader("ensample", "report")
    environment.filters |= filters or {}
    css = Markup(sheet() + resource("page.css") + css)
    return environment.get_template(template).render(css=css, version=__version__, **data)


def content_policy(script: str) -> str:
    """Return what a browser lets the page do: load nothing, and run no script but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
