"""`Client` and `AsyncClient`: the same methods, one awaited. What is sent more than once is done
once.
"""

import asyncio
import inspect
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

import httpx

from ensample.checks import number, whole
from ensample.client import calls
from ensample.client.calls import Request, refusal
from ensample.errors import EnsampleError, ServiceError, WrongType
from ensample.files import write_whole
from ensample.version import __version__

P = ParamSpec("P")
T = TypeVar("T")
Found = httpx.Response | httpx.TransportError

LOCAL = "http://127.0.0.1:8000"
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NOT_DONE = (429, 503)  # the service has changed nothing
PERHAPS_DONE = (502, 504)  # of a proxy, which does not know
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds


def pause_before_next(call: Request[Any], found: Found, attempt: int) -> float | None:
    """Return the seconds until a call is worth another attempt; None if it is not.

    They double, and are drawn from half to all of that: clients that failed together should not
    come back together. The service may ask for a longer pause.

    >>> pause_before_next(calls.experiments(), httpx.Response(503, headers={"retry-after": "2"}), 0)
    2.0
    """
    if isinstance(found, httpx.Response):
        code = found.status_code
        if not (code in NOT_DONE or (call.is_safe and code in PERHAPS_DONE)):
            return None
        asked = found.headers.get("retry-after", "")
        if asked.isdecimal():
            return min(float(asked), LONGEST_PAUSE)
    elif not (call.is_safe or isinstance(found, NOT_SENT)):
        return None
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt) * random.uniform(0.5, 1.0)


def answer_of(call: Request[T], found: Found) -> T:
    """Return the answer of the service; `ServiceError` where it refuses or says nothing."""
    if not isinstance(found, httpx.Response):
        message = f"there was no answer ({type(found).__name__}: {found})"
        raise ServiceError(None, "unreachable", message) from found
    code = found.status_code
    try:
        if code < 400:
            return call.read(found.json())
        error = refusal(code, found.json())
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        message = f"this is no answer of the service: {found.text[:100]!r}"
        raise ServiceError(code, "foreign", message) from cause
    raise error


if TYPE_CHECKING:

    class Method(Generic[P, T]):
        """A method that returns an answer, or of `AsyncClient` an awaitable of it."""

        @overload
        def __get__(self, client: "Client", kind: Any) -> Callable[P, T]: ...
        @overload
        def __get__(self, client: "AsyncClient", kind: Any) -> Callable[P, Awaitable[T]]: ...
        @overload
        def __get__(self, client: None, kind: Any) -> Callable[..., Any]: ...
        def __get__(self, client: Any, kind: Any) -> Any: ...


def method(make: "Callable[P, Request[T]]") -> "Method[P, T]":
    """Return the method that sends the call that `make` describes, with its name and docstring."""

    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._answer(make(*args, **kwargs))

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(make)
    send.__name__, send.__doc__ = make.__name__, make.__doc__
    send.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()], return_annotation=inspect.Signature.empty
    )
    return cast("Method[P, T]", send)


class Methods:
    """The address of a service, and its calls as methods of both clients."""

    def __init__(self, url: str, key: str | None, timeout: float, retries: int) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise WrongType("url", url, "an address such as http://127.0.0.1:8000")
        self._url = url.rstrip("/")
        self._timeout = number("timeout", timeout, 0.0)
        self._attempts = 1 + whole("retries", retries, 0, 100)
        self._headers = {"user-agent": f"ensample/{__version__}"}
        self._headers["content-type"] = "application/json"
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"

    def _pool(self, connections: int) -> dict[str, Any]:
        """Return options of httpx. Certificates are read for https only: it takes 20 ms."""
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        return {"limits": limits, "verify": self._url.startswith("https://")}

    def _arguments(self, call: Request[Any]) -> dict[str, Any]:
        """Return the arguments of `request` of httpx."""
        content = call.content
        if call.body is not None:
            content = json.dumps(call.body, allow_nan=False).encode()
        parts = {"method": call.method, "url": self._url + call.path, "content": content}
        return parts | {"headers": self._headers, "timeout": self._timeout}

    experiments = method(calls.experiments)
    experiment = method(calls.experiment)
    create = method(calls.create)
    decide = method(calls.decide)
    decide_all = method(calls.decide_all)
    reward = method(calls.reward)
    reward_all = method(calls.reward_all)
    activate = method(calls.activate)
    activate_all = method(calls.activate_all)
    event = method(calls.event)
    explain = method(calls.explain)
    change = method(calls.change)
    pause = method(calls.pause)
    evaluate = method(calls.evaluate)
    learn = method(calls.learn)


