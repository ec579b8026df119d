"""From settings to a service that listens."""

import asyncio
import gc
import logging
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import uvicorn

from ensample.errors import InvalidArgument
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.connections import Connections, RefusalLog, connection_limits
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings, is_loopback
from ensample.service.store import StorageOf, exists, open_store

SWITCH = 0.0005  # seconds a thread may keep the interpreter: the loop and the workers alternate
GC_THRESHOLDS = (10_000, 20, 50)  # a full collection takes 100 ms where 100,000 decisions are open
BACKLOG = 2_048  # connections that wait
CALLS = 2_000  # calls at once
GRACE = 30  # seconds for the calls under way when the service stops


def check_safe(settings: ServiceSettings) -> None:
    """Raise if other machines could call without a key."""
    if is_loopback(settings.host) or has_key(settings):
        return
    where = "--database ..." if settings.database else f"--data {settings.data}"
    command = f"ensample key new --role admin {where}"
    expected = f"127.0.0.1 as long as there is no key: {command}"
    raise InvalidArgument("host", settings.host, expected)


def has_key(settings: ServiceSettings) -> bool:
    """Return True if there is a key that was not revoked."""
    if not exists(settings):
        return False
    store = open_store(settings)
    try:
        return any(key.revoked is None for key in store.all_keys().values())
    finally:
        store.close()


def listening(settings: ServiceSettings) -> socket.socket:
    """Return a socket that is bound to the address. Port 0 is any free one."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found: socket.socket | None = None
    try:
        # asyncio sets TCP_NODELAY only where the protocol is given; else an answer waits 40 ms
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((settings.host, settings.port))
    except OSError as error:
        if found is not None:
            found.close()
        expected = f"an address of this machine that is free ({error.strerror or error})"
        raise InvalidArgument("host:port", f"{settings.host}:{settings.port}", expected) from None
    return found


def url_of(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def log_warnings(journal: Journal) -> None:
    """Write Python's warnings to the log from now on."""

    def write(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        journal.write("warning", "warning", type=category.__name__, message=str(message))

    warnings.showwarning = write


def run(
    settings: ServiceSettings,
    listener: socket.socket,
    storage_of: StorageOf = SQLiteStorage,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve until the process is told to stop. `ready` gets the address once calls are answered."""
    journal = Journal(settings.log_level)
    service = Service(settings, journal, storage_of)  # raises if another service has the folder
    sys.setswitchinterval(SWITCH)
    log_warnings(journal)

    def announce() -> None:
        gc.collect()
        gc.freeze()  # what is there now stays
        gc.set_threshold(*GC_THRESHOLDS)
        ready(url_of(listener))
        journal.write("info", "ready", address=url_of(listener))

    server_of(service, announce).run(sockets=[listener])


def server_of(service: Service, ready: Callable[[], None]) -> "Server":
    """Return a server of the application. `ready` is called when it answers."""
    most, backlog = connection_limits(service.settings.connections, BACKLOG)
    connections = Connections(most, service.settings.headers, service.journal)
    config = uvicorn.Config(
        connections.watch(application(service)),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # callers are known by their keys only
        date_header=False,
        ws="none",
        http=connections.protocol(),
        lifespan="on",
        backlog=backlog,
        limit_concurrency=max(CALLS, 2 * most),
        timeout_graceful_shutdown=GRACE,
    )
    return Server(config, connections.refused, ready)


class Server(uvicorn.Server):
    """A server that calls back when it is ready, and counts the connections it refuses."""

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
        logger, self._refused.thread = logging.getLogger("uvicorn.error"), threading.get_ident()
        logger.addFilter(self._refused)
        try:
            await super().serve(sockets)
        finally:
            logger.removeFilter(self._refused)
