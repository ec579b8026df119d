"""A load generator: several connections, each with one call after the other.

It speaks just enough HTTP, since what it costs is taken from the server's processor as well.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

END, LENGTH = b"\r\n\r\n", b"content-length:"


class Load(NamedTuple):
    """The answers of one measurement."""

    calls: int
    seconds: float
    latencies: list[float]  # seconds, sorted
    refused: int  # answers that were not 200

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    def milliseconds(self, share: float) -> float:
        """Return the quantile of the latencies."""
        place = min(len(self.latencies) - 1, int(share * len(self.latencies)))
        return self.latencies[place] * 1e3


def request(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """Sends the next call when the last one is answered, until its time is over."""

    def __init__(self, calls: Iterator[bytes], end: float, done: Callable[[], None]) -> None:
        self.calls, self.end, self.done = calls, end, done
        self.latencies: list[float] = []
        self.refused = 0
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        call = next(self.calls, None) if time.perf_counter() < self.end else None
        if call is None:
            self._transport.close()
            self.done()
            return
        self._start = time.perf_counter()
        self._transport.write(call)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(END)
        if not found:
            return
        at = head.lower().index(LENGTH) + len(LENGTH)
        length = int(head[at:].partition(b"\r\n")[0])
        if len(rest) >= length:
            self.latencies.append(time.perf_counter() - self._start)
            self.refused += b" 200 " not in head[:16]
            self._received = rest[length:]
            self._send()


def same(connection: Connection) -> Connection:
    return connection


async def send_all(port: int, calls: Iterator[bytes], clients: int, seconds: float) -> Load:
    loop, left = asyncio.get_running_loop(), asyncio.Semaphore(0)
    start = time.perf_counter()
    connections = [Connection(calls, start + seconds, left.release) for _ in range(clients)]
    for connection in connections:
        await loop.create_connection(partial(same, connection), "127.0.0.1", port)
    for _ in connections:
        await left.acquire()
    spent = time.perf_counter() - start
    latencies = sorted(latency for one in connections for latency in one.latencies)
    return Load(len(latencies), spent, latencies, sum(one.refused for one in connections))


def load(port: int, calls: Iterator[bytes], clients: int, seconds: float) -> Load:
    """Send calls from this many clients for this time."""
    return asyncio.run(send_all(port, calls, clients, seconds))
