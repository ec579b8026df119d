"""Decisions, and what became of them."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

from msgspec import UnsetType

from ensample.experiments import Experiment, NamedDecision
from ensample.experiments.explanation import Explanation, explained
from ensample.service.calls import Call
from ensample.service.catalog import Hosted
from ensample.service.handlers.experiments import hosted
from ensample.service.messages import (
    Activation,
    DecideCall,
    Decision,
    EventCall,
    EventOutcome,
    Explained,
    OutcomeAnswer,
    Refused,
    RewardCall,
    RewardItem,
    decision_answer,
    explained_answer,
)
from ensample.service.refusals import Refusal, refusal_of
from ensample.service.service import Service
from ensample.service.sizes import check_batch, check_names, check_offer
from ensample.service.sticky import latest, sticky_decision

T = TypeVar("T")


def asked_of(service: Service, found: Hosted, body: DecideCall) -> Callable[[], NamedDecision]:
    """The question that a body is, checked as far as that can be done now."""
    experiment: Experiment = found.experiment
    if found.paused:
        raise Refusal(409, "the experiment is paused", code="paused")
    if body.id is not None and body.targeting_key is not None:
        raise Refusal(422, "expected an id or a targetingKey, not both", argument="id")
    check_offer(body.context, body.actions, len(experiment.actions), service.settings)
    check_names("excluded", body.excluded, service.settings)
    question: dict[str, Any] = {
        "context": body.context,
        "actions": body.actions,
        "excluded": body.excluded or None,
        "active": body.active,
        "dry_run": body.dry_run,
    }
    key = body.targeting_key
    if key is None:
        return lambda: experiment.decide(id=body.id, **question)
    return lambda: sticky_decision(experiment, key, service.settings.stays, **question)


async def decided(call: Call, name: str, body: DecideCall) -> NamedDecision:
    """One decision of an experiment, counted and noted: for every way in which one can be asked for."""
    service = call.service
    found = service.catalog[name]
    question = asked_of(service, found, body)
    answer, new = await found.worker.ask(lambda: taken(found.experiment, question), brief="decide")
    service.metrics.decided(name, new)
    call.noted["decision"] = answer.id
    return answer


def taken(experiment: Experiment, question: Callable[[], T]) -> tuple[T, int]:
    """The answer, and how many decisions were taken for it: where it was known, or nothing is to be kept, none."""
    before = experiment.decisions
    answer = question()
    return answer, experiment.decisions - before


async def decide(call: Call) -> "Decision | list[Decision | Refused]":
    body = call.body
    if isinstance(body, DecideCall):
        return decision_answer(await decided(call, call.path("experiment"), body))
    found = hosted(call)
    check_batch(body, call.service.settings)
    questions = [prepared(lambda item=item: asked_of(call.service, found, item)) for item in body]  # type: ignore[misc]
    answers, new = await found.worker.ask(
        lambda: taken(found.experiment, lambda: found.experiment.together(questions))
    )
    call.service.metrics.decided(call.path("experiment"), new)
    return [
        refused(answer) if isinstance(answer, Exception) else decision_answer(answer)
        for answer in answers
    ]


def prepared(make: Callable[[], Callable[[], T]]) -> Callable[[], T]:
    """A question whose checks are part of it: one bad item of a batch does not spoil the others."""
    return lambda: make()()


def refused(error: Exception) -> Refused:
    refusal = refusal_of(error)
    if refusal is None:
        raise error
    return refusal.body()


async def reward(call: Call) -> OutcomeAnswer:
    body: RewardCall = call.body
    item = RewardItem(
        id=call.path("id"), value=body.value, reward=body.reward, action=body.action, key=body.key
    )
    return await rewarded(call, hosted(call), item)


async def rewarded(call: Call, found: Hosted, item: RewardItem) -> OutcomeAnswer:
    call.noted["decision"] = item.id
    value = value_of(item)
    experiment = found.experiment
    outcome = await found.worker.ask(
        lambda: experiment.reward(item.id, value, action=item.action, key=item.key), brief="reward"
    )
    call.noted["outcome"] = outcome
    call.service.metrics.rewards.labels(experiment.name, outcome).inc()
    return OutcomeAnswer(item.id, outcome)


def value_of(item: RewardCall) -> float | bool:
    """By either of its names. A body that says none is more likely a mistake than a reward of 1."""
    given = {
        value for value in (item.value, item.reward) if not isinstance(value, UnsetType | None)
    }
    if len(given) != 1:
        expected = "one of value and reward" if given else 'a value, such as {"value": 1}'
        raise Refusal(422, f"value: expected {expected}", argument="value")
    return given.pop()


async def activate(call: Call) -> OutcomeAnswer:
    return await activated(call, hosted(call), call.path("id"))


async def activated(call: Call, found: Hosted, id: str) -> OutcomeAnswer:
    call.noted["decision"] = id
    outcome = await found.worker.ask(lambda: found.experiment.activate(id), brief="activate")
    call.noted["outcome"] = outcome
    return OutcomeAnswer(id, outcome)


async def reward_all(call: Call) -> "list[OutcomeAnswer | Refused]":
    items: list[RewardItem] = call.body
    found = hosted(call)
    experiment = found.experiment

    def question(item: RewardItem) -> Callable[[], str]:
        return lambda: experiment.reward(item.id, value_of(item), action=item.action, key=item.key)

    answers = await outcomes(call, found, items, question)
    for answer in answers:
        if isinstance(answer, OutcomeAnswer):
            call.service.metrics.rewards.labels(experiment.name, answer.outcome).inc()
    return answers


async def activate_all(call: Call) -> "list[OutcomeAnswer | Refused]":
    items: list[Activation] = call.body
    found = hosted(call)
    return await outcomes(
        call, found, items, lambda item: lambda: found.experiment.activate(item.id)
    )


async def outcomes(
    call: Call, found: Hosted, items: "list[Any]", question: "Callable[[Any], Callable[[], Any]]"
) -> "list[OutcomeAnswer | Refused]":
    """Of a batch, with one commit."""
    check_batch(items, call.service.settings)
    questions = [question(item) for item in items]
    answers = await found.worker.ask(lambda: found.experiment.together(questions))
    return [
        refused(answer) if isinstance(answer, Exception) else OutcomeAnswer(item.id, answer)
        for item, answer in zip(items, answers, strict=True)
    ]


async def event(call: Call) -> EventOutcome:
    """The reward of the decision that a targeting key has."""
    body: EventCall = call.body
    service = call.service
    if call.key is not None and call.key.experiment not in (None, body.experiment):
        raise Refusal(403, f"this key is for the experiment {call.key.experiment} only")
    found = service.catalog[body.experiment]

    def answer() -> EventOutcome:
        decision = latest(found.experiment, body.targeting_key, service.settings.stays)
        if decision is None:
            return EventOutcome("unknown", None)
        return EventOutcome(
            found.experiment.reward(decision.id, body.value, key=body.key), decision.id
        )

    said = await found.worker.ask(answer, brief="event")
    call.noted |= {"decision": said.id, "outcome": said.outcome}
    service.metrics.rewards.labels(body.experiment, said.outcome).inc()
    return said


async def explain(call: Call) -> Explained:
    """In a thread of its own: the state of the time is folded again."""
    found, id = hosted(call), call.path("id")
    call.noted["decision"] = id
    if await found.worker.ask(lambda: found.experiment.decision(id)) is None:
        raise Refusal(404, "expected the id of a decision: there is none of this id")
    return explained_answer(await call.service.aside(explanation, found.experiment, id))


def explanation(experiment: Experiment, id: str) -> Explanation:
    """By a reader, so that nobody waits for it."""
    with closing(experiment.reader()) as events:
        return explained(experiment.settings, events, id)
