"""From a request to an answer: who calls, what it says, what the handler makes of it, what is logged of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ensample.service.bodies import decoded, whole_body
from ensample.service.journal import traceparent
from ensample.service.keys import Key, Role
from ensample.service.refusals import Refusal, refusal_of
from ensample.service.service import Service

API_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PAGE_HEADERS = {**API_HEADERS, "content-security-policy": PAGE_POLICY}
JSON_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {"content-type": "application/json", **API_HEADERS}.items()
]


class Call:
    """What a handler is given. `noted` goes into the log."""

    __slots__ = ("body", "headers", "key", "noted", "parts", "scope", "service")

    def __init__(self, service: Service, scope: Scope) -> None:
        self.service, self.scope = service, scope
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in reversed(scope["headers"])
        }
        self.parts: dict[str, str] = scope["path_params"]
        self.key: Key | None = None
        self.body: Any = None
        self.noted: dict[str, Any] = {}

    def path(self, name: str) -> str:
        return self.parts[name]

    def query(self, name: str, allowed: tuple[str, ...]) -> str:
        """A word of the address's query: one of these, the first unless it says."""
        found = QueryParams(self.scope["query_string"]).get(name, allowed[0])
        if found not in allowed:
            raise Refusal(422, f"{name}: expected one of {', '.join(allowed)}", argument=name)
        return found


class Answer(NamedTuple):
    """With a status of its own."""

    status: int
    content: Any


Handler = Callable[[Call], Awaitable[Any]]


class Each(NamedTuple):
    """What a batch gives: an array of these, or of refusals; `alone` where a single question has one of them by itself."""

    of: Any
    alone: bool = False


class Query(NamedTuple):
    """A word of the address's query."""

    name: str
    allowed: tuple[str, ...]
    says: str


class Dialect(NamedTuple):
    """How a protocol of others says that a call is refused."""

    type: Any  # of the body
    body: Callable[[Refusal, Call], Any]
    statuses: dict[int, int]  # those that it does not have, and what it has instead

    def status(self, status: int) -> int:
        return self.statuses.get(status, status)


class Route(NamedTuple):
    """A row of the table in routes.py, from which come the addresses, the keys' roles and the OpenAPI document."""

    method: str
    path: str
    role: Role | None  # None: whoever calls
    handler: Handler
    says: str
    takes: Any = None  # the type of the body
    example: Any = None  # of a body
    gives: Any = None  # the type of the answer, or its content type
    status: int = 200
    others: tuple[int, ...] = ()  # beside what every route may answer
    query: tuple[Query, ...] = ()
    raw: bool = False  # whether the body is bytes
    page: bool = False  # for browsers
    name: str = "experiment"  # of the path's part that a key may be bound to
    bound: bool = False  # whether the handler sees to it that a bound key has what it may have
    dialect: Dialect | None = None  # of refusals, where it is not ours

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"


class Endpoint:
    """A route at work. Whatever goes wrong is an answer too, so that nothing need be around it to catch it."""

    def __init__(self, route: Route, service: Service) -> None:
        self.route, self.service = route, service
        self.takes = None if route.raw else route.takes
        self.headers = PAGE_HEADERS if route.page else API_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        route, service, call = self.route, self.service, Call(self.service, scope)
        try:
            call.key = service.gate.admit(
                scope["method"], call.headers, route.role, route.page, subject(route, call)
            )
            call.body = await self._body(call, receive)
            response = as_response(await route.handler(call), route)
        except Exception as error:
            response = refused(error, call, route)
        if type(response) is not JSONAnswer:
            response.headers.update(self.headers)
        seconds = time.perf_counter() - start
        try:
            await response(scope, receive, send)
        finally:
            told(call, route, response.status_code, seconds)

    async def _body(self, call: Call, receive: Receive) -> Any:
        """As the route takes it; a route that takes none does not look at it."""
        if self.takes is None and not self.route.raw:
            return None
        settings = self.service.settings
        try:
            async with asyncio.timeout(settings.patience):
                body = await whole_body(receive, call.headers, settings.body)
        except TimeoutError:
            raise Refusal(408, f"expected the body within {settings.patience} seconds") from None
        return body if self.takes is None else decoded(call.headers, body, self.takes, settings)


def subject(route: Route, call: Call) -> str | None:
    """The experiment that a call is about, for keys that are good for one only."""
    if route.bound:
        key = call.service.gate.caller(call.headers, route.page)
        return None if key is None else key.experiment
    return call.parts.get(route.name)


def as_response(found: Any, route: Route) -> Response:
    if isinstance(found, Response):
        return found
    if isinstance(found, Answer):
        return json_response(found.content, found.status)
    return json_response(found, route.status)


class JSONAnswer(Response):
    """With the headers that all of them have."""

    def __init__(self, content: Any, status: int) -> None:
        self.status_code, self.background = status, None
        self.body = msgspec.json.encode(content)
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), *JSON_HEADERS]


def json_response(
    content: Any, status: int = 200, headers: dict[str, str] | None = None
) -> JSONAnswer:
    response = JSONAnswer(content, status)
    if headers:
        response.headers.update(headers)
    return response


def refused(error: Exception, call: Call, route: Route) -> Response:
    refusal = refusal_of(error)
    if refusal is None:
        call.service.journal.error("mistake", error, route=route.title)
        refusal = Refusal(500, "a mistake of the service: its log says where")
    call.noted["refused"] = refusal.code
    dialect = route.dialect
    if dialect is None:
        return json_response(refusal.body(), refusal.status, refusal.headers)
    return json_response(
        dialect.body(refusal, call), dialect.status(refusal.status), refusal.headers
    )


def told(call: Call, route: Route, status: int, seconds: float) -> None:
    """To the log and to the metrics."""
    service = call.service
    service.metrics.call(route.title, status, seconds)
    service.journal.info(
        "call",
        route=route.title,
        status=status,
        ms=round(seconds * 1e3, 3),
        key=None if call.key is None else call.key.id,
        traceparent=traceparent(call.headers.get("traceparent")),
        **{"experiment": call.parts.get(route.name), **call.noted},
    )
