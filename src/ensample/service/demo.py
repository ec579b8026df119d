"""`make serve-demo`: a service with simulated visitors of a newspaper, who like what people of their age like."""

import http.client
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

EXPERIMENT = {
    "actions": ["sport", "politics", "culture", "weather"],
    "reward": {"low": 0, "high": 1, "wait": "5 s", "default": 0},
    "baseline": ["sport", 0.1],
    "floor": 0.05,
}
ONE = "/v1/experiments/news"
LIKES = {
    "sport": (0.5, -0.3),
    "politics": (0.2, 0.3),
    "culture": (0.15, 0.1),
    "weather": (0.3, 0.0),
}  # at 20, and more at 80


class Visitors:
    """Calls a service as a newspaper would: a decision for each, and a reward when somebody reads on."""

    def __init__(self, host: str, port: int, seed: int = 0, **headers: str) -> None:
        self._http = http.client.HTTPConnection(host, port, timeout=30)
        self._headers = {"content-type": "application/json", **headers}
        self._rng = random.Random(seed)
        self.clicks = self.visits = 0

    def call(self, method: str, path: str, body: Any = None) -> Any:
        self._http.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._http.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content.decode()[:300]}")
        return json.loads(content) if content.startswith((b"{", b"[")) else content.decode()

    def begin(self) -> None:
        self.call("PUT", ONE, EXPERIMENT)

    def visit(self) -> None:
        age, device = self._rng.randint(18, 80), self._rng.choice(["phone", "tablet", "desk"])
        decision = self.call(
            "POST", f"{ONE}/decide", {"context": {"age": age / 80, "device": device}}
        )
        first, more = LIKES[decision["action"]]
        self.visits += 1
        if self._rng.random() < first + more * (age - 18) / 62:
            self.clicks += 1
            self.call("POST", f"{ONE}/decisions/{decision['id']}/reward", {"value": 1})
        elif self._rng.random() < 0.9:  # the others went away, and nobody knows
            self.call("POST", f"{ONE}/decisions/{decision['id']}/reward", {"value": 0})


def play(
    visitors: Visitors,
    seconds: float,
    shown: Callable[[float], object] = lambda _: None,
    pause: float = 0.01,
) -> None:
    """For a while; `shown` is told the share that is over."""
    visitors.begin()
    start = time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        visitors.visit()
        shown(min(1.0, passed / seconds))
        time.sleep(pause)
    shown(1.0)


def waited(visitors: Visitors, server: "subprocess.Popen[bytes]") -> None:
    """Wait until the service is ready."""
    while server.poll() is None:
        try:
            visitors.call("GET", "/readyz")
            return
        except (OSError, RuntimeError, http.client.HTTPException):
            visitors._http.close()
            time.sleep(0.1)
    raise SystemExit("the service did not start")


def main(
    data: Annotated[str, typer.Option(help="where everything is kept")] = "build/serve-demo",
    port: Annotated[int, typer.Option(help="where it listens")] = 8000,
    seconds: Annotated[float, typer.Option(help="how long visitors come")] = 30.0,
    stays: Annotated[bool, typer.Option(help="whether it goes on afterwards, until Ctrl-C")] = True,
) -> None:
    """Start a service, play simulated traffic, and say where to look at it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    command = [
        sys.executable,
        "-m",
        "ensample",
        "serve",
        "--data",
        data,
        "--port",
        str(port),
        "--log-level",
        "warning",
    ]
    server = subprocess.Popen(command)
    try:
        visitors = Visitors("127.0.0.1", port)
        waited(visitors, server)
        with Progress(console=console) as bars:
            task = bars.add_task("visitors", total=1.0)
            play(visitors, seconds, lambda share: bars.update(task, completed=share))
        typer.echo(
            f"{visitors.visits} visitors, {visitors.clicks} read on: http://127.0.0.1:{port}/"
        )
        if stays:
            typer.echo("Ctrl-C stops it")
            server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    typer.run(main)
