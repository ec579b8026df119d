"""Services in this process, called as a client would."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings
from service.live import Live, listening
from service.testing import TestClient

ADDRESS = "http://127.0.0.1:8000"
SHOP = {
    "actions": ["a", "b"],
    "reward": {"low": 0, "high": 1},
    "recipe": {"kind": "EnsembleSampling", "size": 10},
}


class Served(TestClient):
    """A client, with the service that it calls and what that has logged."""

    service: Service
    said: io.StringIO


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Services of a folder; what they do, not whether it lasts."""
    monkeypatch.setattr("ensample.service.service.PROBE", 0.02)
    with ExitStack() as open_services:

        def begun(storage_of: Any = None, folder: str = "data", **settings: Any) -> Served:
            said = io.StringIO()
            given = ServiceSettings(data=tmp_path / folder, **settings)
            journal = Journal(given.log_level, said)
            service = Service(
                given, journal, storage_of or (lambda path: SQLiteStorage(path, synchronous="OFF"))
            )
            client = Served(application(service), ADDRESS, raise_server_exceptions=False)
            client.service, client.said = service, said
            return open_services.enter_context(client)  # type: ignore[return-value]

        yield begun


@pytest.fixture
def shop(serve: Serve) -> Served:
    client = serve()
    assert client.put("/v1/experiments/shop", json=SHOP).status_code == 201
    return client


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A service that listens on this machine."""
    with listening(tmp_path / "live") as found:
        yield found
