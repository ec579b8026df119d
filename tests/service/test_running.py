"""The service as a process: it starts, is played with, and stops when all that was asked is answered."""

import asyncio
import http.client
import io
import json
import os
import signal
import sys
import warnings
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen
from subprocess import run as run_process

import pytest

import ensample as es
import prompt
from ensample.service.journal import Journal
from ensample.service.maintenance import replayed_experiments
from ensample.service.server import listening, log_warnings
from ensample.service.settings import ServiceSettings, read_settings
from service.try_kills import CLIENTS, Client, connected, import_all, request, response, started

ONE = "/v1/experiments/killed"


def test_a_stop_answers_what_was_asked(tmp_path: Path) -> None:
    """SIGTERM under load: whatever is in the file has had its answer, and the file is closed before the process ends."""
    code = f"""
import asyncio, json, os, signal, sys
from pathlib import Path
from service.test_running import stopped_under_load
print(json.dumps(stopped_under_load(Path({str(tmp_path)!r}))))
"""
    done = run_process(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["status"] in (0, signal.SIGTERM) and found["answers"] > 2 * CLIENTS, found
    assert not list((tmp_path / "experiments").glob("*-wal")), "the file was closed"
    _, kept = next(replayed_experiments(tmp_path, verify=True))
    assert kept.events == 1 + found["answers"]


def stopped_under_load(data: Path) -> dict[str, int]:
    """In a process without threads, of which the service is a fork."""
    from ensample.experiments.storage.sqlite import SQLiteStorage

    import_all()
    found = {"again": 0}
    clients = [Client(number, found) for number in range(CLIENTS)]
    child, port = started(data, SQLiteStorage)

    async def play() -> None:
        reader, writer = await connected(port)
        writer.write(request("PUT", ONE, json.dumps({"actions": ["a", "b"]}).encode()))
        await response(reader)
        writer.close()
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
    return {"status": status, "answers": sum(len(client.answers) for client in clients)}


def test_the_address_is_said_once_it_answers(tmp_path: Path) -> None:
    command = [
        *prompt.ENSAMPLE,
        "serve",
        "--data",
        str(tmp_path),
        "--port",
        "0",
        "--log-level",
        "error",
    ]
    with Popen(command, stderr=PIPE, text=True, env={**os.environ, **prompt.PLAIN}) as server:
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().split("/docs")[0].rpartition(":")[2])
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as caller:
                caller.request("GET", "/readyz")
                assert caller.getresponse().status == 200
        finally:
            server.terminate()


def test_an_address_that_is_taken_is_said(tmp_path: Path) -> None:
    first = listening(ServiceSettings(data=tmp_path, port=0))
    first.listen()
    with pytest.raises(es.InvalidArgument, match="an address of this machine that is free"):
        listening(ServiceSettings(data=tmp_path, port=first.getsockname()[1]))
    first.close()


def test_warnings_are_lines_of_the_log() -> None:
    said = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log_warnings(Journal("info", said, lambda: "noon"))
        warnings.warn("shop: none", es.SnapshotWarning, stacklevel=1)
    expected = {
        "time": "noon",
        "level": "warning",
        "event": "warning",
        "type": "SnapshotWarning",
        "message": "shop: none",
    }
    assert json.loads(said.getvalue()) == expected


def test_settings_come_from_three_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ensample.toml"
    file.write_text('[serve]\nport = 1\nhosts = ["a.example"]\ndata = "there"\n')
    monkeypatch.chdir(tmp_path)
    found = read_settings(
        {"data": None}, {"ENSAMPLE_PORT": "2", "ENSAMPLE_CORS": "https://b.example"}
    )
    assert (found.port, found.hosts, found.cors, str(found.data)) == (
        2,
        ("a.example",),
        ("https://b.example",),
        "there",
    )
    assert read_settings({"port": 3}, {"ENSAMPLE_PORT": "2"}).port == 3
    for text, word in (
        ("[serve]\nprt = 1\n", "prt"),
        ("[serve]\nport = 'x'\n", "port"),
        ("[serve\n", "TOML"),
    ):
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
    command = [
        sys.executable,
        str(Path(__file__).parents[2] / "examples" / "serve_demo.py"),
        "--data",
        str(tmp_path),
        "--port",
        port,
    ]
    done = run_process(
        [*command, "--seconds", "1", "--no-stays"], capture_output=True, text=True, check=True
    )
    assert f"http://127.0.0.1:{port}/" in done.stdout and int(done.stdout.split()[0]) > 3
    _, kept = next(replayed_experiments(tmp_path, verify=True))
    assert kept.events > 6
