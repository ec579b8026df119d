"""Open connections: how many there may be, and how long a request's headers may take."""

import asyncio
import logging
import resource
from collections import Counter
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ensample.service.journal import Journal

FILES = 512  # descriptors that are left to experiments
MOST_FILES = 65_536  # descriptors that are asked for
PAUSE = 1.0  # seconds between two lines about refused connections

Address = tuple[str, int]


def connection_limits(connections: int, backlog: int) -> tuple[int, int]:
    """Raise the limit of descriptors.

    Return how many connections may be open and wait within it.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    half = max(16, (most - FILES) // 2)
    return min(connections, half), min(backlog, half)


class Connections:
    """The open connections of a server.

    One whose headers are not complete after `seconds`, or that asks nothing for so long, is
    closed. If more than `most` are open, the one that has waited longest is closed: half-sent
    requests keep nobody out.
    """

    def __init__(self, most: int, seconds: float, journal: Journal) -> None:
        self.most, self.seconds = most, seconds
        self.refused = RefusalLog(journal)
        self._open: dict[Address, asyncio.Transport] = {}
        self._waiting: dict[Address, float] = {}  # deadlines of those that ask nothing, in order
        self._calls: Counter[Address] = Counter()  # under way
        self._timer: asyncio.TimerHandle | None = None

    def protocol(self) -> type[asyncio.Protocol]:
        """Return a subclass of uvicorn's protocol that registers its connections here."""
        connections = self

        class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                self.raw_transport = transport
                connections.add(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.remove(self.raw_transport)
                super().connection_lost(exc)

        return LimitedProtocol

    def watch(self, app: ASGIApp) -> ASGIApp:
        """Return an application during whose calls a connection does not wait for headers."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            address = scope.get("client")
            if address is None:
                await app(scope, receive, send)
                return
            self._waiting.pop(address, None)
            self._calls[address] += 1
            try:
                await app(scope, receive, send)
            finally:
                self._calls[address] -= 1
                if not self._calls[address]:  # in a pipeline the next call may have begun
                    del self._calls[address]
                    self._wait(address)

        return call

    def add(self, transport: asyncio.Transport) -> None:
        address = address_of(transport)
        self._open[address] = transport
        self._wait(address)
        if len(self._open) > self.most:
            self._close(next(iter(self._waiting)), "too many connections")

    def remove(self, transport: asyncio.Transport) -> None:
        address = address_of(transport)
        if self._open.get(address) is transport:
            del self._open[address]
            self._waiting.pop(address, None)

    def _wait(self, address: Address) -> None:
        if address not in self._open:
            return
        loop = asyncio.get_running_loop()
        self._waiting[address] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._close_late)

    def _close_late(self) -> None:
        loop = asyncio.get_running_loop()
        for address, deadline in list(self._waiting.items()):
            if deadline > loop.time():
                self._timer = loop.call_at(deadline, self._close_late)
                return
            self._close(address, "no headers in time")
        self._timer = None

    def _close(self, address: Address, why: str) -> None:
        self._waiting.pop(address)
        self._open.pop(address).abort()  # close() would wait for a client that reads nothing
        self.refused.add(why)


def address_of(transport: asyncio.Transport) -> Address:
    """Return the client's address as ASGI has it."""
    host, port, *_ = transport.get_extra_info("peername") or ("", id(transport))
    return host, port


class RefusalLog(logging.Filter):
    """Logs refused connections with their number, at most once a second.

    As a filter of uvicorn's logger it counts the warnings of one thread, each of which is about a
    client's mistake. Other servers of the process have filters of their own.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.thread = 0  # of the server
        self._journal = journal
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, why: str) -> None:
        self._counts[why] += 1
        if self._timer is None:
            self._write()

    def _write(self) -> None:
        for why, count in self._counts.items():
            self._journal.write("warning", "refused", why=why, connections=count)
        busy = bool(self._counts)
        self._counts.clear()
        self._timer = asyncio.get_running_loop().call_later(PAUSE, self._write) if busy else None

    def filter(self, record: logging.LogRecord) -> bool:
        is_ours = record.levelno == logging.WARNING and record.thread == self.thread
        if is_ours:
            self.add(record.getMessage())
        return not is_ours

    def on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error of the event loop.

        If no connection can be accepted there are thousands of them.
        """
        if isinstance(context.get("exception"), OSError) and "socket" in context:
            self.add(str(context.get("message")))
        else:
            loop.default_exception_handler(context)
