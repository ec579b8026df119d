"""Two servers on one PostgreSQL under load, of which one is paused within a batch, or cut off.

    python -m service.try_postgres_stalls pause|cut STALLS FOLDER ADDRESS [unlimited]

`pause` stops the process of a server (SIGSTOP) while it holds the lock of the experiment. `cut` has
the proxy between it and the database forward nothing, within a batch too: connections stay open,
and no byte arrives. The other server should go on soon, the one that is cut off should refuse its
calls in time and say why it is not ready, and afterwards both should work as before.

It prints what `service.try_kills` prints, and in seconds, the longest of all stalls: `waited` until
the other server answered again, `slowest` answer of the server that was cut off, `others` its
slowest answer to a call that needs no event, `back` until it worked again afterwards. `unlimited`
is the mistake to be found: no limit of time is set.
"""

import asyncio
import json
import math
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from ensample.experiments.storage import postgres_pool
from ensample.experiments.storage.postgres import PostgresReader, prepared_database
from ensample.experiments.storage.postgres_pool import PostgresPool
from service.try_kills import (
    COUNTS,
    Ask,
    Client,
    called,
    ended,
    hash_of,
    import_all,
    look,
    made,
    started,
)
from service.try_postgres_kills import NAME

CLIENTS = 6
LABELS = ("server-a", "server-b")  # by which the database knows them
HEALTHY = ("/healthz", "/v1/experiments")  # calls that need no event
PAUSED, CUT = 4.0, 6.0  # seconds that a stall lasts
HOLDERS = """
SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
WHERE application_name = %s AND state = 'idle in transaction'
AND state_change < clock_timestamp() - interval '150 milliseconds'
AND relation = 'ensample_streams'::regclass AND mode = 'RowShareLock'
"""  # a batch that has begun and not locked its row yet keeps nobody waiting

Found = dict[str, Any]


class TimedClient(Client):
    """A client that remembers when its calls were answered."""

    def __init__(self, number: int, found: Found) -> None:
        super().__init__(number, found)
        self.worked = self.sent = time.monotonic()  # of the last 200, and of the present call
        self.slowest = 0.0
        self.stopping = False

    def next(self) -> Ask:
        if self.stopping:
            raise ConnectionAbortedError  # which ends `play`, with nothing under way
        self.sent = time.monotonic()
        return super().next()

    def note(self, status: int, seconds: float) -> None:
        self.slowest = max(self.slowest, seconds)
        if status == 200:
            self.worked = time.monotonic()


class Proxy:
    """Forwards both ways between `listener` and the database as long as it is `forwarding`."""

    def __init__(self, listener: socket.socket, address: str) -> None:
        self.listener, self.target = listener, urlsplit(address)
        self.forwarding = asyncio.Event()
        self.forwarding.set()

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._connect, sock=self.listener)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self.target.hostname, self.target.port)
        with suppress(asyncio.CancelledError):  # at the end of all
            await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self.forwarding.wait()
                writer.write(data)
        except OSError:
            pass
        await self.forwarding.wait()  # nor does it tell of an end
        writer.close()


