"""The journal of a folder of results: one line for each session and each finished cell.

It tells of times and circumstances and is needed for no result, so whatever cannot be understood in it is passed over: a
line that a crash cut short, bytes that are no text, a field of another type.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ensample.lab.files import open_plain, read_plain

SLOWEST = 1e6  # seconds a round; beyond it a time is a mistake


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
        """What each session said of itself, in the fields of SESSION that it has."""
        return [
            {
                key: clean(event[key])
                for key, fits in SESSION.items()
                if key in event and fits(event[key])
            }
            for event in self._events("session")
        ]

    def costs(self) -> dict[str, float]:
        """Seconds a round, by the digest of the cell: the last that was noted."""
        return {
            event["cell"]: float(event["seconds_per_round"])
            for event in self._events("cell")
            if is_text(event.get("cell")) and is_duration(event.get("seconds_per_round"))
        }

    def _events(self, kind: str) -> list[dict[str, Any]]:
        try:
            lines = read_plain(self.path).split(b"\n")
        except OSError:
            return []
        found = map(understood, lines)
        return [event for event in found if isinstance(event, dict) and event.get("event") == kind]


def understood(line: bytes) -> Any:
    """What a line says; None if it cannot be told."""
    try:
        return json.loads(line.decode(errors="replace"))
    except (
        ValueError,
        RecursionError,
    ):  # no JSON, a number of too many digits, or deeper than Python can follow
        return None


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_duration(value: Any) -> bool:
    return (is_whole(value) or isinstance(value, float)) and 0.0 <= value <= SLOWEST


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_text, value.values()))


SESSION: dict[str, Callable[[Any], bool]] = {
    "at": is_text,
    "command": is_texts,
    "seed": is_whole,
    "engine": is_text,
    "python": is_text,
    "machine": is_text,
    "processor": is_text,
    "packages": is_table,
}


def clean(value: Any) -> Any:
    """Without halves of surrogate pairs, which no file can hold."""
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
