"""Decisions, and what became of them."""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from msgspec import UnsetType

from ensample.experiments import NamedDecision
from ensample.experiments.explanation import explained
from ensample.service.auth import check_experiment
from ensample.service.catalog import Hosted
from ensample.service.endpoint import Call, Each, get, post
from ensample.service.errors import HTTPError, http_error
from ensample.service.handlers.experiments import ONE, hosted
from ensample.service.limits import check_batch, check_names, check_offer
from ensample.service.schemas import (
    VALUED_ITEM,
    VALUED_REWARD,
    Activation,
    DecideCall,
    Decision,
    EventCall,
    EventOutcome,
    Explained,
    OutcomeAnswer,
    Refused,
    RewardCall,
    decision_answer,
)
from ensample.service.service import Service
from ensample.service.sticky import latest, sticky_decision

Question = Callable[[], Any]
"""A function that asks an experiment something."""


@post(
    f"{ONE}/decide",
    "decide",
    DecideCall | list[DecideCall],
    Each(Decision, alone=True),
    others=(409,),
)
async def decide(call: Call) -> Decision | list[Decision | Refused]:
    """Choose an action, or several for an array of questions. An id makes it safe to ask again."""
    body = call.body
    if isinstance(body, DecideCall):
        return decision_answer(await decide_one(call, call.path["experiment"], body))
    service, found = call.service, hosted(call)
    # Checks are part of a question: a wrong item of a batch does not spoil the others.
    questions = [lambda item=item: question_of(service, found, item)() for item in body]
    before = found.experiment.decisions
    answers = await ask_all(call, found, questions)
    service.metrics.count_decisions(found.name, max(found.experiment.decisions - before, 0))
    return [item if isinstance(item, Refused) else decision_answer(item) for item in answers]


async def decide_one(call: Call, name: str, body: DecideCall) -> NamedDecision:
    """Decide and log it. All protocols come here."""
    found = call.service.catalog[name]
    experiment = found.experiment
    question = question_of(call.service, found, body)

    def answer() -> tuple[NamedDecision, int]:
        before = experiment.decisions
        return question(), experiment.decisions - before

    decision, new = await found.worker.ask(answer, brief="decide")
    call.service.metrics.count_decisions(name, new)
    call.log["decision"] = decision.id
    return decision


def question_of(service: Service, found: Hosted, body: DecideCall) -> Question:
    """Check a question, and return the function that asks it."""
    experiment, settings, key = found.experiment, service.settings, body.targeting_key
    if found.name in service.store.paused():
        raise HTTPError(409, "the experiment is paused", code="paused")
    if body.id is not None and key is not None:
        raise HTTPError(422, "expected an id or a targetingKey, not both", argument="id")
    check_offer(body.context, body.actions, len(experiment.actions), settings)
    if body.excluded:
        check_names("excluded", body.excluded, settings)
    options: dict[str, Any] = {
        "context": body.context,
        "actions": body.actions,
        "excluded": body.excluded or None,
        "active": body.active,
        "dry_run": body.dry_run,
    }
    if key is None:
        return partial(experiment.decide, id=body.id, **options)
    lasts = settings.sticky_microseconds
    return partial(sticky_decision, experiment, key, lasts, **options)


async def ask_all(call: Call, found: Hosted, questions: Sequence[Question]) -> list[Any]:
    """Ask a batch of questions with one commit. Errors become answers."""
    check_batch(questions, call.service.settings)
    answers = await found.worker.ask(lambda: found.experiment.together(questions))
    for place, error in enumerate(answers):
        if isinstance(error, Exception):
            found_error = http_error(error)
            if found_error is None:
                raise error
            answers[place] = found_error.body()
    return answers


@post(f"{ONE}/decisions/{{id:path}}/reward", "decide", VALUED_REWARD, OutcomeAnswer)
async def reward(call: Call) -> OutcomeAnswer:
    """The reward of a decision, and what became of it."""
    found, id = hosted(call), call.path["id"]
    return await ask_outcome(call, found, "reward", id, partial(apply_reward, found, id, call.body))


