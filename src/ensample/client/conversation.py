"""A call until it is answered: what is sent, when it is sent again, what the answer means. Nothing here waits or sends."""

import random
from collections.abc import Generator
from typing import Any, TypeVar

import httpx

from ensample.client.asks import Ask, refusal
from ensample.errors import ServiceError

T = TypeVar("T")
Found = httpx.Response | httpx.TransportError | None
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NOT_DONE = (429, 503)  # the service has changed nothing
PERHAPS = (502, 504)  # what a proxy says, who does not know
FIRST, LONGEST = 0.05, 5.0  # seconds


def conversation(ask: Ask[T], retries: int) -> Generator[Ask[T] | float, Found, T]:
    """Yields the call, to be sent, or seconds, to be waited; is sent the response or the error; returns the answer."""
    for attempt in range(retries):
        found = yield ask
        if not is_worth_another(ask, found):
            return answered(ask, found)
        yield pause_of(attempt, found)
    return answered(ask, (yield ask))


def is_worth_another(ask: Ask[Any], found: Found) -> bool:
    if isinstance(found, httpx.Response):
        return found.status_code in NOT_DONE or (ask.safe and found.status_code in PERHAPS)
    return isinstance(found, NOT_SENT) or (ask.safe and isinstance(found, httpx.TransportError))


def pause_of(attempt: int, found: Found) -> float:
    """Twice as long each time, and from half to all of it: those who failed together shall not come back together.

    Where the service says how long, as long as it says.

    >>> FIRST / 2 <= pause_of(0, None) <= FIRST and pause_of(30, None) <= LONGEST
    True
    >>> pause_of(0, httpx.Response(503, headers={"retry-after": "2"}))
    2.0
    """
    asked = found.headers.get("retry-after", "") if isinstance(found, httpx.Response) else ""
    if asked.isdecimal():
        return min(float(asked), LONGEST)
    return min(LONGEST, FIRST * 2.0**attempt) * random.uniform(0.5, 1.0)


def answered(ask: Ask[T], found: Found) -> T:
    """What the service says; `ServiceError` where it refuses or says nothing."""
    if not isinstance(found, httpx.Response):
        raise unreachable(found) from found
    if found.status_code >= 400:
        raise refused(found)
    try:
        return ask.read(found.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ServiceError(
            found.status_code, "foreign", f"this is no answer of the service: {found.text[:100]!r}"
        ) from error


def unreachable(error: httpx.TransportError | None) -> ServiceError:
    return ServiceError(
        None, "unreachable", f"there was no answer ({type(error).__name__}: {error})"
    )


def refused(found: httpx.Response) -> ServiceError:
    try:
        return refusal(found.status_code, found.json())
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServiceError(
            found.status_code, "foreign", f"this is no answer of the service: {found.text[:100]!r}"
        )


def opened(response: httpx.Response) -> httpx.Response:
    """A stream that may be read."""
    if response.status_code >= 400:
        raise refused(response)
    return response
