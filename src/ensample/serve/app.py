"""The application: a Starlette with the routes of the table."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ensample.serve.calls import API_HEADERS, answering, json_response
from ensample.serve.refusals import CODES, Refusal
from ensample.serve.routes import ROUTES
from ensample.serve.service import Service

__all__ = ["application"]


def application(service: Service) -> Starlette:
    """It opens the service when it starts and closes it when it stops."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    routes = [StarletteRoute(route.path, answering(route, service), methods=[route.method]) for route in ROUTES]
    handlers: Any = {HTTPException: nowhere}
    return Starlette(routes=routes, lifespan=lifespan, middleware=middleware(service), exception_handlers=handlers)


def middleware(service: Service) -> list[Middleware]:
    """Pages of other origins may call only where these were named."""
    slashes = Middleware(OneSlash)
    if not service.settings.cors:
        return [slashes]
    headers = ["authorization", "content-type", "x-api-key", "ocp-apim-subscription-key", "if-none-match", "traceparent"]
    origins = list(service.settings.cors)
    cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST", "PUT"], allow_headers=headers)
    return [slashes, cors]


class OneSlash:
    """Clients of others put their addresses together of an endpoint that ends with a slash and a path that begins with one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("//"):
            scope = {**scope, "path": "/" + scope["path"].lstrip("/")}
        await self.app(scope, receive, send)


async def nowhere(_: Request, error: Exception) -> Response:
    """An address or a method that there is not."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "expected an address of this service: see /openapi.json", 405: "expected another method at this address"}
    refusal = Refusal(status if status in CODES else 400, said.get(status, "this cannot be answered"))
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return json_response(refusal.body(), refusal.status, {**headers, **API_HEADERS})
