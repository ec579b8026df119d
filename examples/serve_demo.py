"""`make serve-demo`: a service with simulated visitors of a newspaper."""

import http.client
import json
import random
import subprocess
import sys
import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

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
}
"""The chance that somebody of 20 reads on, and how much more it is for somebody of 80."""
PAUSE = 0.01  # seconds between two visitors


class Visitors:
    """Calls a service as a newspaper would: a decision each, and a reward if one reads on."""

    def __init__(self, port: int, seed: int = 0) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.rng = random.Random(seed)
        self.clicks = self.visits = 0

    def call(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body)
        self.connection.request(method, path, content, {"content-type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)

    def visit(self) -> None:
        age, device = self.rng.randint(18, 80), self.rng.choice(["phone", "tablet", "desk"])
        context = {"age": age / 80, "device": device}
        decision = self.call("POST", f"{ONE}/decide", {"context": context})
        first, more = LIKES[decision["action"]]
        clicked = self.rng.random() < first + more * (age - 18) / 62
        self.visits += 1
        self.clicks += clicked
        if clicked or self.rng.random() < 0.9:  # of the others nobody knows
            path = f"{ONE}/decisions/{decision['id']}/reward"
            self.call("POST", path, {"value": float(clicked)})


def wait_for(visitors: Visitors, server: "subprocess.Popen[bytes]") -> None:
    """Wait until the service is ready."""
    while server.poll() is None:
        try:
            visitors.call("GET", "/readyz")
            return
        except (OSError, RuntimeError, http.client.HTTPException):
            visitors.connection.close()
            time.sleep(0.1)
    raise SystemExit("the service did not start")


def main(
    data: Annotated[str, typer.Option(help="where everything is kept")] = "build/serve-demo",
    port: Annotated[int, typer.Option(help="where it listens")] = 8000,
    seconds: Annotated[float, typer.Option(help="how long visitors come")] = 30.0,
    stays: Annotated[bool, typer.Option(help="go on until Ctrl-C")] = True,
) -> None:
    """Start a service, play simulated traffic, and say where to look at it."""
    options = ["--data", data, "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen([sys.executable, "-m", "ensample", "serve", *options])
    try:
        visitors = Visitors(port)
        wait_for(visitors, server)
        visitors.call("PUT", ONE, EXPERIMENT)
        with Progress(console=Console(stderr=True)) as bars:
            task = bars.add_task("visitors", total=seconds)
            start = time.monotonic()
            while (passed := time.monotonic() - start) < seconds:
                visitors.visit()
                bars.update(task, completed=passed)
                time.sleep(PAUSE)
        where = f"http://127.0.0.1:{port}/"
        typer.echo(f"{visitors.visits} visitors, {visitors.clicks} read on: {where}")
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