class Trial:
    """Two servers with their clients and proxies. Server 0 or 1 is stalled, again and again."""

    def __init__(
        self, servers: list[tuple[int, int]], proxies: list[Proxy], address: str, found: Found
    ) -> None:
        self.servers, self.proxies, self.found = servers, proxies, found
        self.clients = [TimedClient(number, found) for number in range(CLIENTS)]
        self.database = psycopg.connect(address, autocommit=True)

    def clients_of(self, server: int) -> list[TimedClient]:
        return self.clients[server::2]

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        for _, port in self.servers:
            await made(port)
        first = asyncio.Event()
        tasks = [
            asyncio.create_task(client.play(self.servers[place % 2][1], first))
            for place, client in enumerate(self.clients)
        ]
        yield
        for client in self.clients:
            client.stopping = True
        await asyncio.gather(*tasks)

    async def until_working(self, server: int, since: float, most: float = 60.0) -> float:
        """Return the seconds from `since` until all clients of a server have had an answer."""
        while (
            any(client.worked <= since for client in self.clients_of(server))
            and time.monotonic() < since + most
        ):
            await asyncio.sleep(0.005)
        return time.monotonic() - since

    async def pause(self, victim: int) -> None:
        process = self.servers[victim][0]
        stop, go_on = (partial(os.kill, process, how) for how in (signal.SIGSTOP, signal.SIGCONT))
        await self._stalled(victim, await self._within_batch(victim, stop, go_on), PAUSED)
        go_on()

    async def cut(self, victim: int) -> None:
        proxy = self.proxies[victim]
        start = await self._within_batch(victim, proxy.forwarding.clear, proxy.forwarding.set)
        for client in self.clients_of(victim):
            client.slowest = 0.0
        port = self.servers[victim][1]
        healthy = asyncio.create_task(self._watch_others(port))
        await self._stalled(victim, start, CUT)
        healthy.cancel()
        status, answer = await called("GET", port, "/readyz")
        self.found["unsaid"] += not (status == 503 and answer.get("database"))
        for client in self.clients_of(victim):
            self.found["slowest"] = max(
                self.found["slowest"], client.slowest, time.monotonic() - client.sent
            )
        proxy.forwarding.set()

    async def _watch_others(self, port: int) -> None:
        while True:
            start = time.monotonic()
            try:
                await asyncio.gather(*(called("GET", port, path) for path in HEALTHY))
            finally:  # also of a call that has no answer yet when this is cancelled
                self.found["others"] = max(self.found["others"], time.monotonic() - start)
            await asyncio.sleep(0.05)

    async def _within_batch(
        self, victim: int, stop: Callable[[], None], go_on: Callable[[], None]
    ) -> float:
        """Stop a server while it holds the lock. Return when it was stopped."""
        while True:
            stop()
            start = time.monotonic()
            await asyncio.sleep(0.2)
            if self.database.execute(HOLDERS, (LABELS[victim],)).fetchone() != (0,):
                return start
            go_on()
            await asyncio.sleep(0.01)

    async def _stalled(self, victim: int, start: float, seconds: float) -> None:
        await asyncio.sleep(0.05)  # answers that were on their way are no sign of life
        waited = await self.until_working(1 - victim, start + 0.05, seconds)
        self.found["waited"] = max(self.found["waited"], waited)
        await asyncio.sleep(max(0.0, start + seconds - time.monotonic()))

    async def run(self, stall: Callable[[int], Awaitable[None]], stalls: int) -> None:
        rng = random.Random(7)
        servers = [await proxy.serve() for proxy in self.proxies]
        async with self.load():
            for number in range(stalls):
                for server in (0, 1):
                    await self.until_working(server, time.monotonic())
                await asyncio.sleep(rng.random() * 0.1)
                victim = number % 2
                await stall(victim)
                self.found["back"] = max(
                    self.found["back"], await self.until_working(victim, time.monotonic())
                )
                self.found["stalls"] += 1
        await asyncio.sleep(1.0)  # without limits the keys that were read last are old
        hashes = {await hash_of(port) for _, port in self.servers}
        self.found["differ"] += len(hashes) - 1
        self.hash = hashes.pop()
        for server in servers:
            server.close()


def address_for(server: int, listener: socket.socket | None, address: str) -> str:
    """Return the address of the database with the label of a server, and by way of its proxy."""
    parts = urlsplit(address)._replace(query=f"application_name={LABELS[server]}")
    if listener is not None:
        parts = parts._replace(netloc=f"{parts.username}@127.0.0.1:{listener.getsockname()[1]}")
    return urlunsplit(parts)


def main() -> None:
    kind, stalls, folder, address = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    prepared_database(address)
    import_all()
    if "unlimited" in sys.argv:
        postgres_pool.LIMITS.clear()
        postgres_pool.ANSWER = math.inf
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [
        address_for(place, item if kind == "cut" else None, address)
        for place, item in enumerate(listeners)
    ]
    counts, times = (*COUNTS, "stalls", "unsaid"), ("waited", "slowest", "others", "back")
    found: Found = dict.fromkeys(counts, 0) | dict.fromkeys(times, 0.0)

    async def stalled(servers: list[tuple[int, int]]) -> None:
        trial = Trial(servers, [Proxy(listener, address) for listener in listeners], address, found)
        await trial.run(trial.cut if kind == "cut" else trial.pause, stalls)
        trial.database.close()
        with closing(PostgresPool(address)) as pool:
            look(PostgresReader(pool, NAME), list(trial.clients), found, trial.hash)

    servers = [started(folder / name, database=addresses[place]) for place, name in enumerate("ab")]
    try:
        asyncio.run(stalled(servers))
    finally:
        for child, _ in servers:
            ended(child)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
