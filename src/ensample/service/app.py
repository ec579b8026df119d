"""The ASGI application: Starlette's router with the routes of the table, and CORS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from ensample.service.endpoint import API_HEADERS, Endpoint, json_response
from ensample.service.errors import HTTPError
from ensample.service.protocols import personalizer
from ensample.service.routes import ROUTES
from ensample.service.service import Service

CORS_HEADERS = [
    "authorization",
    "content-type",
    "x-api-key",
    "ocp-apim-subscription-key",
    "if-none-match",
    "traceparent",
]


def application(service: Service) -> Router:
    """Return the application, which opens the service at its start and closes it at its end."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path.startswith("//"):  # clients join "http://host/" and "/path"
            await router.app({**scope, "path": "/" + path.lstrip("/")}, receive, send)
        elif path.startswith("/personalizer/"):
            message = "of Personalizer only rank, reward and activate of v1.0 are here"
            body = personalizer.error_body(HTTPError(404, f"{message}: no multi-slot ranking"))
            await send_error(body, 404)(scope, receive, send)
        else:
            error = HTTPError(404, "expected an address of this service: see /openapi.json")
            await send_error(error.body(), 404)(scope, receive, send)

    routes = [
        JSONRoute(route.path, Endpoint(route, service), methods=[route.method], name=route.title)
        for route in ROUTES
    ]
    router = Router(routes, default=not_found, lifespan=lifespan, middleware=cors(service))
    return router


def cors(service: Service) -> list[Middleware]:
    """Return middleware for pages of the origins in the setting `cors`."""
    origins = list(service.settings.cors)
    given: dict[str, Any] = {"allow_methods": ["GET", "POST", "PUT"], "allow_headers": CORS_HEADERS}
    return [Middleware(CORSMiddleware, allow_origins=origins, **given)] if origins else []


class JSONRoute(StarletteRoute):
    """Route whose error of a wrong method is JSON."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or ()):
            await self.app(scope, receive, send)
            return
        body = HTTPError(405, "expected another method at this address").body()
        allow = {"Allow": ", ".join(sorted(self.methods or ()))}
        await send_error(body, 405, allow)(scope, receive, send)


def send_error(body: Any, status: int, headers: dict[str, str] | None = None) -> Any:
    """Return the response of an error outside of all routes."""
    response = json_response(body, status, headers)
    response.raw_headers += API_HEADERS
    return response
