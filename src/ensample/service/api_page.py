"""The routes as the page /docs shows them: a curl line each, and schemas without references."""

import json
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

PARTS = {"experiment": "shop", "id": "q1", "key": "shop", "name": "style.css"}
"""Example values of the parts of a path."""


class ShownRoute(NamedTuple):
    """A route of the OpenAPI document."""

    id: str
    method: str
    path: str
    summary: str
    curl: str
    takes: dict[str, Any]  # schemas by content type
    answers: dict[
        str, tuple[str, dict[str, Any]]
    ]  # by status: its description, schemas by content type


def shown_routes(document: dict[str, Any], address: str, has_keys: bool) -> Iterator[ShownRoute]:
    """Yield the routes of a document in its order; `address` is that of the service."""
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            answers = {
                status: (
                    answer["description"],
                    contents(answer, schemas) if int(status) < 300 else {},
                )
                for status, answer in route["responses"].items()
            }
            summary = f"{route['summary']} {route.get('description', 'No key is asked for.')}"
            curl = curl_line(
                method.upper(), address + path, route, has_keys and "security" in route
            )
            takes = contents(route.get("requestBody", {}), schemas)
            yield ShownRoute(
                route["operationId"], method.upper(), path, summary, curl, takes, answers
            )


def contents(described: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of a body by content type."""
    return {
        kind: resolved(media.get("schema", {}), schemas)
        for kind, media in described.get("content", {}).items()
    }


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


def curl_line(method: str, url: str, route: dict[str, Any], needs_key: bool) -> str:
    """Return a command that calls a route."""
    words = ["curl"] if method in ("GET", "POST") else ["curl", "-X", method]
    for name, value in PARTS.items():
        url = url.replace(f"{{{name}}}", value)
    words.append(shlex.quote(url))
    media = route.get("requestBody", {}).get("content", {})
    if "application/json" in media:
        words += ["-d", shlex.quote(json.dumps(media["application/json"]["example"]))]
    elif media:
        words += ["--data-binary", "@log.jsonl"]
    elif method == "POST":
        words += ["-d", "''"]
    if needs_key:
        words.append('-H "Authorization: Bearer $KEY"')
    return " ".join(words)
