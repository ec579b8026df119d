"""Pages for people: all experiments, and one of them."""

from typing import Any

from starlette.responses import Response

from ensample.numerals import signed
from ensample.service.calls import Call
from ensample.service.dashboard.counting import counted, known
from ensample.service.dashboard.facts import looks, scale
from ensample.service.dashboard.latency import commit_latency
from ensample.service.dashboard.present import present
from ensample.service.dashboard.view import view_of
from ensample.service.handlers.experiments import hosted, time_of
from ensample.service.pages import page


async def experiments_page(call: Call) -> Response:
    """All that the key may see. Nothing is counted for it: the lift is what was known when it was last counted."""
    catalog, key = call.service.catalog, call.key
    mine = [
        name for name in sorted(catalog.hosted) if key is None or key.experiment in (None, name)
    ]
    broken = {
        name: why
        for name, why in catalog.broken.items()
        if key is None or key.experiment in (None, name)
    }
    host = call.headers.get("host", "localhost:8000")

    def drawn() -> Response:
        return page(
            "experiments.html",
            rows=[row_of(name, catalog.hosted[name]) for name in mine],
            broken=broken,
            host=host,
        )

    return await call.service.aside(drawn)


def row_of(name: str, found: Any) -> dict[str, Any]:
    experiment = found.experiment
    return {
        "name": name,
        "paused": found.paused,
        "actions": len(experiment.actions),
        "decisions": experiment.decisions,
        "version": experiment.version,
        "waiting": experiment.waiting,
        "lift": lift_of(experiment),
    }


def lift_of(experiment: Any) -> str:
    """Unless it is being counted at the moment."""
    found = known(experiment)
    if not found.lock.acquire(blocking=False):
        return ""
    try:
        path, width = looks(found.summary), scale(found.summary)
    finally:
        found.lock.release()
    return f"{signed(width * path[-1].low)} to {signed(width * path[-1].high)}" if path else ""


async def experiment_page(call: Call) -> Response:
    """Counted in a thread of its own for less than a second; what is not counted by then is said to be."""
    found, name, service = hosted(call), call.path("experiment"), call.service
    time = await time_of(found)
    summary, recent = await service.aside(lambda: counted(found.experiment, now=time))
    now = await found.worker.ask(lambda: present(found.experiment, recent))
    host = call.headers.get("host", "localhost:8000")

    def drawn() -> Response:
        with summary.lock:
            view = view_of(name, found.paused, summary, now, commit_latency(service.metrics, name))
        return page("experiment.html", view=view, host=host)

    return await service.aside(drawn)
