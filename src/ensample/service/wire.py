"""Head and body of an answer go out together: each by itself would be a call of the system, and wake the client twice."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class GatheredTransport:
    """A transport whose first piece waits for the second one, at most until this turn of the event loop is over."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, piece: bytes) -> None:
        if not piece:
            return
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + piece)
        else:
            self._held = bytes(piece)
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def close(self) -> None:
        self.flush()
        self._transport.close()


class OneWriteProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's own, whichever it takes."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(GatheredTransport(transport))
