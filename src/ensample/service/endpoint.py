"""Routes and how a call to one is answered: authorization, body, handler, response, log."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ensample.service.auth import Key, Role
from ensample.service.body import BodyDecoder, read_body
from ensample.service.errors import HTTPError, http_error
from ensample.service.journal import traceparent
from ensample.service.service import Service

COMMON = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def raw_headers(policy: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response, with a content security policy."""
    headers = COMMON | {"content-security-policy": policy}
    return [(name.encode(), value.encode()) for name, value in headers.items()]


API_HEADERS, PAGE_HEADERS = raw_headers(API_POLICY), raw_headers(PAGE_POLICY)


class Call:
    """A request, as handlers get it.

    What a handler puts into `log` is in the log's line of the call.
    """

    __slots__ = ("body", "headers", "key", "log", "path", "scope", "service")

    def __init__(self, service: Service, scope: Scope) -> None:
        self.service, self.scope = service, scope
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in reversed(scope["headers"])
        }
        self.path: dict[str, str] = scope["path_params"]
        self.key: Key | None = None
        self.body: Any = None
        self.log: dict[str, Any] = {}

    def query(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a parameter of the query: one of `allowed`, the first by default."""
        found = QueryParams(self.scope["query_string"]).get(name, allowed[0])
        if found not in allowed:
            raise HTTPError(422, f"{name}: expected one of {', '.join(allowed)}", argument=name)
        return found


Handler = Callable[[Call], Awaitable[Any]]


class Each(NamedTuple):
    """The answer to a batch: an array of these or of errors.

    `alone`: a single question has one by itself.
    """

    of: Any
    alone: bool = False


class Query(NamedTuple):
    """A parameter of the query."""

    name: str
    allowed: tuple[str, ...]
    summary: str


class ErrorFormat(NamedTuple):
    """The errors of a foreign protocol."""

    type: Any  # of the body
    body: Callable[[HTTPError, Call], Any]
    statuses: dict[int, int]  # statuses that the protocol does not have, and what it has instead

    def status(self, status: int) -> int:
        return self.statuses.get(status, status)


@dataclass(frozen=True)
class Route:
    """An address with its handler. The keys' roles and the OpenAPI document are made from these."""

    method: str
    path: str
    role: Role | None  # None: no key is needed
    handler: Handler
    takes: Any = None  # the type of the body
    gives: Any = None  # the type of the answer, or its content type
    raw: bool = False  # whether the body is bytes, and `takes` their content type
    status: int = 200
    others: tuple[int, ...] = ()  # statuses beside those that every route may have
    query: Query | None = None
    page: bool = False  # whether it is for browsers
    name: str = "experiment"  # the part of the path that names an experiment
    checks_key: bool = False  # whether the handler itself compares the key's experiment
    errors: ErrorFormat | None = None  # where they are not ours

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.handler) or "").partition("\n\n")[0].replace("\n", " ")


def route(
    method: str, path: str, role: Role | None, takes: Any = None, gives: Any = None, **details: Any
) -> Callable[[Handler], Route]:
    """Make a route of the handler that follows. `details` are the other fields of `Route`."""
    return lambda handler: Route(method, path, role, handler, takes, gives, **details)


get, post, put = (partial(route, method) for method in ("GET", "POST", "PUT"))


class Endpoint:
    """ASGI endpoint of a route.

    Converts every exception to a response, so that no middleware has to.
    """

    def __init__(self, route: Route, service: Service) -> None:
        self.route, self.service, self.title = route, service, route.title
        self.headers = PAGE_HEADERS if route.page else API_HEADERS
        self._decode = None if route.raw or route.takes is None else BodyDecoder(route.takes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        route, call = self.route, Call(self.service, scope)
        experiment = call.path.get(route.name)
        try:
            call.key = self.service.auth.authorize(route, scope["method"], call.headers, experiment)
            if route.takes is not None:
                call.body = await self._body(call, receive)
            answer = await route.handler(call)
            is_whole = isinstance(answer, Response)
            response = answer if is_whole else json_response(answer, route.status)
            response.raw_headers += self.headers
        except Exception as error:
            response = self._error(error, call)
            response.raw_headers += API_HEADERS
        seconds = time.perf_counter() - start
        try:
            await response(scope, receive, send)
        finally:
            self.service.metrics.count_call(self.title, response.status_code, seconds)
            self.service.journal.write(
                "info",
                "call",
                route=self.title,
                status=response.status_code,
                ms=round(seconds * 1e3, 3),
                key=None if call.key is None else call.key.id,
                traceparent=traceparent(call.headers.get("traceparent")),
                **{"experiment": experiment, **call.log},
            )

    async def _body(self, call: Call, receive: Receive) -> Any:
        settings = self.service.settings
        try:
            async with asyncio.timeout(settings.patience):
                body = await read_body(receive, call.headers, settings.body)
        except TimeoutError:
            raise HTTPError(408, f"expected the body within {settings.patience} seconds") from None
        return body if self._decode is None else self._decode(call.headers, body)

    def _error(self, error: Exception, call: Call) -> Response:
        found = http_error(error)
        if found is None:
            self.service.journal.error("mistake", error, route=self.title)
            found = HTTPError(500, "a mistake of the service: its log says where")
        call.log["refused"] = found.code
        form = self.route.errors
        if form is None:
            return json_response(found.body(), found.status, found.headers)
        return json_response(form.body(found, call), form.status(found.status), found.headers)


def json_response(
    content: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(msgspec.json.encode(content), status, headers, "application/json")
