"""Experiments: made, looked at, changed, paused."""

from contextlib import suppress

from ensample.checks import check_label
from ensample.errors import InvalidArgument, StorageError
from ensample.service.calls import Answer, Call
from ensample.service.catalog import Hosted
from ensample.service.messages import (
    ActionsChange,
    ExperimentCall,
    ExperimentView,
    Listed,
    PauseCall,
)
from ensample.service.recipes import given_of
from ensample.service.refusals import Refusal
from ensample.service.sizes import check_actions, check_names


def hosted(call: Call) -> Hosted:
    """The experiment that a call names."""
    return call.service.catalog[call.path("experiment")]


async def time_of(found: Hosted) -> int | None:
    """Return the experiment's time, before which all events are committed then; None if its storage fails."""
    with suppress(StorageError, Refusal):
        return await found.worker.ask(found.experiment.now)
    return None


def view(name: str, found: Hosted, hashed: bool = False) -> ExperimentView:
    experiment = found.experiment
    return ExperimentView(
        name,
        experiment.settings.described(),
        experiment.actions,
        experiment.decisions,
        experiment.version,
        experiment.waiting,
        experiment.counts,
        experiment.events,
        found.paused,
        experiment.hash if hashed else None,
    )


async def experiments(call: Call) -> Listed:
    names = sorted(call.service.catalog.hosted)
    return Listed(
        [name for name in names if call.key is None or call.key.experiment in (None, name)]
    )


async def experiment(call: Call) -> ExperimentView:
    found = hosted(call)
    name, hashed = call.path("experiment"), call.query("hash", ("no", "yes")) == "yes"
    return await found.worker.ask(lambda: view(name, found, hashed))


async def put_experiment(call: Call) -> Answer:
    """Create or change an experiment, in a thread: opening its file takes a while."""
    service, body = call.service, call.body
    assert isinstance(body, ExperimentCall)
    check_actions(body.actions, service.settings)
    given, name = given_of(body, service.settings), call.path("experiment")
    async with service.creating:
        found, new = await service.aside(service.catalog.create, name, given)
    if new:
        service.journal.info("created", experiment=name)
    return Answer(201 if new else 200, await found.worker.ask(lambda: view(name, found)))


async def change_actions(call: Call) -> ExperimentView:
    """Those that are there already, or gone already, are passed over: to say it twice is to say it once."""
    found, body, name = hosted(call), call.body, call.path("experiment")
    assert isinstance(body, ActionsChange)
    settings, experiment = call.service.settings, found.experiment
    check_actions(body.add, settings)
    check_names("remove", body.remove, settings)

    def answer() -> ExperimentView:
        known = set(experiment.actions)
        added = dict(body.add) if isinstance(body.add, dict) else dict.fromkeys(body.add or ())
        new = {action: features for action, features in added.items() if action not in known}
        for action in set(body.remove or ()) - known:
            check_label("remove", action)
        old = [action for action in dict.fromkeys(body.remove or ()) if action in known]
        if both := set(added) & set(body.remove or ()):
            raise InvalidArgument(
                "remove", min(both), "actions that are not added in the same call"
            )
        if len(known) + len(new) - len(old) > settings.actions:
            raise InvalidArgument("add", len(new), f"at most {settings.actions} actions in all")
        if new or old:
            experiment.change(new or None, old or None)
        return view(name, found)

    return await found.worker.ask(answer)


async def pause(call: Call) -> ExperimentView:
    assert isinstance(call.body, PauseCall)
    name = call.path("experiment")
    found = await call.service.aside(call.service.catalog.pause, name, call.body.paused)
    call.service.journal.info("paused" if found.paused else "resumed", experiment=name)
    return await found.worker.ask(lambda: view(name, found))
