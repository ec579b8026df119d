"""Decisions over HTTP beside the framework's hello-world, and our client beside httpx."""

import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.http_load import Load, load, request

CLIENTS, SECONDS = 32, 3.0
FEW_CALLS, MANY_CALLS = 16, 400  # tasks of one process that call at the same time
ACTIONS = [f"action {number}" for number in range(10)]
EXPERIMENT = {
    "actions": ACTIONS,
    "features": {"kind": "Hashing", "dim": 20},
    "recipe": {"kind": "EnsembleSampling", "size": 32},
}
HELLO = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def hello(request):
    return JSONResponse({"hello": "world"})

app = Starlette(routes=[Route("/", hello)])
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False)
"""


class Measured(NamedTuple):
    """One turn."""

    hello: Load
    decide: Load
    alone: Load  # one client
    greeted: Load  # one client: the share of client, server and network in `alone`
    sync: float  # milliseconds for a page to be on the disk, the median


@contextmanager
def served(data: Path, **environment: str) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Start `ensample serve` in a process of its own; yield its port and the process."""
    command = [sys.executable, "-m", "ensample", "serve", "--data", str(data), "--port", "0"]
    log_path = data.with_name(f"{data.name}.log")
    with log_path.open("w") as log:
        server = subprocess.Popen(command, stderr=log, env={**os.environ, **environment})
    try:
        yield wait_for(port_of(log_path, server), "/readyz"), server
    finally:
        server.terminate()
        server.wait()


def port_of(log_path: Path, server: "subprocess.Popen[bytes]") -> int:
    """Return the port that the log of a service names."""
    while server.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", log_path.read_text())
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"the service ended before it listened: {log_path.read_text()}")


@contextmanager
def greeting() -> Iterator[int]:
    """Start the hello-world; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", HELLO, str(port)])
    try:
        yield wait_for(port, "/")
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, path: str) -> int:
    """Return the port as soon as it answers."""
    for _ in range(3_000):
        try:
            if load(port, iter([request("GET", path)]), 1, 5.0).calls:
                return port
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no answer on port {port}")


def decide_calls() -> Iterator[bytes]:
    """Yield calls of decide, each with a context of its own."""
    numbers = count()
    return (request("POST", "/v1/experiments/bench/decide", body(next(numbers))) for _ in numbers)


def body(number: int) -> bytes:
    context = {
        "age": number % 50 / 50,
        "device": ("phone", "tablet")[number % 2],
        "new": number % 3 == 0,
    }
    return json.dumps({"context": context}).encode()


def create_experiment(port: int) -> None:
    body = json.dumps(EXPERIMENT).encode()
    assert load(port, iter([request("PUT", "/v1/experiments/bench", body)]), 1, 60.0).calls == 1


def synced(folder: Path, times: int = 100) -> float:
    """Return the median milliseconds of writing a page to an existing file, as a WAL does.

    A decision's commit takes longer: it writes two pages, and the disk was idle before.
    """
    found = []
    with tempfile.TemporaryFile(dir=folder) as file:
        os.write(file.fileno(), bytes(4_096 * times))
        os.fsync(file.fileno())
        for place in range(times):
            start = time.perf_counter()
            os.pwrite(file.fileno(), b"\1" * 4_096, place * 4_096)
            os.fdatasync(file.fileno())
            found.append(time.perf_counter() - start)
    return statistics.median(found) * 1e3


class Clients(NamedTuple):
    """Decisions a second of one process, in one turn."""

    bare: float  # httpx.AsyncClient, FEW_CALLS at once
    ours: float  # ensample.client.AsyncClient, FEW_CALLS at once
    many: float  # ours, MANY_CALLS at once


def measured_clients(folder: Path, turns: int, seconds: float = SECONDS) -> Iterator[Clients]:
    """Yield turn by turn, after one to warm up."""
    with served(folder / "clients") as (port, _):
        create_experiment(port)
        for turn in range(turns + 1):
            bare = asyncio.run(bare_rate(port, seconds))
            ours = (
                asyncio.run(client_rate(port, tasks, seconds)) for tasks in (FEW_CALLS, MANY_CALLS)
            )
            found = Clients(bare, *ours)
            if turn:
                yield found


async def bare_rate(port: int, seconds: float) -> float:
    import httpx

    address = f"http://127.0.0.1:{port}/v1/experiments/bench/decide"
    async with httpx.AsyncClient(verify=False) as http:

        async def call(number: int) -> None:
            answer = await http.post(address, content=body(number))
            assert answer.status_code == 200 and answer.json()["action"]

        return await rate(call, FEW_CALLS, seconds)


async def client_rate(port: int, tasks: int, seconds: float) -> float:
    from ensample.client import AsyncClient

    async with AsyncClient(f"http://127.0.0.1:{port}") as client:

        async def call(number: int) -> None:
            await client.decide("bench", json.loads(body(number))["context"])

        return await rate(call, tasks, seconds)


async def rate(call: Callable[[int], Awaitable[None]], tasks: int, seconds: float) -> float:
    """Return the calls a second of so many tasks, each of which makes one after the other."""
    numbers, start = count(), time.perf_counter()

    async def work() -> None:
        while time.perf_counter() < start + seconds:
            await call(next(numbers))

    await asyncio.gather(*(work() for _ in range(tasks)))
    return next(numbers) / (time.perf_counter() - start)


def measured_service(folder: Path, turns: int, seconds: float = SECONDS) -> Iterator[Measured]:
    """Yield turn by turn, after one to warm up."""
    with served(folder / "data") as (port, _), greeting() as hello:
        create_experiment(port)
        decides, greetings = decide_calls(), iter(lambda: request("GET", "/"), None)
        for turn in range(turns + 1):
            found = Measured(
                load(hello, greetings, CLIENTS, seconds),
                load(port, decides, CLIENTS, seconds),
                load(port, decides, 1, seconds / 2),
                load(hello, greetings, 1, seconds / 6),
                synced(folder),
            )
            assert found.hello.refused == found.decide.refused == found.alone.refused == 0
            if turn:
                yield found
