"""OpenFeature's remote evaluation protocol (OFREP): its calls and answers.

The shapes are those of https://openfeature.dev/docs/reference/other-technologies/ofrep/openapi/ (0.3.0).
"""

from typing import Any, Literal

from msgspec import Struct

from ensample.experiments import NamedDecision
from ensample.service.calls import Call, Dialect
from ensample.service.messages import DecideCall
from ensample.service.refusals import Refusal

MISSING = "targeting_key_missing"
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


def refusal_body(refusal: Refusal, call: Call) -> EvaluationFailure:
    return EvaluationFailure(error_code(refusal), refusal.message, call.parts.get("key"))


def error_code(refusal: Refusal) -> Any:
    match refusal.status, refusal.code:
        case 400, "malformed":
            return "PARSE_ERROR"
        case 400, code if code == MISSING:
            return "TARGETING_KEY_MISSING"
        case 404, _:
            return "FLAG_NOT_FOUND"
        case 422, _:
            return "INVALID_CONTEXT"
    return "GENERAL"


OFREP = Dialect(EvaluationFailure, refusal_body, {409: 400, 422: 400})  # clients know no other


def question_of(asked: EvaluationCall) -> DecideCall:
    """A decision that lasts. Without a targeting key every evaluation would be another one, and nobody could reward it."""
    context = dict(asked.context or {})
    key = context.pop("targetingKey", None)
    if key is None or key == "":
        raise Refusal(
            400,
            "expected a targetingKey in the context: a user, a session or a request",
            code=MISSING,
        )
    if not isinstance(key, str) or len(key) > 1_000:
        raise Refusal(
            422,
            "expected a targetingKey that is a text of 1 to 1,000 characters",
            argument="targetingKey",
        )
    return DecideCall(context=context, targeting_key=key)


def evaluated(key: str, decision: NamedDecision, actions: list[str]) -> FlagEvaluated:
    """The name of the action; where all are called true or false, the flag is a switch."""
    metadata: dict[str, str | float] = {"decisionId": decision.id}
    if decision.propensity is not None:
        metadata["propensity"] = decision.propensity
    value = (
        SWITCH.get(decision.action, decision.action)
        if set(actions) <= set(SWITCH)
        else decision.action
    )
    return FlagEvaluated(key, value, decision.action, metadata)
