"""The OpenAPI 3.1 document of the routes, made from their types."""

import re
from typing import Any

import msgspec

from ensample.service.endpoint import Each, Query, Route
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
    named = (
        of(kind)
        for route in routes
        for kind in (route.takes, route.gives, error_type(route))
        if is_type(kind)
    )
    types = list({repr(kind): kind for kind in (Refused, *named)}.values())
    schemas, components = msgspec.json.schema_components(types, ref_template=REF)
    known = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        place = paths.setdefault(PART.sub(r"{\1}", route.path), {})
        place[route.method.lower()] = operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ensample",
            "version": __version__,
            "description": "Decisions that learn from their rewards.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SCHEMES},
    }


SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def of(kind: Any) -> Any:
    return kind.of if isinstance(kind, Each) else kind


def is_type(kind: Any) -> bool:
    return kind is not None and not isinstance(kind, str)


def error_type(route: Route) -> Any:
    return Refused if route.errors is None else route.errors.type


def operation(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a route. `known`: schemas by the representation of their types."""
    found: dict[str, Any] = {"summary": route.summary, "operationId": operation_id(route)}
    found["parameters"] = [in_path(name) for name in PART.findall(route.path)]
    if route.query is not None:
        found["parameters"].append(in_query(route.query))
    if route.role is not None:
        found["security"] = [{"bearer": []}, {"header": []}]
        found["description"] = f"Role: {route.role}."
    if route.takes is not None:
        body = content(route.takes, known)
        if operation_id(route) in EXAMPLES:
            body["application/json"]["example"] = EXAMPLES[operation_id(route)]
        found["requestBody"] = {"required": True, "content": body}
    found["responses"] = responses(route, known)
    return found


def operation_id(route: Route) -> str:
    """Return the handler's name, which no two share."""
    return str(getattr(route.handler, "__name__", route.title))


def in_path(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def in_query(query: Query) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(query.allowed), "default": query.allowed[0]}
    found: dict[str, Any] = {"name": query.name, "in": "query", "required": False}
    return found | {"description": query.summary, "schema": schema}


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
    good = {route.status, *(status for status in route.others if status < 400)}
    found = {str(status): done(route, status, known) for status in sorted(good)}
    form = {"content": content(error_type(route), known)}
    for status in sorted(error_statuses(route)):
        found[str(status)] = {"description": MEANING[status], **form}
    if route.path == "/readyz":
        found["503"] = {"description": MEANING[503], "content": content(route.gives, known)}
    return found


def error_statuses(route: Route) -> set[int]:
    found = {400, 403, *(status for status in route.others if status >= 400)}
    if "{experiment}" in route.path and route.method != "PUT":
        found |= {404}
    if route.role is not None:
        found |= {401}
    if route.takes is not None:
        found |= {408, 413, 415, 422}
    if route.query is not None or "{id" in route.path:
        found |= {422}
    if "{experiment}" in route.path or route.takes is not None:
        found |= {503}
    return found if route.errors is None else set(map(route.errors.status, found))


def done(route: Route, status: int, known: dict[str, Any]) -> dict[str, Any]:
    if route.gives is None or status == 304:
        return {"description": MEANING.get(status, "It is done.")}
    return {"description": "It is done.", "content": content(route.gives, known)}
