"""Azure's Personalizer, answered by an experiment of ours: that of the key, or one of the key's own."""

from starlette.responses import Response

from ensample.experiments.features.encoders import Hashing
from ensample.experiments.reward import Reward
from ensample.service.calls import Call
from ensample.service.dialects.personalizer import (
    RankCall,
    Ranked,
    RewardValue,
    question_of,
    ranked,
)
from ensample.service.handlers.decisions import activated, decided, rewarded
from ensample.service.messages import RewardItem
from ensample.service.sizes import check_names, check_offer

OWN = {"features": Hashing(128), "reward": Reward(-1, 1, wait="10 min", default=0)}
"""What the experiment of a key is that is bound to none: actions come and go with each call, so nothing may grow with them."""


def experiment_of(call: Call) -> tuple[str, bool]:
    """Its name, and whether it is the key's own: then it is made when it is first needed."""
    key = call.key
    if key is not None and key.experiment is not None:
        return key.experiment, False
    return ("personalizer" if key is None else f"personalizer-{key.id}"), True


def is_there(call: Call, name: str) -> bool:
    return name in call.service.catalog.hosted or name in call.service.catalog.broken


async def rank(call: Call) -> Ranked:
    asked: RankCall = call.body
    service = call.service
    check_names("actions", [action.id for action in asked.actions], service.settings)
    question = question_of(asked)
    check_offer(question.context, question.actions, 0, service.settings)
    name, own = experiment_of(call)
    call.noted["experiment"] = name
    if own and not is_there(call, name):
        async with service.creating:
            if not is_there(call, name):
                await service.aside(service.catalog.create, name, OWN)
                service.journal.info("created", experiment=name)
    return ranked(asked, await decided(call, name, question))


async def reward_event(call: Call) -> Response:
    """204 whatever became of it: Personalizer's clients raise on anything else."""
    body: RewardValue = call.body
    name, own = experiment_of(call)
    call.noted["experiment"] = name
    if own and not is_there(call, name):
        return done("unknown")
    answer = await rewarded(
        call, call.service.catalog[name], RewardItem(id=call.path("id"), value=body.value)
    )
    return done(answer.outcome)


async def activate_event(call: Call) -> Response:
    name, own = experiment_of(call)
    call.noted["experiment"] = name
    if own and not is_there(call, name):
        return done("unknown")
    answer = await activated(call, call.service.catalog[name], call.path("id"))
    return done(answer.outcome)


def done(outcome: str) -> Response:
    return Response(status_code=204, headers={"ensample-outcome": outcome})
