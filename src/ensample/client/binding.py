"""Methods of a client of the functions in asks.py: one core for both clients."""

import inspect
import json
from collections.abc import Callable
from typing import Any

import httpx

from ensample.checks import number, whole
from ensample.client.asks import Ask
from ensample.errors import WrongType
from ensample.version import __version__


class ClientSettings:
    """Where the service is, and how it is called."""

    def __init__(self, url: str, key: str | None, timeout: float, retries: int) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise WrongType("url", url, "an address such as http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self.timeout = number("timeout", timeout, 0.0)
        self.retries = whole("retries", retries, 0, 100)
        self.headers = {"user-agent": f"ensample/{__version__}", "content-type": "application/json"}
        if key is not None:
            self.headers["authorization"] = f"Bearer {key}"

    def http_options(self, connections: int = 100) -> dict[str, Any]:
        """Return the options of a client of httpx. Certificates are only read for https: it takes 20 ms."""
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        return {"limits": limits, "verify": self.url.startswith("https://")}


def sent_as(settings: ClientSettings, ask: Ask[Any]) -> dict[str, Any]:
    """What `request` of httpx is given."""
    body = json.dumps(ask.body, allow_nan=False).encode() if ask.body is not None else ask.content
    return {
        "method": ask.method,
        "url": settings.url + ask.path,
        "content": body,
        "headers": settings.headers,
        "timeout": settings.timeout,
    }


def as_method(method: Callable[..., Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """With the name, the docstring and the signature of the function that makes the call."""
    mine = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(make)
    method.__name__, method.__doc__ = make.__name__, make.__doc__
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[mine, *signature.parameters.values()], return_annotation=inspect.Signature.empty
    )
    return method
