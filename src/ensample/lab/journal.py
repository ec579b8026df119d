"""The journal of a folder of results: one line for each session and each finished cell.

It tells of times and circumstances and is needed for no result, so lines and fields that cannot be
understood are passed over.
"""

import json
import os
from pathlib import Path
from typing import Any

from ensample.lab.cell_file import open_plain, read_plain

MAX_SECONDS = 1e6  # of a round; a longer time is a mistake
SESSION = {
    "at": str,
    "command": list,
    "seed": int,
    "engine": str,
    "python": str,
    "machine": str,
    "processor": str,
    "packages": dict,
}
"""Fields of a session, with their types. Lists and dicts are of texts."""


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
        """Return the fields of every session."""
        return [
            {key: event[key] for key, kind in SESSION.items() if is_field(event.get(key), kind)}
            for event in self._events("session")
        ]

    def costs(self) -> dict[str, float]:
        """Return the last noted seconds a round, by the digest of the cell."""
        return {
            event["cell"]: float(event["seconds_per_round"])
            for event in self._events("cell")
            if is_field(event.get("cell"), str) and is_duration(event.get("seconds_per_round"))
        }

    def _events(self, kind: str) -> list[dict[str, Any]]:
        try:
            lines = read_plain(self.path).split(b"\n")
        except OSError:
            return []
        found = map(parsed, lines)
        return [event for event in found if isinstance(event, dict) and event.get("event") == kind]


def parsed(line: bytes) -> Any:
    """Return the content of a line; None if it is no JSON, too deep, or cannot be written again."""
    try:
        event = json.loads(line.decode(errors="replace"))
        json.dumps(event, ensure_ascii=False).encode()  # fails for halves of surrogate pairs
    except (ValueError, RecursionError):
        return None
    return event


def is_field(value: Any, kind: type) -> bool:
    texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_kind = isinstance(value, kind) and not isinstance(value, bool)
    return is_kind and all(isinstance(text, str) for text in texts)


def is_duration(value: Any) -> bool:
    number = is_field(value, int) or isinstance(value, float)
    return number and 0.0 <= value <= MAX_SECONDS
