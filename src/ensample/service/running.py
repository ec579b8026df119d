"""From settings to a service that listens."""

import asyncio
import gc
import logging
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from ensample.errors import InvalidArgument
from ensample.experiments.storage.base import Storage
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.connections import Connections, RefusalLog, connection_limits
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.service_settings import ServiceSettings, is_loopback
from ensample.service.store import is_begun, store_of

SWITCH = 0.0005  # seconds that a thread may keep the interpreter from another: the loop and the workers wait for each other
THRESHOLDS = (
    10_000,
    20,
    50,
)  # looking for what refers to itself takes 100 ms where 100,000 decisions are open: seldom, then
BACKLOG, CALLS, GRACE = (
    2_048,
    2_000,
    30,
)  # connections that wait, calls at once, seconds for those under way when it stops


def check_safe(settings: ServiceSettings) -> None:
    """Raise where others could call and nobody asks them for a key."""
    if is_loopback(settings.host):
        return
    if not has_key(settings):
        where = "--database ..." if settings.database else f"--data {settings.data}"
        command = f"ensample key new --role admin {where}"
        raise InvalidArgument(
            "host", settings.host, f"127.0.0.1 as long as there is no key: {command}"
        )


def has_key(settings: ServiceSettings) -> bool:
    """One that was not revoked."""
    if not is_begun(settings):
        return False
    store = store_of(settings)
    try:
        return any(key.revoked is None for key in store.known().values())
    finally:
        store.close()


def listening(settings: ServiceSettings) -> socket.socket:
    """A socket at the address; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found: socket.socket | None = None
    try:
        # asyncio sends at once (TCP_NODELAY) only where it is told that this is TCP; else an answer waits 40 ms for its end
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((settings.host, settings.port))
    except OSError as error:
        if found is not None:
            found.close()
        expected = f"an address of this machine that is free ({error.strerror or error})"
        raise InvalidArgument("host:port", f"{settings.host}:{settings.port}", expected) from None
    return found


def address_of(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def tell_warnings(journal: Journal) -> None:
    """Python's warnings of this process from now on: lines of JSON as all others."""

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        journal.warning("warning", type=category.__name__, message=str(message))

    warnings.showwarning = tell


def run(
    settings: ServiceSettings,
    listener: socket.socket,
    storage_of: Callable[[Path], Storage] = SQLiteStorage,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Until it is told to stop: then calls under way are answered, and the files closed. `ready` is told when it answers."""
    journal = Journal(settings.log_level)
    service = Service(
        settings, journal, storage_of
    )  # which says at once that another one has the folder
    sys.setswitchinterval(SWITCH)
    tell_warnings(journal)

    def announce() -> None:
        gc.collect()
        gc.freeze()  # what is there now stays: there is no use in looking at it again and again
        gc.set_threshold(*THRESHOLDS)
        ready(address_of(listener))
        journal.info("ready", address=address_of(listener))

    server_of(service, announce).run(sockets=[listener])


def server_of(service: Service, ready: Callable[[], None]) -> "AnnouncedServer":
    """Return a server of the application; `ready` is called when it answers."""
    most, backlog = connection_limits(service.settings.connections, BACKLOG)
    connections = Connections(most, service.settings.headers, service.journal)
    config = uvicorn.Config(
        connections.watched(application(service)),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody asks who calls but by a key
        date_header=False,
        ws="none",
        http=connections.protocol(),
        lifespan="on",
        backlog=backlog,
        limit_concurrency=max(CALLS, 2 * most),
        timeout_graceful_shutdown=GRACE,
    )
    return AnnouncedServer(config, connections.refused, ready)


class AnnouncedServer(uvicorn.Server):
    """A server that says when it is ready, and counts the connections it refuses."""

    def __init__(
        self, config: uvicorn.Config, refused: RefusalLog, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._refused, self._ready = refused, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._refused.on_error)
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        logger = logging.getLogger("uvicorn.error")
        logger.addFilter(self._refused)
        try:
            await super().serve(sockets)
        finally:
            logger.removeFilter(self._refused)
