"""The application: Starlette's router with the routes of the table.

Endpoints answer whatever goes wrong by themselves, so that there is no application around them to catch it: that would take a
tenth of the time of a decision.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ensample.service.calls import Endpoint, json_response
from ensample.service.dialects.personalizer import refusal_body
from ensample.service.refusals import Refusal
from ensample.service.routes import ROUTES
from ensample.service.service import Service


def application(service: Service) -> Router:
    """It opens the service when it starts and closes it when it stops."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    routes = [
        OwnRoute(route.path, Endpoint(route, service), methods=[route.method], name=route.title)
        for route in ROUTES
    ]
    return Router(routes, lifespan=lifespan, middleware=middleware(service), default=nowhere)


def middleware(service: Service) -> list[Middleware]:
    """Pages of other origins may call only where these were named."""
    slashes = Middleware(OneSlash)
    if not service.settings.cors:
        return [slashes]
    headers = [
        "authorization",
        "content-type",
        "x-api-key",
        "ocp-apim-subscription-key",
        "if-none-match",
        "traceparent",
    ]
    origins = list(service.settings.cors)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT"],
        allow_headers=headers,
    )
    return [slashes, cors]


class OneSlash:
    """Clients of others put their addresses together of an endpoint that ends with a slash and a path that begins with one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("//"):
            scope = {**scope, "path": "/" + scope["path"].lstrip("/")}
        await self.app(scope, receive, send)


class OwnRoute(StarletteRoute):
    """A path of ours; by another method it is refused in our words."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or ()):
            await self.app(scope, receive, send)
            return
        refusal = Refusal(
            405,
            "expected another method at this address",
            Allow=", ".join(sorted(self.methods or ())),
        )
        await json_response(refusal.body(), refusal.status, refusal.headers)(scope, receive, send)


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """An address that there is not; to Personalizer's clients in their words."""
    if scope["path"].startswith("/personalizer/"):
        absent = Refusal(
            404,
            "of Personalizer only rank, reward and activate of v1.0 are here: no multi-slot ranking",
        )
        await json_response(refusal_body(absent), absent.status)(scope, receive, send)
        return
    refusal = Refusal(404, "expected an address of this service: see /openapi.json")
    await json_response(refusal.body(), refusal.status)(scope, receive, send)
