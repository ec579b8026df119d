"""Pages for people: all experiments, and one of them, with the files that pages need."""

from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.responses import Response

from ensample.extras import package
from ensample.numerals import aligned, numeral, percent, several, signed
from ensample.palette import sheet
from ensample.service.dashboard.charts import brief, shortened
from ensample.service.dashboard.counter import counted, counter_of, present
from ensample.service.dashboard.view import lift_words, looks, scale, view_of
from ensample.service.endpoint import Call, get
from ensample.service.errors import HTTPError
from ensample.service.handlers.experiments import hosted, may_see, time_of

HOST = "localhost:8000"  # in examples, if a call does not say
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def environment() -> Any:
    """Return the templates. Everything is escaped, and a name that is not there is an error."""
    jinja2 = package("jinja2", "the dashboard")
    loader = jinja2.PackageLoader("ensample.service")
    strict = jinja2.StrictUndefined
    found = jinja2.Environment(loader=loader, autoescape=True, undefined=strict, trim_blocks=True)
    filters = (aligned, brief, lift_words, numeral, percent, several, shortened, signed)
    found.filters |= {function.__name__: function for function in filters}
    return found


def page(template: str, **values: Any) -> Response:
    content = environment().get_template(template).render(**values)
    return Response(content, media_type="text/html; charset=utf-8")


@cache
def static_files() -> dict[str, bytes]:
    """Return the files by name: nothing that is asked for becomes a path."""
    folder = files("ensample.service") / "static"
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return found | {"colours.css": sheet().encode()}


@get("/", "read", gives="text/html", page=True, checks_key=True)
async def experiments_page(call: Call) -> Response:
    """All experiments, for people."""
    hosted, broken = call.service.catalog.hosted, call.service.catalog.broken
    rows = [row_of(call, name) for name in sorted(hosted) if may_see(call.key, name)]
    return page(
        "experiments.html",
        rows=rows,
        broken=[name for name in broken if may_see(call.key, name)],
        host=call.headers.get("host", HOST),
    )


def row_of(call: Call, name: str) -> dict[str, Any]:
    experiment = call.service.catalog[name].experiment
    return {
        "name": name,
        "paused": name in call.service.store.paused(),
        "actions": len(experiment.actions),
        "decisions": experiment.decisions,
        "version": experiment.version,
        "waiting": experiment.waiting,
        "lift": lift_of(experiment),
    }


def lift_of(experiment: Any) -> str:
    """Return the lift when it was last counted, unless it is being counted now."""
    found = counter_of(experiment)
    if not found.lock.acquire(blocking=False):
        return ""
    try:
        path, width = looks(found.summary), scale(found.summary)
    finally:
        found.lock.release()
    return f"{signed(width * path[-1].low)} to {signed(width * path[-1].high)}" if path else ""


@get("/experiments/{experiment}", "read", gives="text/html", page=True)
async def experiment_page(call: Call) -> Response:
    """An experiment, for people: lift, rewards, shares, votes, calibration."""
    found, service = hosted(call), call.service
    now = await time_of(found)
    counter, recent = await service.in_thread(lambda: counted(found.experiment, now=now))
    moment = await found.worker.ask(lambda: present(found.experiment, recent))
    values = {
        "name": found.name,
        "paused": found.name in service.store.paused(),
        "host": call.headers.get("host", HOST),
        "time": f"{datetime.now(UTC):%d %b %Y, %H:%M:%S} UTC",
    }

    def rendered() -> Response:
        with counter.lock:
            return page("experiment.html", **values, **view_of(counter, moment))

    return await service.in_thread(rendered)


@get("/static/{name}", "read", gives="text/css", others=(404,), page=True, checks_key=True)
async def static_file(call: Call) -> Response:
    """What the pages need."""
    name = call.path["name"]
    content, kind = static_files().get(name), CONTENT_TYPES.get(name[name.rfind(".") :])
    if content is None or kind is None:
        raise HTTPError(404, "expected the name of a file of these pages")
    return Response(content, media_type=kind)
