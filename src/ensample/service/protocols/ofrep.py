"""OpenFeature's remote evaluation protocol: a flag is an experiment, variants are actions.

The shapes are those of OFREP 0.3.0:
https://openfeature.dev/docs/reference/other-technologies/ofrep/openapi/
"""

import hashlib
from typing import Any, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from ensample.experiments import NamedDecision
from ensample.service.endpoint import Call, ErrorFormat, json_response, post
from ensample.service.errors import HTTPError
from ensample.service.handlers.decisions import decide_one
from ensample.service.schemas import DecideCall

KEY_MISSING = "targeting_key_missing"
SWITCH = {"true": True, "false": False}


class EvaluationCall(Struct):
    """Whom a flag is evaluated for: `targetingKey`, and what is known of them."""

    context: dict[str, Any] | None = None


class FlagEvaluated(Struct):
    """The action. `metadata` has `decisionId` and `propensity`."""

    key: str
    value: str | bool
    variant: str
    metadata: dict[str, str | float]
    reason: Literal["SPLIT"] = "SPLIT"


class BulkEvaluated(Struct):
    flags: list[FlagEvaluated]


class EvaluationFailure(Struct, rename="camel", omit_defaults=True):
    error_code: Literal[
        "PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"
    ]
    error_details: str
    key: str | None = None


NO_FLAGS = BulkEvaluated([])
ETAG = f'"{hashlib.sha256(msgspec.json.encode(NO_FLAGS)).hexdigest()[:16]}"'


def error_body(error: HTTPError, call: Call) -> EvaluationFailure:
    return EvaluationFailure(error_code(error), error.message, call.path.get("key"))


def error_code(error: HTTPError) -> Any:
    match error.status, error.code:
        case 400, "malformed":
            return "PARSE_ERROR"
        case 400, code if code == KEY_MISSING:
            return "TARGETING_KEY_MISSING"
        case 404, _:
            return "FLAG_NOT_FOUND"
        case 422, _:
            return "INVALID_CONTEXT"
    return "GENERAL"


ERRORS = ErrorFormat(EvaluationFailure, error_body, {409: 400, 422: 400})


@post(
    "/ofrep/v1/evaluate/flags/{key:path}",
    "decide",
    EvaluationCall,
    FlagEvaluated,
    others=(404,),
    name="key",
    errors=ERRORS,
)
async def evaluate_flag(call: Call) -> FlagEvaluated:
    """OpenFeature's evaluation of a flag: the action that an experiment has for a targeting key."""
    key = call.path["key"]
    actions = call.service.catalog[key].experiment.actions
    decision = await decide_one(call, key, question_of(call.body))
    return evaluated(key, decision, actions)


@post(
    "/ofrep/v1/evaluate/flags",
    "decide",
    EvaluationCall,
    BulkEvaluated,
    others=(304,),
    checks_key=True,
    errors=ERRORS,
)
async def evaluate_flags(call: Call) -> Response:
    """OpenFeature's bulk evaluation, which nothing is decided by: no flags.

    Clients that fetch all flags ahead would have a decision of every experiment that nobody is
    shown.
    """
    tags = call.headers.get("if-none-match", "").split(",")
    if {"*", ETAG} & {tag.strip().removeprefix("W/") for tag in tags}:
        return Response(status_code=304, headers={"etag": ETAG})
    return json_response(NO_FLAGS, 200, {"etag": ETAG})


def question_of(body: EvaluationCall) -> DecideCall:
    """Return the question of a decision that lasts.

    Without a targeting key nobody could reward it.
    """
    context = dict(body.context or {})
    key = context.pop("targetingKey", None)
    if key is None or key == "":
        message = "expected a targetingKey in the context: a user, a session or a request"
        raise HTTPError(400, message, code=KEY_MISSING)
    if not isinstance(key, str) or len(key) > 1_000:
        message = "expected a targetingKey that is a text of 1 to 1,000 characters"
        raise HTTPError(422, message, argument="targetingKey")
    return DecideCall(context=context, targeting_key=key)


def evaluated(key: str, decision: NamedDecision, actions: list[str]) -> FlagEvaluated:
    """Return the name of the action, or a boolean if all are called true or false."""
    metadata: dict[str, str | float] = {"decisionId": decision.id}
    if decision.propensity is not None:
        metadata["propensity"] = decision.propensity
    value: str | bool = decision.action
    if set(actions) <= set(SWITCH):
        value = SWITCH.get(decision.action, decision.action)
    return FlagEvaluated(key, value, decision.action, metadata)
