"""The service as a process: it starts, meets slow clients, and stops when all is answered."""

import asyncio
import http.client
import io
import json
import os
import resource
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from subprocess import run as run_process
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import ensample as es
import prompt
from ensample.service.connections import RefusalLog, connection_limits
from ensample.service.journal import Journal
from ensample.service.maintenance import replayed_experiments
from ensample.service.server import listening, log_warnings
from ensample.service.settings import ServiceSettings, read_settings
from service import live
from service.conftest import until
from service.live import Live
from service.try_kills import CLIENTS, Client, import_all, made, started

ROOT = Path(__file__).parents[2]


def test_a_stop_answers_what_was_asked(tmp_path: Path) -> None:
    """SIGTERM under load: whatever is in the file has had its answer, and the file is closed."""
    code = f"from service.test_running import stop_under_load; stop_under_load({str(tmp_path)!r})"
    command = [sys.executable, "-c", code]
    done = run_process(command, cwd=ROOT / "tests", stdout=PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["status"] in (0, signal.SIGTERM) and found["answers"] > 2 * CLIENTS, found
    assert not list((tmp_path / "experiments").glob("*-wal")), "the file was closed"
    _, kept = next(replayed_experiments(tmp_path, verify=True))
    assert kept.events == 1 + found["answers"]


def stop_under_load(data: str) -> None:
    """Stop a service that is a fork of this process, and print what became of it."""
    import_all()
    found = {"again": 0}
    clients = [Client(number, found) for number in range(CLIENTS)]
    child, port = started(Path(data))

    async def play() -> None:
        await made(port)
        first = asyncio.Event()
        tasks = [asyncio.create_task(client.play(port, first)) for client in clients]
        await first.wait()
        await asyncio.sleep(0.2)
        os.kill(child, signal.SIGTERM)
        await asyncio.gather(*tasks)

    try:
        asyncio.run(play())
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    _, status = os.waitpid(child, 0)
    answers = sum(len(client.answers) for client in clients)
    print(json.dumps({"status": status, "answers": answers}))


def test_the_address_is_said_once_it_answers(tmp_path: Path) -> None:
    options = ["--data", str(tmp_path), "--port", "0", "--log-level", "error"]
    environment = {**os.environ, **prompt.PLAIN}
    command = [*prompt.ENSAMPLE, "serve", *options]
    with Popen(command, stderr=PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().split("/docs")[0].rpartition(":")[2])
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as caller:
                caller.request("GET", "/readyz")
                assert caller.getresponse().status == 200
        finally:
            server.terminate()


def test_an_address_that_is_taken_is_said(tmp_path: Path) -> None:
    with closing(listening(ServiceSettings(data=tmp_path, port=0))) as first:
        first.listen()
        with pytest.raises(es.InvalidArgument, match="an address of this machine that is free"):
            listening(ServiceSettings(data=tmp_path, port=first.getsockname()[1]))


def test_warnings_are_lines_of_the_log() -> None:
    said = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log_warnings(Journal("info", said, lambda: "noon"))
        warnings.warn("shop: none", es.SnapshotWarning, stacklevel=1)
    line = {"time": "noon", "level": "warning", "event": "warning", "type": "SnapshotWarning"}
    assert json.loads(said.getvalue()) == line | {"message": "shop: none"}


def test_settings_come_from_three_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ensample.toml"
    file.write_text('[serve]\nport = 1\nhosts = ["a.example"]\ndata = "there"\n')
    monkeypatch.chdir(tmp_path)
    environment = {"ENSAMPLE_PORT": "2", "ENSAMPLE_CORS": "https://b.example"}
    found = read_settings({"data": None}, environment)
    assert (found.port, found.hosts, str(found.data)) == (2, ("a.example",), "there")
    assert found.cors == ("https://b.example",)
    assert read_settings({"port": 3}, environment).port == 3
    wrong = [("[serve]\nprt = 1\n", "prt"), ("[serve]\nport = 'x'\n", "port"), ("[serve\n", "TOML")]
    for text, word in wrong:
        file.write_text(text)
        with pytest.raises(es.InvalidArgument, match=word):
            read_settings({}, {})
    file.unlink()
    with pytest.raises(es.InvalidArgument, match="ENSAMPLE_PORT"):
        read_settings({}, {"ENSAMPLE_PORT": "eighty"})
    with pytest.raises(es.InvalidArgument, match="nowhere"):
        read_settings({}, {}, Path("nowhere.toml"))


def test_the_demonstration(tmp_path: Path) -> None:
    with listening(ServiceSettings(data=tmp_path, port=0)) as free:
        port = str(free.getsockname()[1])
    options = ["--data", str(tmp_path), "--port", port, "--seconds", "1", "--no-stays"]
    command = [sys.executable, str(ROOT / "examples" / "serve_demo.py"), *options]
    done = run_process(command, capture_output=True, text=True, check=True)
    assert f"http://127.0.0.1:{port}/" in done.stdout and int(done.stdout.split()[0]) > 3
    _, kept = next(replayed_experiments(tmp_path, verify=True))
    assert kept.events > 6


HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def sockets(served: Live, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Open connections and send the same on each."""
    address = urlsplit(served.url)
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


def refused(served: Live) -> list[dict[str, Any]]:
    lines = map(json.loads, served.said.getvalue().splitlines())
    return [line for line in lines if line["event"] == "refused"]


def check_log(served: Live, connections: int, since: float) -> None:
    """Check that refused connections are logged with their number, once a second at most."""
    assert until(lambda: sum(line["connections"] for line in refused(served)) >= connections)
    assert len(refused(served)) <= 2 * (time.monotonic() - since + 2)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Live]:
    """A service that has few connections and little patience."""
    with live.listening(tmp_path / "live", connections=8, headers=1) as found:
        yield found


def test_half_sent_headers_keep_nobody_out_and_are_closed_in_time(small: Live) -> None:
    before, start = len(os.listdir("/proc/self/fd")), time.monotonic()
    with sockets(small, 60, HALF) as half:
        for _ in range(5):
            assert httpx.get(f"{small.url}/healthz").status_code == 200
        assert all(map(is_closed, half))
    assert until(lambda: len(os.listdir("/proc/self/fd")) <= before)
    check_log(small, 60, start)
    reasons = {line["why"] for line in refused(small)}
    assert reasons == {"too many connections", "no headers in time"}


def test_a_connection_that_answers_is_not_closed_before_others(small: Live) -> None:
    """The one that waited longest is; and one that asks again within the time goes on."""
    with httpx.Client() as client, sockets(small, 4, HALF):
        for _ in range(4):
            assert client.get(f"{small.url}/healthz").status_code == 200
            time.sleep(0.3)
        with sockets(small, 1, WHOLE) as asked:
            assert asked[0].recv(1_000).startswith(b"HTTP/1.1 200")


def test_second_request_that_is_half_sent_is_closed_too(small: Live) -> None:
    with sockets(small, 3, WHOLE + HALF) as half:
        assert all(map(is_closed, half))


def test_calls_in_a_pipeline_are_all_answered(small: Live) -> None:
    with sockets(small, 1, WHOLE * 20) as (one,):
        answers = b""
        while answers.count(b'"ok"') < 20:
            answers += one.recv(100_000)


def test_requests_that_are_not_http_are_logged_once_a_second(small: Live) -> None:
    start = time.monotonic()
    for _ in range(10):
        with sockets(small, 8, b"\x00\x01\r\n\r\n") as wrong:
            assert all(map(is_closed, wrong))
    check_log(small, 80, start)


def test_connections_that_cannot_be_accepted_are_logged_once_a_second() -> None:
    said = io.StringIO()

    async def run() -> None:
        loop, log = asyncio.get_running_loop(), RefusalLog(Journal("info", said))
        error = {"message": "out of system resource", "exception": OSError(24, "too many")}
        for _ in range(2_000):
            log.on_error(loop, error | {"socket": None})
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
