"""A client that sends one call after the other on each of several connections, and notes how long each took.

It speaks just enough HTTP: what it costs is taken from the server's processor as well.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

END, LENGTH = b"\r\n\r\n", b"content-length:"


class Load(NamedTuple):
    """What was measured."""

    calls: int
    seconds: float
    latencies: list[float]  # seconds, sorted
    refused: int  # answers that were not 200

    @property
    def each(self) -> float:
        """Microseconds a call."""
        return self.seconds / self.calls * 1e6

    def at(self, share: float) -> float:
        """Milliseconds that this share of calls took at most."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))] * 1e3


def request(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """Sends the next call when the last one is answered, until it is told to stop."""

    def __init__(
        self, calls: Iterator[bytes], goes_on: Callable[[], bool], done: Callable[[], None]
    ) -> None:
        self.calls, self.goes_on, self.done = calls, goes_on, done
        self.latencies: list[float] = []
        self.refused = 0
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        call = next(self.calls, None) if self.goes_on() else None
        if call is None:
            self._transport.close()
            self.done()
            return
        self._start = time.perf_counter()
        self._transport.write(call)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, rest = self._got.partition(END)
        if not found:
            return
        at = head.lower().index(LENGTH) + len(LENGTH)
        length = int(head[at:].partition(b"\r\n")[0])
        if len(rest) >= length:
            self.latencies.append(time.perf_counter() - self._start)
            self.refused += b" 200 " not in head[:16]
            self._got = rest[length:]
            self._send()


async def many(port: int, calls: Iterator[bytes], clients: int, seconds: float) -> Load:
    loop = asyncio.get_running_loop()
    end = time.perf_counter() + seconds
    left = asyncio.Semaphore(0)
    made = []
    start = time.perf_counter()
    for _ in range(clients):
        connection = Connection(calls, lambda: time.perf_counter() < end, left.release)
        await loop.create_connection(lambda connection=connection: connection, "127.0.0.1", port)  # type: ignore[misc]
        made.append(connection)
    for _ in made:
        await left.acquire()
    spent = time.perf_counter() - start
    latencies = sorted(latency for connection in made for latency in connection.latencies)
    return Load(len(latencies), spent, latencies, sum(connection.refused for connection in made))


def load(port: int, calls: Iterator[bytes], clients: int, seconds: float) -> Load:
    """The calls of this many clients in this time."""
    return asyncio.run(many(port, calls, clients, seconds))
