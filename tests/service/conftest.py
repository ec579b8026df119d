"""Services in this process, called as a client would."""

import io
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.auth import new_key
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings
from service.live import Live, listening

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Starlette would rather have httpx2
    from starlette.testclient import TestClient

ADDRESS = "http://127.0.0.1:8000"
ONE = "/v1/experiments/shop"
SHOP = {
    "actions": ["a", "b"],
    "reward": {"low": 0, "high": 1},
    "recipe": {"kind": "EnsembleSampling", "size": 10},
}


class Served(TestClient):
    """A client, with the service that it calls and what that has logged."""

    service: Service
    said: io.StringIO
    name = "shop"  # the experiment that is called

    @property
    def one(self) -> str:
        return f"/v1/experiments/{self.name}"

    def make(self, body: Any = None, status: int = 201) -> None:
        found = self.put(self.one, json=SHOP if body is None else body)
        assert found.status_code == status, found.text

    def ask(self, path: str, body: Any = None, status: int = 200) -> Any:
        """Return the JSON of a POST to the experiment."""
        found = self.post(f"{self.one}/{path}", json=body)
        assert found.status_code == status, (path, body, found.text)
        return found.json()

    def decide(self, **body: Any) -> Any:
        return self.ask("decide", body)

    def reward(self, id: str, value: Any = 1, **body: Any) -> str:
        return str(self.ask(f"decisions/{id}/reward", {"value": value, **body})["outcome"])

    def view(self, hash: bool = False) -> Any:
        return self.get(f"{self.one}?hash=yes" if hash else self.one).json()

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.get(f"{self.one}/log").text.splitlines()]

    def key(self, role: str, experiment: str | None = None) -> str:
        """Return a new key."""
        text, key = new_key(role, experiment)
        self.service.store.add(key)
        return text

    @property
    def experiment(self) -> Any:
        return self.service.catalog[self.name].experiment

    def is_ready(self) -> bool:
        return bool(self.get("/readyz").status_code == 200)

    def stop(self) -> None:
        self.exit_stack.close()


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Services of a folder; with `shop` there is an experiment."""
    monkeypatch.setattr("ensample.service.service.PROBE", 0.02)
    with ExitStack() as open_services:

        def begun(
            storage_of: Any = None, folder: str = "data", shop: Any = None, **settings: Any
        ) -> Served:
            said = io.StringIO()
            given = ServiceSettings(data=tmp_path / folder, **settings)
            unsafe = lambda path: SQLiteStorage(path, synchronous="OFF")  # noqa: E731
            service = Service(given, Journal(given.log_level, said), storage_of or unsafe)
            client = Served(application(service), ADDRESS, raise_server_exceptions=False)
            client.service, client.said = service, said
            open_services.enter_context(client)
            if shop is not None:
                client.make(shop)
            return client

        yield begun


@pytest.fixture
def shop(serve: Serve) -> Served:
    return serve(shop=SHOP)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A service that listens on this machine."""
    with listening(tmp_path / "live") as found:
        yield found


def until(holds: Callable[[], Any], seconds: float = 20.0) -> bool:
    """Return True once something holds, False if it does not within some seconds."""
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(found)
