"""The OpenAPI document of the service, and a page of it that needs nothing from elsewhere."""

import json
import shlex
from functools import cache
from typing import Any

from starlette.responses import Response

from ensample.service.endpoint import Call, get
from ensample.service.handlers.pages import page

EXAMPLES = {"experiment": "shop", "id": "q1", "key": "shop", "name": "style.css"}
"""Values of the parts of a path."""


@cache
def document() -> dict[str, Any]:
    from ensample.service.openapi import openapi_document
    from ensample.service.routes import ROUTES

    return openapi_document(ROUTES)


@get("/openapi.json", "read", gives=dict, checks_key=True)
async def openapi(call: Call) -> dict[str, Any]:
    """This document."""
    return document()


@get("/docs", "read", gives="text/html", page=True, checks_key=True)
async def docs(call: Call) -> Response:
    """This document as a page."""
    found, host = document(), call.headers.get("host", "127.0.0.1:8000")
    address = f"https://{host}" if call.scope["scheme"] == "https" else host
    schemas = found["components"]["schemas"]
    routes = [
        resolved(route, schemas)
        | {"method": method.upper(), "path": path}
        | {"curl": curl_line(method.upper(), address + path, route, call.key is not None)}
        for path, methods in found["paths"].items()
        for method, route in methods.items()
    ]
    return page("docs.html", version=found["info"]["version"], routes=routes)


def resolved(schema: Any, schemas: dict[str, Any]) -> Any:
    """Return a schema with what it refers to in place of the references.

    >>> resolved({"items": {"$ref": "#/components/schemas/Id"}}, {"Id": {"type": "string"}})
    {'items': {'type': 'string'}}
    """
    if isinstance(schema, list):
        return [resolved(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: resolved(item, schemas) for name, item in schema.items() if name != "$ref"}
    if "$ref" in schema:
        found = {**resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas), **found}
    return found


def curl_line(method: str, url: str, operation: dict[str, Any], has_keys: bool) -> str:
    """Return a command that calls a route."""
    words = ["curl"] if method in ("GET", "POST") else ["curl", "-X", method]
    for name, value in EXAMPLES.items():
        url = url.replace(f"{{{name}}}", value)
    words.append(shlex.quote(url))
    media = operation.get("requestBody", {}).get("content", {})
    if "application/json" in media:
        words += ["-d", shlex.quote(json.dumps(media["application/json"]["example"]))]
    elif media:
        words += ["--data-binary", "@log.jsonl"]
    elif method == "POST":
        words += ["-d", "''"]
    if has_keys and "security" in operation:
        words.append('-H "Authorization: Bearer $KEY"')
    return " ".join(words)
