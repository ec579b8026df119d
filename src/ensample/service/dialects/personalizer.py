"""Azure's Personalizer v1.0, retired on 1 October 2026: its calls and answers in the shapes that its clients know.

The shapes are those of https://learn.microsoft.com/en-us/rest/api/personalizer/ and of the released clients.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from ensample.checks import repeated
from ensample.errors import InvalidArgument
from ensample.experiments import NamedDecision
from ensample.service.calls import Call, Dialect
from ensample.service.messages import Context, DecideCall
from ensample.service.refusals import Refusal

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Objects = list[dict[str, Any]]


class RankableAction(Struct):
    """An action, with its features as a list of objects."""

    id: Name
    features: Objects = []


class RankCall(Struct, rename="camel"):
    """A question. Fields that are not known are passed over, as Personalizer does."""

    actions: Annotated[list[RankableAction], Meta(min_length=1)]
    context_features: Objects | None = None
    excluded_actions: list[str] | None = None
    event_id: Name | None = None
    defer_activation: bool | None = False


class RankedAction(Struct):
    id: str
    probability: float | None


class Ranked(Struct, rename="camel"):
    """An answer: the action to show is `rewardActionId`."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RewardValue(Struct):
    value: float


class InnerError(Struct):
    code: str


class PersonalizerError(Struct, rename="camel", omit_defaults=True):
    code: str
    message: str
    target: str | None = None
    inner_error: InnerError | None = None


class ErrorResponse(Struct):
    error: PersonalizerError


def refusal_body(refusal: Refusal, _: Call | None = None) -> ErrorResponse:
    """Personalizer has three codes; ours is within."""
    code = (
        "ResourceNotFound"
        if refusal.status == 404
        else "InternalServerError"
        if refusal.status >= 500
        else "BadRequest"
    )
    return ErrorResponse(
        PersonalizerError(code, refusal.message, refusal.argument, InnerError(refusal.code))
    )


PERSONALIZER = Dialect(ErrorResponse, refusal_body, {422: 400})


def question_of(asked: RankCall) -> DecideCall:
    """The same question in our words. Whoever is excluded need not be on offer."""
    names = [action.id for action in asked.actions]
    if (twice := repeated(names)) is not None:
        raise InvalidArgument("actions", twice, "ids of actions, none of them twice")
    features: dict[str, Context | None] = {
        action.id: merged(f"actions.{action.id}", action.features) or None
        for action in asked.actions
    }
    out = set(asked.excluded_actions or ())
    return DecideCall(
        asked.event_id,
        merged("contextFeatures", asked.context_features or []),
        features,
        [name for name in names if name in out],
        not asked.defer_activation,
    )


def ranked(asked: RankCall, decision: NamedDecision) -> Ranked:
    """The chosen action first, then the others from the most to the least likely; those excluded keep their places, with 0."""
    known, out = decision.propensities or {}, set(asked.excluded_actions or ())
    free = [action.id for action in asked.actions if action.id not in out]
    order = iter(sorted(free, key=lambda name: (name != decision.action, -known.get(name, 0.0))))
    names = [action.id if action.id in out else next(order) for action in asked.actions]
    ranking = [RankedAction(name, 0.0 if name in out else known.get(name)) for name in names]
    return Ranked(ranking, decision.id, decision.action)


def merged(argument: str, objects: Objects) -> dict[str, Any]:
    """Merge objects into one. Objects of the same name are merged, texts of the same name become a list.

    >>> merged("contextFeatures", [{"device": {"mobile": True}, "likes": "tea"}, {"device": {"os": "x"}, "likes": "tennis"}])
    {'device': {'mobile': True, 'os': 'x'}, 'likes': ['tea', 'tennis']}
    """
    found: dict[str, list[Any]] = {}
    for item in objects:
        for name, value in item.items():
            found.setdefault(name, []).append(value)
    return {name: joined(f"{argument}.{name}", values) for name, values in found.items()}


def joined(argument: str, values: list[Any]) -> Any:
    """Return the one value that several of the same name make; a repeated value counts once."""
    if len(values) > 1 and all(isinstance(value, dict) for value in values):
        return merged(argument, values)
    found = values[0]
    own = list(texts(found))
    for value in values[1:]:
        if value == found and type(value) is type(found):
            continue
        more = texts(value)
        if not (own and more):
            expected = "a feature once, or objects or texts of the same name"
            raise InvalidArgument(argument, value, expected)
        own += more
        found = own
    return found


def texts(value: Any) -> list[str]:
    """The texts that it is, if it is nothing else."""
    items = value if isinstance(value, list) else [value]
    return items if all(isinstance(item, str) for item in items) else []
