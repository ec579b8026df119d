"""Whether the service lives, whether it is ready, and its metrics."""

from functools import partial

from starlette.responses import Response

from ensample.errors import EnsampleError
from ensample.service.catalog import Hosted
from ensample.service.endpoint import Call, get, json_response
from ensample.service.errors import HTTPError
from ensample.service.handlers.experiments import may_see
from ensample.service.metrics import CONTENT_TYPE
from ensample.service.schemas import Status

NOT_FINITE = (
    "its model has numbers that are infinite or NaN: `ensample replay` says since which event"
)


@get("/healthz", None, gives=Status)
async def healthz(call: Call) -> Status:
    """Whether the service lives."""
    return Status("ok")


@get("/readyz", None, gives=Status, others=(503,))
async def readyz(call: Call) -> Response:
    """Whether everything can be kept at the moment."""
    broken = call.service.catalog.broken | await not_finite(call)
    failure = call.service.database_failure
    if broken or failure:
        return json_response(Status("unavailable", readable(call, broken), failure), 503)
    return json_response(Status("ready"))


async def not_finite(call: Call) -> dict[str, str]:
    """Return the experiments whose models are not finite.

    An update under way may look like it, so the worker is asked again between two updates.
    """
    suspects = [found for found in call.service.catalog.hosted.values() if not is_finite(found)]
    return {
        found.name: NOT_FINITE
        for found in suspects
        if not await found.worker.ask(partial(is_finite, found))
    }


def is_finite(found: Hosted) -> bool:
    return found.experiment.is_finite


def readable(call: Call, broken: dict[str, str]) -> dict[str, str]:
    """Return the broken experiments that the caller may read."""
    auth = call.service.auth
    try:
        key = auth.authorize(metrics, "GET", call.headers, None)
    except (HTTPError, EnsampleError):  # also if keys cannot be read at the moment
        return {}
    return {name: why for name, why in broken.items() if may_see(key, name)}


@get("/metrics", "read", gives="text/plain", checks_key=True)
async def metrics(call: Call) -> Response:
    """Numbers for Prometheus."""
    return Response(call.service.metrics.text(), 200, media_type=CONTENT_TYPE)