async def ask_outcome(
    call: Call, found: Hosted, kind: str, id: str, question: Question
) -> OutcomeAnswer:
    """Ask what becomes of a reward or an activation, and log it."""
    call.log["decision"] = id
    call.log["outcome"] = outcome = await found.worker.ask(question, brief=kind)
    if kind == "reward":
        call.service.metrics.count_reward(found.name, outcome)
    return OutcomeAnswer(id, outcome)


def apply_reward(found: Hosted, id: str, body: RewardCall) -> Any:
    return found.experiment.reward(id, value_of(body), action=body.action, key=body.key)


def value_of(body: RewardCall) -> float | bool:
    """Return the reward by either of its names.

    A body without one is more likely a mistake than a 1.
    """
    named = (body.value, body.reward)
    given = {value for value in named if not isinstance(value, UnsetType | None)}
    if len(given) != 1:
        expected = "one of value and reward" if given else 'a value, such as {"value": 1}'
        raise HTTPError(422, f"value: expected {expected}", argument="value")
    return given.pop()


@post(f"{ONE}/rewards", "decide", list[VALUED_ITEM], Each(OutcomeAnswer))
async def reward_all(call: Call) -> list[OutcomeAnswer | Refused]:
    """Many rewards with one commit."""
    items, found = call.body, hosted(call)
    questions = [partial(apply_reward, found, item.id, item) for item in items]
    answers = with_ids(items, await ask_all(call, found, questions))
    for answer in answers:
        if isinstance(answer, OutcomeAnswer):
            call.service.metrics.count_reward(found.name, answer.outcome)
    return answers


def with_ids(items: list[Any], answers: list[Any]) -> list[OutcomeAnswer | Refused]:
    """Return the outcomes of a batch with the ids of its items."""
    return [
        answer if isinstance(answer, Refused) else OutcomeAnswer(item.id, answer)
        for item, answer in zip(items, answers, strict=True)
    ]


@post(f"{ONE}/decisions/{{id:path}}/activate", "decide", gives=OutcomeAnswer)
async def activate(call: Call) -> OutcomeAnswer:
    """A decision that was not active was shown."""
    found, id = hosted(call), call.path["id"]
    return await ask_outcome(call, found, "activate", id, partial(found.experiment.activate, id))


@post(f"{ONE}/activations", "decide", list[Activation], Each(OutcomeAnswer))
async def activate_all(call: Call) -> list[OutcomeAnswer | Refused]:
    """Many activations with one commit."""
    items, found = call.body, hosted(call)
    questions = [partial(found.experiment.activate, item.id) for item in items]
    return with_ids(items, await ask_all(call, found, questions))


@post("/v1/events", "decide", EventCall, EventOutcome, others=(404,), checks_key=True)
async def event(call: Call) -> EventOutcome:
    """The reward of the decision that a targeting key has."""
    body, service = call.body, call.service
    check_experiment(call.key, body.experiment)
    found = service.catalog[body.experiment]
    experiment, lasts = found.experiment, service.settings.sticky_microseconds

    def answer() -> EventOutcome:
        decision = latest(experiment, body.targeting_key, lasts)
        if decision is None:
            return EventOutcome("unknown", None)
        return EventOutcome(experiment.reward(decision.id, body.value, key=body.key), decision.id)

    outcome = await found.worker.ask(answer, brief="event")
    call.log |= {"decision": outcome.id, "outcome": outcome.outcome}
    service.metrics.count_reward(found.name, outcome.outcome)
    return outcome


@get(f"{ONE}/decisions/{{id:path}}", "read", gives=Explained)
async def explain(call: Call) -> Any:
    """How a decision came about."""
    found, id = hosted(call), call.path["id"]
    call.log["decision"] = id
    if await found.worker.ask(partial(found.experiment.decision, id)) is None:
        raise HTTPError(404, "expected the id of a decision: there is none of this id")

    def explanation() -> Any:
        """Fold the state of the time again, by a reader of its own so that nobody waits for it."""
        with closing(found.experiment.reader()) as events:
            return Explained(*explained(found.experiment.settings, events, id))

    return await call.service.in_thread(explanation)
