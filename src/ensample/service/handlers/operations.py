"""Whether the service lives, whether it is ready, and its numbers."""

from functools import partial

from starlette.responses import Response

from ensample.errors import EnsampleError
from ensample.service.calls import Answer, Call
from ensample.service.messages import Status
from ensample.service.metrics import CONTENT_TYPE
from ensample.service.refusals import Refusal

NOT_FINITE = (
    "its model has numbers that are infinite or NaN: `ensample replay` says since which event"
)


async def healthz(call: Call) -> Status:
    return Status("ok")


async def readyz(call: Call) -> Answer:
    """Answer without a key; list broken experiments, with the reasons, only to callers who may read them."""
    broken = call.service.catalog.broken | await not_finite(call)
    failure = call.service.database_failure
    if broken or failure:
        return Answer(503, Status("unavailable", readable_by_caller(call, broken), failure))
    return Answer(200, Status("ready"))


async def not_finite(call: Call) -> dict[str, str]:
    """Return the experiments whose models are not finite.

    An update under way may look like it, so the worker is asked again between two updates.
    """
    found = {}
    for name, hosted in list(call.service.catalog.hosted.items()):
        if not hosted.experiment.is_finite and not await hosted.worker.ask(
            partial(getattr, hosted.experiment, "is_finite")
        ):
            found[name] = NOT_FINITE
    return found


def readable_by_caller(call: Call, broken: dict[str, str]) -> dict[str, str]:
    """Return the broken experiments that the caller may read."""
    gate = call.service.gate
    try:
        key = gate.caller(call.headers)
        mine = None if key is None else key.experiment
        gate.admit("GET", call.headers, "read", experiment=mine)
    except (Refusal, EnsampleError):  # also where keys cannot be read at the moment
        return {}
    return {name: why for name, why in broken.items() if mine in (None, name)}


async def metrics(call: Call) -> Response:
    return Response(call.service.metrics.text(), 200, media_type=CONTENT_TYPE)
