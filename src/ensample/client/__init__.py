"""Clients of the decision service (extra `client`): `Client`, `AsyncClient`, and `EnsampleProvider`
for OpenFeature.

They do the same in the same words; with `AsyncClient` one awaits. docs/clients.md has lines that
run.
"""

from typing import TYPE_CHECKING, Any

from ensample.errors import ServiceError
from ensample.extras import package, require

require("httpx", user="ensample.client")

from ensample.client.calls import Decision, EventOutcome, ExperimentView, Explained  # noqa: E402
from ensample.client.clients import AsyncClient, Client  # noqa: E402

if TYPE_CHECKING:
    from ensample.client.provider import EnsampleProvider

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "EnsampleProvider",
    "EventOutcome",
    "ExperimentView",
    "Explained",
    "ServiceError",
]


def __getattr__(name: str) -> Any:
    """OpenFeature is asked for by those who use it."""
    if name == "EnsampleProvider":
        return package("ensample.client.provider", "EnsampleProvider").EnsampleProvider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
