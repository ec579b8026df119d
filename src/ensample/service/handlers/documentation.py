"""What the service says of itself: the OpenAPI document, and a page of it that needs nothing from elsewhere."""

from functools import cache
from typing import Any

from starlette.responses import Response

from ensample.service.calls import Call
from ensample.service.pages import page, static
from ensample.service.refusals import Refusal


@cache
def document() -> dict[str, Any]:
    from ensample.service.openapi import openapi_document
    from ensample.service.routes import ROUTES

    return openapi_document(ROUTES)


async def openapi(call: Call) -> dict[str, Any]:
    return document()


async def docs(call: Call) -> Response:
    from ensample.service.api_page import shown_routes

    host = call.headers.get("host", "127.0.0.1:8000")
    address = f"https://{host}" if call.scope["scheme"] == "https" else host
    routes = list(shown_routes(document(), address, has_keys=call.key is not None))
    return page("docs.html", version=document()["info"]["version"], routes=routes)


async def static_file(call: Call) -> Response:
    found = static(call.path("name"))
    if found is None:
        raise Refusal(404, "expected the name of a file of these pages")
    return found
