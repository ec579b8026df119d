"""Run a service under moderate traffic for half an hour and watch memory, open files and latency.

`python -m benchmarks.soak --minutes 30` prints a line a minute.
"""

import http.client
import json
import os
import random
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.service import served

ONE = "/v1/experiments/soak"
EXPERIMENT = {
    "actions": ["sport", "politics", "culture", "weather"],
    "features": {"kind": "Hashing", "dim": 32},
    "recipe": {"kind": "EnsembleSampling", "size": 32},
    "reward": {"low": 0, "high": 1, "wait": "20 s", "default": 0},
}
BATCH, FILLED = 500, 60_000  # decisions before the first minute
HEAD = "minute   calls  p50 ms  p99 ms CPU us/call page ms  RSS MB files"


class Minute(NamedTuple):
    """Measurements of one minute."""

    number: int
    calls: int
    half: float  # milliseconds that half of the decisions took at most
    most: float  # and 99%
    cpu: float  # microseconds of the server's processor a call, which other processes change less
    page: float  # milliseconds of the dashboard
    memory: float  # MB that are resident
    files: int  # open

    def __str__(self) -> str:
        return (
            f"{self.number:6d} {self.calls:7d} {self.half:7.2f} {self.most:7.1f} {self.cpu:11.0f} "
            f"{self.page:7.0f} {self.memory:7.1f} {self.files:5d}"
        )


class Visitor(threading.Thread):
    """Thread that decides, and sends most rewards, at an even pace on one connection."""

    def __init__(self, port: int, rate: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._pause, self._rng = 1.0 / rate, random.Random(seed)
        self.stopping = threading.Event()
        self.latencies: list[float] = []
        self.calls = 0
        self.error: Exception | None = None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a call, again if the server closed an idle connection, which ids make safe."""
        try:
            answer, content = self._sent(method, path, body)
        except (ConnectionError, http.client.HTTPException):
            self._http.close()
            answer, content = self._sent(method, path, body)
        self.calls += 1
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:200]!r}")
        return json.loads(content) if content.startswith(b"{") else content

    def _sent(self, method: str, path: str, body: Any) -> tuple[http.client.HTTPResponse, bytes]:
        self._http.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {"content-type": "application/json"},
        )
        answer = self._http.getresponse()
        return answer, answer.read()

    def run(self) -> None:
        try:
            while not self.stopping.wait(self._pause):
                self.visit()
        except Exception as error:
            self.error = error

    def take(self) -> list[float]:
        """Return the latencies since the last call; raise what went wrong."""
        if self.error is not None:
            raise self.error
        latencies, self.latencies = self.latencies, []
        return latencies

    def visit(self) -> None:
        context = {
            "age": self._rng.random(),
            "device": self._rng.choice(["phone", "tablet", "desk"]),
        }
        start = time.perf_counter()
        decision = self.call(
            "POST", f"{ONE}/decide", {"id": secrets.token_hex(12), "context": context}
        )
        self.latencies.append(time.perf_counter() - start)
        if self._rng.random() < 0.9:  # the others get the default value later
            liked = self._rng.random() < context["age"] * (decision["action"] == "sport")
            self.call("POST", f"{ONE}/decisions/{decision['id']}/reward", {"value": int(liked)})


def fill(visitor: Visitor, decisions: int) -> None:
    """Send so many decisions and rewards.

    Until then memory grows: the database caches 32 MB of its pages.
    """
    for start in range(0, decisions, BATCH):
        ids = [f"{visitor._rng.getrandbits(96):024x}" for _ in range(BATCH)]
        visitor.call(
            "POST",
            f"{ONE}/decide",
            [{"id": id, "context": {"age": start % 7 / 7, "device": "desk"}} for id in ids],
        )
        visitor.call("POST", f"{ONE}/rewards", [{"id": id, "value": 0} for id in ids])


def soak(
    folder: Path,
    minutes: int,
    rate: float,
    clients: int = 4,
    length: float = 60.0,
    filled: int = FILLED,
) -> "list[Minute]":
    """Print each minute when it is over, and return all of them."""
    found = []
    with served(folder / "data") as (port, server):
        watcher = Visitor(port, 1.0, -1)
        watcher.call("PUT", ONE, EXPERIMENT)
        fill(watcher, filled)
        visitors = [Visitor(port, rate / clients, seed) for seed in range(clients)]
        for visitor in visitors:
            visitor.start()
        typer.echo(HEAD)
        for number in range(1, minutes + 1):
            calls, cpu = sum(visitor.calls for visitor in visitors), processor(server.pid)
            time.sleep(length)
            latencies = [latency for visitor in visitors for latency in visitor.take()]
            made = sum(visitor.calls for visitor in visitors) - calls
            spent = processor(server.pid) - cpu
            start = time.perf_counter()
            watcher.call("GET", "/experiments/soak")
            page = time.perf_counter() - start
            half, most = (float(value) * 1e3 for value in np.quantile(latencies, (0.5, 0.99)))
            memory, files = resident(server.pid), len(os.listdir(f"/proc/{server.pid}/fd"))
            found.append(
                Minute(number, made, half, most, spent / made * 1e6, page * 1e3, memory, files)
            )
            typer.echo(str(found[-1]))
        for visitor in visitors:
            visitor.stopping.set()
            visitor.join()
        watcher.call("GET", "/readyz")
    return found


def processor(pid: int) -> float:
    """Return the CPU seconds of a process."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(
    minutes: Annotated[int, typer.Option(min=1)] = 30,
    rate: Annotated[float, typer.Option(help="visits a second")] = 60.0,
    folder: Annotated[Path, typer.Option(help="where the service keeps its files")] = Path("."),
) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as kept:
        found = soak(Path(kept), minutes, rate)
        size = sum(path.stat().st_size for path in Path(kept).rglob("*") if path.is_file()) / 1e6
    typer.echo(
        f"{sum(minute.calls for minute in found)} calls; {size:.0f} MB of files with the log"
    )


if __name__ == "__main__":
    typer.run(main)
