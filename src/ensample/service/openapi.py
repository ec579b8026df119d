"""The OpenAPI 3.1 document of the routes, made from their types."""

import re
from typing import Any

import msgspec

from ensample.service.calls import Each, Route
from ensample.service.messages import Refused
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


def openapi_document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """By path and method; everything may be refused as `Refused` says."""
    named = (
        of(kind)
        for route in routes
        for kind in (route.takes, route.gives, refusal_type(route))
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


def refusal_type(route: Route) -> Any:
    return Refused if route.dialect is None else route.dialect.type


def operation(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": route.says, "operationId": operation_id(route)}
    found["parameters"] = [in_path(name) for name in PART.findall(route.path)] + [
        in_query(query) for query in route.query
    ]
    if route.role is not None:
        found["security"] = [{"bearer": []}, {"header": []}]
        found["description"] = f"Role: {route.role}."
    if route.takes is not None:
        found["requestBody"] = {"required": True, "content": taken(route, known)}
    found["responses"] = responses(route, known)
    return found


def operation_id(route: Route) -> str:
    """The handler's name, which no two share."""
    return str(getattr(route.handler, "__name__", route.title))


def in_path(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1},
    }


def in_query(query: Any) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(query.allowed), "default": query.allowed[0]}
    return {
        "name": query.name,
        "in": "query",
        "required": False,
        "description": query.says,
        "schema": schema,
    }


def taken(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """With an example, where there is one."""
    found = content(route.takes, known)
    if route.example is not None:
        found["application/json"]["example"] = route.example
    return found


def content(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {}}
    schema = known[repr(of(kind))]
    if isinstance(kind, Each):
        many = {"type": "array", "items": {"anyOf": [schema, known[repr(Refused)]]}}
        schema = {"anyOf": [schema, many]} if kind.alone else many
    return {"application/json": {"schema": schema}}


def responses(route: Route, known: dict[str, Any]) -> dict[str, Any]:
    """What a route gives; what it may refuse."""
    good = {route.status, *(status for status in route.others if status < 400)}
    bad = {400, 403, *(status for status in route.others if status >= 400)}
    bad |= {401} if route.role is not None else set()
    bad |= {408, 413, 415, 422} if route.takes is not None else set()
    bad |= {422} if route.query or "{id" in route.path else set()
    bad |= {503} if "{experiment}" in route.path or route.takes is not None else set()
    if route.dialect is not None:
        bad = {route.dialect.status(status) for status in bad}
    refused = {"description": "", "content": content(refusal_type(route), known)}
    found = {str(status): done(route, status, known) for status in sorted(good)}
    if route.path == "/readyz":
        bad -= {503}
        found["503"] = {"description": MEANING[503], "content": content(route.gives, known)}
    return found | {
        str(status): refused | {"description": MEANING[status]} for status in sorted(bad)
    }


def done(route: Route, status: int, known: dict[str, Any]) -> dict[str, Any]:
    if route.gives is None or status == 304:
        return {"description": MEANING.get(status, "It is done.")}
    return {"description": "It is done.", "content": content(route.gives, known)}