class Client(Methods):
    """A service at an address; docs/clients.md has lines that run.

    A call is sent again, at most `retries` times, where there was no answer or the service said
    that it has changed nothing (503): ids make that safe. `timeout` is in seconds, for each
    attempt. `http`: an `httpx.Client` of your own, with proxies or certificates. Threads may share
    a client. Raises `ServiceError`.
    """

    def __init__(
        self,
        url: str = LOCAL,
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = 4,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        self._is_own = http is None
        self._http = httpx.Client(**self._pool(100)) if http is None else http

    def _answer(self, call: Request[T]) -> T:
        for attempt in range(self._attempts):
            found = self._send(call)
            pause = pause_before_next(call, found, attempt)
            if pause is None or attempt + 1 == self._attempts:
                break
            time.sleep(pause)
        return answer_of(call, found)

    def _send(self, call: Request[Any]) -> Found:
        try:
            return self._http.request(**self._arguments(call))
        except httpx.TransportError as error:
            return error

    def save_log(self, experiment: str, path: "str | os.PathLike[str]") -> None:
        """Write the log into a .parquet, .jsonl or .dsjson file, complete or not at all."""
        call = calls.log(experiment, path)
        try:
            with self._http.stream(**self._arguments(call)) as response:
                if response.status_code >= 400:
                    response.read()
                    answer_of(call, response)
                write_whole(Path(path), lambda file: file.writelines(response.iter_bytes()))
        except httpx.TransportError as error:
            answer_of(call, error)

    def close(self) -> None:
        """Close the connections, unless they are those of your own `http`."""
        if self._is_own:
            self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Methods):
    """`Client` for asyncio: the same methods, awaited.

    At most `concurrency` calls are sent at a time, over as many connections; others wait in order.
    Make one client and keep it: each new client connects again. Its connections belong to the event
    loop of its first call; another loop, as of a second `asyncio.run`, needs a client of its own.
    """

    def __init__(
        self,
        url: str = LOCAL,
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = 4,
        concurrency: int = 16,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        # httpx scans all connections for each call that waits for one: it sends 113 calls a second
        # with 1,000 at once, and 640 with 16 at once. So calls wait here.
        self._slots = asyncio.Semaphore(whole("concurrency", concurrency, 1, 10_000))
        self._is_own = http is None
        self._loop: asyncio.AbstractEventLoop | None = None
        options = self._pool(concurrency)
        self._http = httpx.AsyncClient(**options) if http is None else http

    async def _answer(self, call: Request[T]) -> T:
        for attempt in range(self._attempts):
            found = await self._send(call)
            pause = pause_before_next(call, found, attempt)
            if pause is None or attempt + 1 == self._attempts:
                break
            await asyncio.sleep(pause)
        return answer_of(call, found)

    async def _send(self, call: Request[Any]) -> Found:
        self._check_loop()
        try:
            async with self._slots:
                return await self._http.request(**self._arguments(call))
        except httpx.TransportError as error:
            return error

    async def save_log(self, experiment: str, path: "str | os.PathLike[str]") -> None:
        """Write the log into a .parquet, .jsonl or .dsjson file, complete or not at all."""
        call = calls.log(experiment, path)
        self._check_loop()
        try:
            with tempfile.TemporaryFile() as whole:
                async with self._http.stream(**self._arguments(call)) as response:
                    if response.status_code >= 400:
                        await response.aread()
                        answer_of(call, response)
                    async for piece in response.aiter_bytes():
                        whole.write(piece)
                whole.seek(0)
                write_whole(Path(path), lambda file: shutil.copyfileobj(whole, file))
        except httpx.TransportError as error:
            answer_of(call, error)

    async def close(self) -> None:
        """Close the connections, unless they are those of your own `http`."""
        if self._is_own:
            self._check_loop()
            await self._http.aclose()

    def _check_loop(self) -> None:
        """Raise if the connections, unless they are the caller's own, belong to another event
        loop.
        """
        loop = asyncio.get_running_loop()
        if self._is_own and self._loop not in (None, loop):
            raise EnsampleError(
                "this AsyncClient was used in another event loop: make one client for each event "
                "loop"
            )
        self._loop = loop

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
