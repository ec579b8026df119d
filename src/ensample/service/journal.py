"""The log of the service itself: a line of JSON for each call, on the standard error stream.

Nothing of a context, an action's features or a reward is in it at level info; ids are.
"""

import asyncio
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Journal:
    """Lines of at least this level.

    >>> Journal("info", sys.stdout, lambda: "noon").info("ready", address="http://127.0.0.1:8000")
    {"time":"noon","level":"info","event":"ready","address":"http://127.0.0.1:8000"}
    """

    def __init__(
        self, level: str = "info", stream: TextIO | None = None, clock: Any = None
    ) -> None:
        self._least = LEVELS[level]
        self._stream = sys.stderr if stream is None else stream
        self._clock = now if clock is None else clock
        self._lines: list[str] = []  # of this turn of the event loop

    @property
    def debugs(self) -> bool:
        return self._least <= LEVELS["debug"]

    def debug(self, event: str, **more: Any) -> None:
        self._say("debug", event, more)

    def info(self, event: str, **more: Any) -> None:
        self._say("info", event, more)

    def warning(self, event: str, **more: Any) -> None:
        self._say("warning", event, more)

    def error(self, event: str, error: BaseException, **more: Any) -> None:
        """Where it happened; what was said only at level debug, as it may repeat what was sent."""
        where = [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        said = {"message": str(error)} if self.debugs else {}
        self._say(
            "error", event, {**more, "type": type(error).__name__, "where": where[-8:], **said}
        )

    def _say(self, level: str, event: str, more: dict[str, Any]) -> None:
        if LEVELS[level] >= self._least:
            known = {name: value for name, value in more.items() if value is not None}
            line = msgspec.json.encode(
                {"time": self._clock(), "level": level, "event": event, **known}
            )
            self._write(line.decode() + "\n")

    def _write(self, line: str) -> None:
        """At once; within an event loop together with the other lines of this turn, of which there are many."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._stream.write(line)
            self._stream.flush()
            return
        if not self._lines:
            loop.call_soon(self.flush)
        self._lines.append(line)

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        self._stream.write("".join(lines))
        self._stream.flush()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def traceparent(value: str | None) -> str | None:
    """The W3C header if it is one: nothing else of a caller's goes into the log unseen."""
    return value if value is not None and PARENT.fullmatch(value) else None
