"""Clients that connect and do not finish what they send."""

import asyncio
import io
import json
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from ensample.service.connections import RefusalLog, connection_limits
from ensample.service.journal import Journal
from service.live import Live, listening

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def connected(live: Live, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Open connections and send the same on each."""
    address = urlsplit(live.url)
    found = [socket.create_connection((address.hostname, address.port or 0)) for _ in range(count)]
    try:
        for each in found:
            each.settimeout(30)
            each.sendall(sent)
        yield found
    finally:
        for each in found:
            each.close()


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side has closed a connection; what comes before is passed over."""
    try:
        while connection.recv(1_000):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_for(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


def refused(live: Live) -> list[dict[str, Any]]:
    lines = map(json.loads, live.said.getvalue().splitlines())
    return [line for line in lines if line["event"] == "refused"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Live]:
    """A service that has few connections and little patience."""
    with listening(tmp_path / "live", connections=8, headers=1) as found:
        yield found


def test_half_sent_headers_keep_nobody_out_and_are_closed_in_time(small: Live) -> None:
    before, start = descriptors(), time.monotonic()
    with connected(small, 60, HALF) as half:
        for _ in range(5):
            assert httpx.get(f"{small.url}/healthz").status_code == 200
        assert all(map(is_closed, half))
    assert wait_for(lambda: descriptors() <= before)
    assert wait_for(lambda: sum(line["connections"] for line in refused(small)) >= 60)
    lines = refused(small)
    assert {line["why"] for line in lines} == {"too many connections", "no headers in time"}
    assert len(lines) <= 2 * (time.monotonic() - start + 2)


def test_a_connection_that_answers_is_not_closed_before_others(small: Live) -> None:
    """The one that waited longest is; and one that asks again within the time goes on."""
    with httpx.Client() as client, connected(small, 4, HALF):
        for _ in range(4):
            assert client.get(f"{small.url}/healthz").status_code == 200
            time.sleep(0.3)
        with connected(small, 1, WHOLE) as asked:
            assert asked[0].recv(1_000).startswith(b"HTTP/1.1 200")


def test_second_request_that_is_half_sent_is_closed_too(small: Live) -> None:
    with connected(small, 3, WHOLE + HALF) as half:
        assert all(map(is_closed, half))


def test_calls_in_a_pipeline_are_all_answered(small: Live) -> None:
    with connected(small, 1, WHOLE * 20) as (one,):
        answers = b""
        while answers.count(b'"ok"') < 20:
            answers += one.recv(100_000)


def test_requests_that_are_not_http_are_logged_once_a_second(small: Live) -> None:
    start = time.monotonic()
    for _ in range(10):
        with connected(small, 8, b"\x00\x01\r\n\r\n") as wrong:
            assert all(map(is_closed, wrong))
    assert wait_for(lambda: sum(line["connections"] for line in refused(small)) >= 80)
    assert len(refused(small)) <= 2 * (time.monotonic() - start + 2)


def test_connections_that_cannot_be_accepted_are_logged_once_a_second() -> None:
    said = io.StringIO()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        log = RefusalLog(Journal("info", said))
        context = {
            "message": "out of system resource",
            "exception": OSError(24, "too many"),
            "socket": None,
        }
        for _ in range(2_000):
            log.on_error(loop, context)
        await asyncio.sleep(0)

    asyncio.run(run())
    assert len(said.getvalue().splitlines()) == 1


def test_connection_limits_leave_descriptors_for_files() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        most, backlog = connection_limits(10**9, 10**9)
        assert most + backlog + 512 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert connection_limits(20, 16) == (20, 16)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
