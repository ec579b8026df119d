"""A service that listens on this machine, in a thread: for clients that we have not written."""

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.auth import new_key
from ensample.service.journal import Journal
from ensample.service.server import server_of
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings


class Live(NamedTuple):
    """Where it is called, and what it is."""

    url: str
    service: Service
    said: io.StringIO  # its log

    def key(self, role: str, experiment: str | None = None) -> str:
        """A new one."""
        text, key = new_key(role, experiment)
        self.service.store.add(key)
        return text

    def experiment(self, name: str) -> Any:
        return self.service.catalog[name].experiment


@contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[Live]:
    """Until the end of the block."""
    given = ServiceSettings(data=folder, **settings)
    said = io.StringIO()
    service = Service(
        given, Journal("info", said), lambda path: SQLiteStorage(path, synchronous="OFF")
    )
    server = server_of(service, lambda: None)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield Live(f"http://127.0.0.1:{listener.getsockname()[1]}", service, said)
        finally:
            server.should_exit = True
            thread.join()
