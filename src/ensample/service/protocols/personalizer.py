"""Azure's Personalizer v1.0, retired on 1 October 2026, answered by the experiment of the key.

The shapes are those of https://learn.microsoft.com/en-us/rest/api/personalizer/ and of the
released clients.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from ensample.checks import repeated
from ensample.errors import InvalidArgument
from ensample.experiments import NamedDecision
from ensample.experiments.features import Hashing
from ensample.experiments.reward import Reward
from ensample.service.catalog import Hosted
from ensample.service.endpoint import Call, ErrorFormat, post
from ensample.service.errors import HTTPError
from ensample.service.handlers.decisions import apply_reward, ask_outcome, decide_one
from ensample.service.limits import check_names, check_offer
from ensample.service.schemas import Context, DecideCall, RewardCall

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Objects = list[dict[str, Any]]
OWN = {"features": Hashing(128), "reward": Reward(-1, 1, wait="10 min", default=0)}
"""The experiment of a key that is bound to none. Nothing in it may grow with the actions."""


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


def error_body(error: HTTPError, _: Call | None = None) -> ErrorResponse:
    """Return one of Personalizer's three codes, with ours in it."""
    code = "InternalServerError" if error.status >= 500 else "BadRequest"
    if error.status == 404:
        code = "ResourceNotFound"
    inner = InnerError(error.code)
    return ErrorResponse(PersonalizerError(code, error.message, error.argument, inner))


ERRORS = ErrorFormat(ErrorResponse, error_body, {422: 400})


@post(
    "/personalizer/v1.0/rank",
    "decide",
    RankCall,
    Ranked,
    status=201,
    others=(404, 409),
    checks_key=True,
    errors=ERRORS,
)
async def rank(call: Call) -> Ranked:
    """As Azure's Personalizer: choose an action. The key says of which experiment.

    A key that is bound to none has an experiment of its own.
    """
    service, body = call.service, call.body
    check_names("actions", [action.id for action in body.actions], service.settings)
    question = question_of(body)
    name, own = experiment_of(call)
    if own and name not in service.catalog:
        check_offer(question.context, question.actions, 0, service.settings)
        async with service.creating:
            if name not in service.catalog:
                await service.in_thread(service.catalog.create, name, OWN)
                service.journal.write("info", "created", experiment=name)
    return ranked(body, await decide_one(call, name, question))


@post(
    "/personalizer/v1.0/events/{id:path}/reward",
    "decide",
    takes=RewardValue,
    status=204,
    others=(404,),
    checks_key=True,
    errors=ERRORS,
)
async def reward_event(call: Call) -> Response:
    """As Azure's Personalizer: the reward of an event.

    The header Ensample-Outcome says what became of it.
    """
    body, id = RewardCall(value=call.body.value), call.path["id"]
    return await outcome_response(call, "reward", lambda found: apply_reward(found, id, body))


@post(
    "/personalizer/v1.0/events/{id:path}/activate",
    "decide",
    status=204,
    others=(404, 503),
    checks_key=True,
    errors=ERRORS,
)
async def activate_event(call: Call) -> Response:
    """As Azure's Personalizer: an event that was deferred was shown."""
    id = call.path["id"]
    return await outcome_response(call, "activate", lambda found: found.experiment.activate(id))


async def outcome_response(call: Call, kind: str, ask: Callable[[Hosted], Any]) -> Response:
    """Return 204 whatever became of an event: Personalizer's clients raise on anything else."""
    name, own = experiment_of(call)
    outcome = "unknown"
    if not own or name in call.service.catalog:
        found = call.service.catalog[name]
        answer = await ask_outcome(call, found, kind, call.path["id"], partial(ask, found))
        outcome = answer.outcome
    return Response(status_code=204, headers={"ensample-outcome": outcome})


def experiment_of(call: Call) -> tuple[str, bool]:
    """Return the name of the key's experiment, and whether it is made when it is needed."""
    key = call.key
    if key is not None and key.experiment is not None:
        name, own = key.experiment, False
    else:
        name, own = ("personalizer" if key is None else f"personalizer-{key.id}"), True
    call.log["experiment"] = name
    return name, own


def question_of(body: RankCall) -> DecideCall:
    """Return the same question in our words. Excluded actions need not be on offer."""
    names = [action.id for action in body.actions]
    if (twice := repeated(names)) is not None:
        raise InvalidArgument("actions", twice, "ids of actions, none of them twice")
    features: dict[str, Context | None] = {
        action.id: merged(f"actions.{action.id}", action.features) or None
        for action in body.actions
    }
    excluded = set(body.excluded_actions or ())
    return DecideCall(
        id=body.event_id,
        context=merged("contextFeatures", body.context_features or []),
        actions=features,
        excluded=[name for name in names if name in excluded],
        active=not body.defer_activation,
    )


def ranked(body: RankCall, decision: NamedDecision) -> Ranked:
    """Return the chosen action, then the others by probability. Excluded ones keep their places."""
    known, excluded = decision.propensities or {}, set(body.excluded_actions or ())
    free = [action.id for action in body.actions if action.id not in excluded]
    order = iter(sorted(free, key=lambda name: (name != decision.action, -known.get(name, 0.0))))
    names = [action.id if action.id in excluded else next(order) for action in body.actions]
    ranking = [RankedAction(name, 0.0 if name in excluded else known.get(name)) for name in names]
    return Ranked(ranking, decision.id, decision.action)


def merged(argument: str, objects: Objects) -> dict[str, Any]:
    """Merge objects into one: objects of one name are merged, texts of one name become a list.

    >>> parts = [{"a": {"b": 1}, "likes": "tea"}, {"a": {"c": 2}, "likes": "art"}]
    >>> merged("contextFeatures", parts)
    {'a': {'b': 1, 'c': 2}, 'likes': ['tea', 'art']}
    """
    found: dict[str, list[Any]] = {}
    for item in objects:
        for name, value in item.items():
            found.setdefault(name, []).append(value)
    return {name: joined(f"{argument}.{name}", values) for name, values in found.items()}


def joined(argument: str, values: list[Any]) -> Any:
    """Return the one value that several of the same name make. A repeated value counts once."""
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
    """Return the texts that a value is, or nothing if it is something else."""
    items = value if isinstance(value, list) else [value]
    return items if all(isinstance(item, str) for item in items) else []
