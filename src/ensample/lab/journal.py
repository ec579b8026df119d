"""The journal of a folder of results: one line for each session and each finished cell.

It tells of times and circumstances and is needed for no result, so lines that cannot be understood
are passed over.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensample.lab.cell_file import open_plain, read_plain

ODD = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
MAX_SECONDS = 1e6  # of a round; a longer time is a mistake


class StudyJournal:
    """`journal.jsonl`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, **event: Any) -> None:
        """Add a line; a line that a crash cut short is ended first."""
        with os.fdopen(open_plain(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab") as file:
            size = os.fstat(file.fileno()).st_size
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                file.write(b"\n")
            file.write(json.dumps(event).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def sessions(self) -> list[dict[str, Any]]:
        """Return the circumstances of every session."""
        found = []
        for event in self._events("session"):
            with suppress(*ODD):
                names = ("at", "engine", "python", "machine", "processor")
                session: dict[str, Any] = {name: str(event[name]) for name in names}
                packages = {str(name): str(release) for name, release in event["packages"].items()}
                session |= {"seed": int(event["seed"]), "packages": packages}
                found.append(session | {"command": [str(word) for word in event["command"]]})
        return found

    def costs(self) -> dict[str, float]:
        """Return the last noted seconds a round, by the digest of the cell."""
        found = {}
        for event in self._events("cell"):
            with suppress(*ODD):
                seconds = float(event["seconds_per_round"])
                if 0.0 <= seconds <= MAX_SECONDS:
                    found[str(event["cell"])] = seconds
        return found

    def _events(self, kind: str) -> list[dict[str, Any]]:
        events = []
        with suppress(OSError):
            for line in read_plain(self.path).split(b"\n"):
                with suppress(*ODD):
                    event = json.loads(line.decode(errors="replace"))
                    json.dumps(event, ensure_ascii=False).encode()  # no halves of surrogate pairs
                    if event["event"] == kind:
                        events.append(event)
        return events
