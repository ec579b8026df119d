"""Experiments: made, looked at, changed, paused."""

from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import astuple
from starlette.responses import Response

from ensample.checks import check_label
from ensample.codec import RECIPES, from_json
from ensample.errors import InvalidArgument, StorageError
from ensample.experiments.reward import Reward
from ensample.service.auth import Key
from ensample.service.catalog import Hosted
from ensample.service.endpoint import Call, Query, get, json_response, post, put
from ensample.service.errors import HTTPError
from ensample.service.limits import check_actions, check_names, check_numbers
from ensample.service.schemas import (
    ActionsChange,
    ExperimentCall,
    ExperimentView,
    Listed,
    PauseCall,
)
from ensample.service.settings import ServiceSettings

ONE = "/v1/experiments/{experiment}"
HASH = Query("hash", ("no", "yes"), "whether to compute the hash of its state")


def recipe_of(description: Any, settings: ServiceSettings) -> Any:
    """Return the recipe that JSON describes, such as {"kind": "EnsembleSampling", "size": 30}."""
    check_numbers("recipe", description, settings.members, settings.depth)
    return from_json("recipe", description, RECIPES)


def features_of(description: Any, settings: ServiceSettings) -> Any:
    check_numbers("features", description, settings.columns, settings.depth)
    return from_json("features", description, ("Features", "Encoder"))


def arguments_of(body: ExperimentCall, settings: ServiceSettings) -> dict[str, Any]:
    """Return the arguments of the experiment that a body describes."""
    rules, features, recipe = body.reward, body.features, body.recipe
    found: dict[str, Any] = {
        "actions": body.actions,
        "reward": None if rules is None else Reward(*astuple(rules)),
        "features": None if features is None else features_of(features, settings),
        "recipe": None if recipe is None else recipe_of(recipe, settings),
        "floor": body.floor,
        "baseline": body.baseline,
        "seed": body.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def hosted(call: Call) -> Hosted:
    """Return the experiment that a call names."""
    return call.service.catalog[call.path["experiment"]]


def may_see(key: Key | None, name: str) -> bool:
    return key is None or key.experiment in (None, name)


async def time_of(found: Hosted) -> int | None:
    """Return the time before which all events are committed, None if the storage fails."""
    with suppress(StorageError, HTTPError):
        return await found.worker.ask(found.experiment.now)
    return None


async def view(call: Call, found: Hosted, hashed: bool = False) -> ExperimentView:
    experiment = found.experiment
    paused = found.name in call.service.store.paused()

    def answer() -> ExperimentView:
        return ExperimentView(
            name=found.name,
            settings=experiment.settings.described(),
            actions=experiment.actions,
            decisions=experiment.decisions,
            version=experiment.version,
            waiting=experiment.waiting,
            outcomes=experiment.counts,
            events=experiment.events,
            paused=paused,
            hash=experiment.hash if hashed else None,
        )

    return await found.worker.ask(answer)


@put(ONE, "admin", ExperimentCall, ExperimentView, others=(201, 409))
async def put_experiment(call: Call) -> Response:
    """Make an experiment; the same call again changes nothing, another is refused."""
    service, name = call.service, call.path["experiment"]
    check_actions(call.body.actions, service.settings)
    given = arguments_of(call.body, service.settings)
    async with service.creating:
        found, new = await service.in_thread(service.catalog.create, name, given)
    if new:
        service.journal.write("info", "created", experiment=name)
    return json_response(await view(call, found), 201 if new else 200)


@get(ONE, "read", gives=ExperimentView, query=HASH)
async def experiment(call: Call) -> ExperimentView:
    """An experiment as it is now."""
    return await view(call, hosted(call), call.query("hash", HASH.allowed) == "yes")


@get("/v1/experiments", "read", gives=Listed, checks_key=True)
async def experiments(call: Call) -> Listed:
    """Names of experiments."""
    names = sorted(call.service.catalog.hosted)
    return Listed([name for name in names if may_see(call.key, name)])


@post(f"{ONE}/actions", "admin", ActionsChange, ExperimentView)
async def change_actions(call: Call) -> ExperimentView:
    """Actions come and go."""
    found, settings, body = hosted(call), call.service.settings, call.body
    check_actions(body.add, settings)
    check_names("remove", body.remove, settings)
    await found.worker.ask(partial(change, found, body, settings.actions))
    return await view(call, found)


def change(found: Hosted, body: ActionsChange, most: int) -> None:
    """Add and remove actions, but for those that are there or gone already."""
    experiment = found.experiment
    known = set(experiment.actions)
    added = dict(body.add) if isinstance(body.add, dict) else dict.fromkeys(body.add or ())
    removed = dict.fromkeys(body.remove or ())
    for action in set(removed) - known:
        check_label("remove", action)
    if both := set(added) & set(removed):
        expected = "actions that are not added in the same call"
        raise InvalidArgument("remove", min(both), expected)
    new = {action: added[action] for action in added if action not in known}
    old = [action for action in removed if action in known]
    if len(known) + len(new) - len(old) > most:
        raise InvalidArgument("add", len(new), f"at most {most} actions in all")
    if new or old:
        experiment.change(new or None, old or None)


@post(f"{ONE}/pause", "admin", PauseCall, ExperimentView)
async def pause(call: Call) -> ExperimentView:
    """Decide nothing for a while, or again; rewards are taken all the time."""
    service, found, paused = call.service, hosted(call), call.body.paused
    await service.in_thread(service.store.pause, found.name, paused)
    service.journal.write("info", "paused" if paused else "resumed", experiment=found.name)
    return await view(call, found)
