"""The OpenAPI 3.1 document of the routes, made from their types."""

import re
from typing import Any

import msgspec

from ensample.service.endpoint import Each, Route
from ensample.service.schemas import Refused
from ensample.version import __version__

REF = "#/components/schemas/{name}"
PART = re.compile(r"\{(\w+)(?::\w+)?\}")
MEANING = {
    201: "It is new.",
    304: "It is what you have.",
    400: "It cannot be read.",
    401: "A key is missing, or is not one of this service.",
    403: "The key is for something else.",
    404: "There is none of this name.",
    408: "It came too slowly.",
    409: "It is there already, and is another; or it is paused.",
    413: "It is too long.",
    415: "It is no JSON.",
    422: "It says something that cannot be.",
    503: "Nothing can be kept at the moment.",
}

EXAMPLES: dict[str, Any] = {
    "put_experiment": {"actions": ["a", "b"], "reward": {"low": 0, "high": 1}},
    "decide": {"id": "q1", "context": {"age": 31, "device": "phone"}},
    "reward": {"value": 1},
    "reward_all": [{"id": "q1", "value": 1}],
    "activate_all": [{"id": "q1"}],
    "event": {"experiment": "shop", "targetingKey": "ann", "value": 1},
    "evaluate": {"policies": ["uniform", "action:b"]},
    "change_actions": {"add": ["c"], "remove": ["a"]},
    "pause": {"paused": False},
    "evaluate_flag": {"context": {"targetingKey": "ann", "age": 31}},
    "evaluate_flags": {"context": {"targetingKey": "ann"}},
    "rank": {
        "eventId": "q1",
        "actions": [{"id": "a", "features": [{"price": 3}]}],
        "contextFeatures": [{"age": 31}],
    },
    "reward_event": {"value": 1},
}
"""Bodies by the name of the handler."""


def openapi_document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Return the document of a table of routes."""
    named = [of(kind) for route in routes for kind in (route.takes, route.gives, error_type(route))]
    types = {repr(kind): kind for kind in (Refused, *named) if not isinstance(kind, str | None)}
    schemas, components = msgspec.json.schema_components(types.values(), ref_template=REF)
    known = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        place = paths.setdefault(PART.sub(r"{\1}", route.path), {})
        place[route.method.lower()] = operation(route, known)
    description = "Decisions that learn from their rewards."
    return {
        "openapi": "3.1.0",
        "info": {"title": "ensample", "version": __version__, "description": description},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SECURITY},
    }


SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def of(kind: Any) -> Any:
    return kind.of if isinstance(kind, Each) else kind


def error_type(route: Route) -> Any:
    return Refused if route.errors is None else route.errors.type


def operation(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a route. `known`: schemas by the representation of their types."""
    name = str(getattr(route.handler, "__name__", route.title))
    found: dict[str, Any] = {"summary": route.summary, "operationId": name}
    text = {"type": "string", "minLength": 1}
    found["parameters"] = [
        {"name": part, "in": "path", "required": True, "schema": text}
        for part in PART.findall(route.path)
    ]
    if (query := route.query) is not None:
        schema = {"type": "string", "enum": list(query.allowed), "default": query.allowed[0]}
        parameter = {"name": query.name, "in": "query", "required": False, "schema": schema}
        found["parameters"].append(parameter | {"description": query.summary})
    if route.role is not None:
        found["security"] = [{"bearer": []}, {"header": []}]
        found["description"] = f"Role: {route.role}."
    if route.takes is not None:
        body = content(route.takes, known)
        if name in EXAMPLES:
            body["application/json"]["example"] = EXAMPLES[name]
        found["requestBody"] = {"required": True, "content": body}
    return found | {"responses": responses(route, known)}


def content(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {}}
    schema = known[repr(of(kind))]
    if isinstance(kind, Each):
        many = {"type": "array", "items": {"anyOf": [schema, known[repr(Refused)]]}}
        schema = {"anyOf": [schema, many]} if kind.alone else many
    return {"application/json": {"schema": schema}}


def responses(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """Return the answers of a route, and its errors, by status."""
    found: dict[str, Any] = {}
    for status in sorted({route.status, *(status for status in route.others if status < 400)}):
        if route.gives is None or status == 304:
            found[str(status)] = {"description": MEANING.get(status, "It is done.")}
        else:
            found[str(status)] = {"description": "It is done."}
            found[str(status)]["content"] = content(route.gives, known)
    for status in sorted(error_statuses(route)):
        kind = route.gives if route.path == "/readyz" and status == 503 else error_type(route)
        found[str(status)] = {"description": MEANING[status], "content": content(kind, known)}
    return found


def error_statuses(route: Route) -> set[int]:
    found = {400, 403, *(status for status in route.others if status >= 400)}
    if "{experiment}" in route.path:
        found |= {503} if route.method == "PUT" else {404, 503}
    if route.role is not None:
        found |= {401}
    if route.takes is not None:
        found |= {408, 413, 415, 422, 503}
    if route.query is not None or "{id" in route.path:
        found |= {422}
    return found if route.errors is None else set(map(route.errors.status, found))
