"""The client for programs that do something else meanwhile."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import httpx

from ensample.checks import whole
from ensample.client import asks
from ensample.client.binding import ClientSettings, as_method, sent_as
from ensample.client.conversation import Found, conversation, opened, unreachable
from ensample.errors import EnsampleError
from ensample.files import write_whole

P = ParamSpec("P")
T = TypeVar("T")


def asking(
    make: "Callable[P, asks.Ask[T]]",
) -> "Callable[Concatenate[AsyncClient, P], Awaitable[T]]":
    """The method that sends what `make` makes."""

    def method(self: "AsyncClient", *args: Any, **kwargs: Any) -> Any:
        return self._answer(make(*args, **kwargs))

    return cast("Callable[Concatenate[AsyncClient, P], Awaitable[T]]", as_method(method, make))


class AsyncClient:
    """`Client` for asyncio: the same methods, awaited.

    At most `concurrency` calls are sent at a time, over as many connections; others wait in order. Make one client and
    keep it: each new client connects again. Its connections belong to the event loop of its first call; another loop, as of a
    second `asyncio.run`, needs a client of its own.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = 4,
        concurrency: int = 16,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._settings = ClientSettings(url, key, timeout, retries)
        # httpx scans all connections for each call that waits for one: it sends 113 calls a second with 1,000 at once, and 640
        # with 16 at once. So calls wait here.
        self._slots = asyncio.Semaphore(whole("concurrency", concurrency, 1, 10_000))
        self._own = http is None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http = (
            httpx.AsyncClient(**self._settings.http_options(concurrency)) if http is None else http
        )

    experiments = asking(asks.experiments)
    experiment = asking(asks.experiment)
    create = asking(asks.create)
    decide = asking(asks.decide)
    decide_all = asking(asks.decide_all)
    reward = asking(asks.reward)
    reward_all = asking(asks.reward_all)
    activate = asking(asks.activate)
    activate_all = asking(asks.activate_all)
    event = asking(asks.event)
    explain = asking(asks.explain)
    change = asking(asks.change)
    pause = asking(asks.pause)
    evaluate = asking(asks.evaluate)
    learn = asking(asks.learn)

    async def save_log(self, experiment: str, path: "str | os.PathLike[str]") -> None:
        """The log into a file .parquet, .jsonl or .dsjson, which is there when all of it is."""
        sent = sent_as(self._settings, asks.log(experiment, path))
        self._check_loop()
        try:
            with tempfile.TemporaryFile() as whole:
                async with self._http.stream(**sent) as response:
                    if response.status_code >= 400:
                        await response.aread()
                    async for piece in opened(response).aiter_bytes():
                        whole.write(piece)
                whole.seek(0)
                write_whole(Path(path), lambda file: shutil.copyfileobj(whole, file))
        except httpx.TransportError as error:
            raise unreachable(error) from error

    async def _answer(self, ask: "asks.Ask[T]") -> T:
        steps = conversation(ask, self._settings.retries)
        step: Any = next(steps)
        while True:
            try:
                step = steps.send(await self._done(step))
            except StopIteration as end:
                return cast(T, end.value)

    async def _done(self, step: "asks.Ask[Any] | float") -> Found:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        self._check_loop()
        try:
            async with self._slots:
                return await self._http.request(**sent_as(self._settings, step))
        except httpx.TransportError as error:
            return error

    async def close(self) -> None:
        """Let go of the connections, unless they are your own client's."""
        if self._own:
            self._check_loop()
            await self._http.aclose()

    def _check_loop(self) -> None:
        """Raise if the connections, unless they are the caller's own client's, are those of another event loop."""
        loop = asyncio.get_running_loop()
        if self._own and self._loop not in (None, loop):
            raise EnsampleError(
                "this AsyncClient was used in another event loop: make one client for each event loop"
            )
        self._loop = loop

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
