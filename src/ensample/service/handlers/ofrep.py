"""OpenFeature: a flag is an experiment, its variants are the actions."""

import hashlib

import msgspec
from starlette.responses import Response

from ensample.service.calls import Call, json_response
from ensample.service.dialects.ofrep import BulkEvaluated, FlagEvaluated, evaluated, question_of
from ensample.service.handlers.decisions import decided

NOTHING = BulkEvaluated([])
TAG = f'"{hashlib.sha256(msgspec.json.encode(NOTHING)).hexdigest()[:16]}"'


async def evaluate_flag(call: Call) -> FlagEvaluated:
    key = call.path("key")
    experiment = call.service.catalog[key].experiment
    decision = await decided(call, key, question_of(call.body))
    return evaluated(key, decision, experiment.actions)


async def evaluate_flags(call: Call) -> Response:
    """None: clients that fetch all flags ahead would have a decision of every experiment that nobody is shown."""
    headers = {"etag": TAG}
    known = [
        tag.strip().removeprefix("W/") for tag in call.headers.get("if-none-match", "").split(",")
    ]
    if TAG in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return json_response(NOTHING, 200, headers)
