"""Whether the service lives, whether it is ready, and its numbers."""

from starlette.responses import Response

from ensample.errors import EnsampleError
from ensample.serve.calls import Answer, Call
from ensample.serve.messages import Status
from ensample.serve.metrics import CONTENT_TYPE
from ensample.serve.refusals import Refusal

__all__ = ["healthz", "metrics", "readyz"]


async def healthz(call: Call) -> Status:
    return Status("ok")


async def readyz(call: Call) -> Answer:
    """No key is asked for; names of experiments, and why they are broken, are told to those alone who may read them."""
    if call.service.catalog.broken:
        return Answer(503, Status("unavailable", told(call)))
    return Answer(200, Status("ready"))


def told(call: Call) -> dict[str, str]:
    gate = call.service.gate
    try:
        key = gate.caller(call.headers)
        mine = None if key is None else key.experiment
        gate.admit("GET", call.headers, "read", experiment=mine)
    except (Refusal, EnsampleError):  # also where keys cannot be read at the moment
        return {}
    return {name: why for name, why in call.service.catalog.broken.items() if mine in (None, name)}


async def metrics(call: Call) -> Response:
    return Response(call.service.metrics.text(), 200, media_type=CONTENT_TYPE)
