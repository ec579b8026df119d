"""The client for programs that wait."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import httpx

from ensample.client import asks
from ensample.client.binding import ClientSettings, as_method, sent_as
from ensample.client.conversation import Found, conversation, opened, unreachable
from ensample.files import write_whole

P = ParamSpec("P")
T = TypeVar("T")


def asking(make: "Callable[P, asks.Ask[T]]") -> "Callable[Concatenate[Client, P], T]":
    """The method that sends what `make` makes."""

    def method(self: "Client", *args: Any, **kwargs: Any) -> Any:
        return self._answer(make(*args, **kwargs))

    return cast("Callable[Concatenate[Client, P], T]", as_method(method, make))


class Client:
    """A service at an address; docs/clients.md has lines that run.

    A call is sent again, at most `retries` times, where there was no answer or the service said that it has changed nothing
    (503): ids make that safe. `timeout` is in seconds, for each attempt. `http`: an `httpx.Client` of your own, with proxies or
    certificates. Threads may share a client. Raises `ServiceError`.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        key: str | None = None,
        *,
        timeout: float = 5.0,
        retries: int = 4,
        http: httpx.Client | None = None,
    ) -> None:
        self._settings = ClientSettings(url, key, timeout, retries)
        self._own = http is None
        self._http = httpx.Client(**self._settings.http_options()) if http is None else http

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

    def save_log(self, experiment: str, path: "str | os.PathLike[str]") -> None:
        """The log into a file .parquet, .jsonl or .dsjson, which is there when all of it is."""
        sent = sent_as(self._settings, asks.log(experiment, path))
        try:
            with self._http.stream(**sent) as response:
                if response.status_code >= 400:
                    response.read()
                pieces = opened(response).iter_bytes()
                write_whole(Path(path), lambda file: file.writelines(pieces))
        except httpx.TransportError as error:
            raise unreachable(error) from error

    def _answer(self, ask: "asks.Ask[T]") -> T:
        steps = conversation(ask, self._settings.retries)
        step: Any = next(steps)
        while True:
            try:
                step = steps.send(self._done(step))
            except StopIteration as end:
                return cast(T, end.value)

    def _done(self, step: "asks.Ask[Any] | float") -> Found:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            return self._http.request(**sent_as(self._settings, step))
        except httpx.TransportError as error:
            return error

    def close(self) -> None:
        """Let go of the connections, unless they are your own client's."""
        if self._own:
            self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
