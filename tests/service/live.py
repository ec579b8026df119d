"""A service that listens on this machine, and the lines of pages in docs/ that call it."""

import io
import re
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

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"<!-- tested: (?P<name>\S+) -->\n```\w+\n(?P<lines>.*?)```", re.DOTALL)


class Live(NamedTuple):
    """Where a service is called, and what it is."""

    url: str
    service: Service
    said: io.StringIO  # its log

    def key(self, role: str, experiment: str | None = None) -> str:
        """Return a new key."""
        text, key = new_key(role, experiment)
        self.service.store.add(key)
        return text

    def experiment(self, name: str) -> Any:
        return self.service.catalog[name].experiment


@contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[Live]:
    """Give a service that listens until the end of the block."""
    given, said = ServiceSettings(data=folder, **settings), io.StringIO()
    journal = Journal("info", said)
    service = Service(given, journal, lambda path: SQLiteStorage(path, synchronous="OFF"))
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


def blocks(page: str, name: str, url: str, key: str) -> list[str]:
    """Return the marked blocks of a page, for a service at this address with this key."""
    found = BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))
    lines = [match["lines"] for match in found if match["name"] == name]
    assert lines, f"{page} has no lines marked {name}"
    return [text.replace("http://127.0.0.1:8000", url).replace("ens_...", key) for text in lines]
