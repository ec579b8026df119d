"""The log of the service: a line of JSON for each call, on the standard error stream.

At level info nothing of a context, an action's features or a reward is in it; ids are.
"""

import asyncio
import re
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Journal:
    """Writes lines of at least a level.

    >>> journal = Journal("info", sys.stdout, lambda: "noon")
    >>> journal.write("info", "ready", address="http://127.0.0.1:8000", key=None)
    {"time":"noon","level":"info","event":"ready","address":"http://127.0.0.1:8000"}
    """

    def __init__(
        self, level: str = "info", stream: TextIO | None = None, clock: Callable[[], str] = utc_now
    ) -> None:
        self._least = LEVELS[level]
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._lines: list[str] = []  # of an event loop, not written yet

    def write(self, level: str, event: str, **fields: Any) -> None:
        """Write a line, with the fields that are not None.

        An event loop writes its lines together.
        """
        if LEVELS[level] < self._least:
            return
        known = {name: value for name, value in fields.items() if value is not None}
        line = {"time": self._clock(), "level": level, "event": event, **known}
        text = msgspec.json.encode(line).decode() + "\n"
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._stream.write(text)
            self._stream.flush()
            return
        if not self._lines:
            loop.call_soon(self.flush)
        self._lines.append(text)

    def error(self, event: str, error: BaseException, **fields: Any) -> None:
        """Write where an error happened. Its message may repeat a body: it is for level debug."""
        frames = traceback.extract_tb(error.__traceback__)[-8:]
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        message = str(error) if self._least <= LEVELS["debug"] else None
        self.write(
            "error", event, **fields, type=type(error).__name__, where=where, message=message
        )

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        self._stream.write("".join(lines))
        self._stream.flush()


def traceparent(value: str | None) -> str | None:
    """Return the header of W3C if it is one: nothing goes into the log unchecked."""
    return value if value is not None and TRACEPARENT.fullmatch(value) else None
