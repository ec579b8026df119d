"""Whether the service lives, whether it is ready, and its numbers."""

from starlette.responses import Response

from ensample.serve.calls import Answer, Call
from ensample.serve.messages import Status
from ensample.serve.metrics import CONTENT_TYPE

__all__ = ["healthz", "metrics", "readyz"]


async def healthz(call: Call) -> Status:
    return Status("ok")


async def readyz(call: Call) -> Answer:
    """Names of experiments are told to nobody here: no key is asked for."""
    ready = not call.service.catalog.broken
    return Answer(200 if ready else 503, Status("ready" if ready else "unavailable"))


async def metrics(call: Call) -> Response:
    return Response(call.service.metrics.text(), 200, media_type=CONTENT_TYPE)
