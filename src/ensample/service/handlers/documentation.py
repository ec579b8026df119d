"""The OpenAPI document of the service, and a page of it that needs nothing from elsewhere."""

import json
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from starlette.responses import Response

from ensample.service.endpoint import Call, route
from ensample.service.handlers.pages import page

EXAMPLES = {"experiment": "shop", "id": "q1", "key": "shop", "name": "style.css"}
"""Values of the parts of a path."""


@cache
def document() -> dict[str, Any]:
    from ensample.service.openapi import openapi_document
    from ensample.service.routes import ROUTES

    return openapi_document(ROUTES)


@route("GET", "/openapi.json", "read", gives=dict, checks_key=True)
async def openapi(call: Call) -> dict[str, Any]:
    """This document."""
    return document()


@route("GET", "/docs", "read", gives="text/html", page=True, checks_key=True)
async def docs(call: Call) -> Response:
    """This document as a page."""
    host = call.headers.get("host", "127.0.0.1:8000")
    address = f"https://{host}" if call.scope["scheme"] == "https" else host
    routes = list(shown_routes(document(), address, has_keys=call.key is not None))
    return page("docs.html", version=document()["info"]["version"], routes=routes)


class ShownRoute(NamedTuple):
    """A route of the document, with a curl line and schemas without references."""

    id: str
    method: str
    path: str
    summary: str
    curl: str
    takes: dict[str, Any]  # schemas by content type
    answers: dict[str, tuple[str, dict[str, Any]]]  # description and schemas, by status


def shown_routes(document: dict[str, Any], address: str, has_keys: bool) -> Iterator[ShownRoute]:
    """Yield the routes of a document in its order. `address` is that of the service."""
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            answers = {
                status: (item["description"], contents(item, schemas) if int(status) < 300 else {})
                for status, item in found["responses"].items()
            }
            needs_key = has_keys and "security" in found
            yield ShownRoute(
                found["operationId"],
                method.upper(),
                path,
                f"{found['summary']} {found.get('description', 'No key is asked for.')}",
                curl_line(method.upper(), address + path, found, needs_key),
                contents(found.get("requestBody", {}), schemas),
                answers,
            )


def contents(described: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of a body by content type."""
    content = described.get("content", {})
    return {kind: resolved(media.get("schema", {}), schemas) for kind, media in content.items()}


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


def curl_line(method: str, url: str, operation: dict[str, Any], needs_key: bool) -> str:
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
    if needs_key:
        words.append('-H "Authorization: Bearer $KEY"')
    return " ".join(words)
