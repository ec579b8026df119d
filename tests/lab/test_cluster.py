"""Dask clusters: the bytes that threads give, who may use them, and what is said when they fail."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import distributed
import psutil
import pytest

import ensample as es
from ensample.lab import cluster as engine
from ensample.lab.run import Progress
from lab.clusters import machines, write_keys
from lab.studies import TOML, cell_files, slow, small

OPEN = pytest.mark.filterwarnings("ignore:cluster = 'tcp")
ALERT = b"\x15"  # first byte of the answer of TLS to those whom it turns away


def refused(tmp_path: Path, said: str, address: str, study: es.Study | None = None) -> None:
    """Run a study on a cluster that cannot do it."""
    with pytest.raises(es.InvalidArgument, match=said):
        es.run_study(study or small(), tmp_path / "new", cluster=address)


# Strangers


def listening() -> set[int]:
    """Return the ports on which this process and those that it started listen."""
    us = psutil.Process()
    processes = (us, *us.children(recursive=True))
    sockets = [one for process in processes for one in process.net_connections(kind="inet")]
    return {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}


def answer_to(port: int, context: ssl.SSLContext | None = None) -> bytes:
    """Return the answer to a request for a page, plainly or through TLS."""
    line = socket.create_connection(("127.0.0.1", port), timeout=5)
    try:
        if context is not None:
            line = context.wrap_socket(line)
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return line.recv(1000)
    except OSError:  # turned away, or kept waiting; errors of TLS are among them
        return b""
    finally:
        line.close()


def strangers() -> list[ssl.SSLContext | None]:
    """Return no TLS, TLS without a certificate, and with one of somebody else's."""
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    arguments = distributed.Security.temporary().get_connection_args("client")
    somebody: ssl.SSLContext = arguments["ssl_context"]
    for context in (nobody, somebody):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return [None, nobody, somebody]


def admitted(address: str) -> list[str]:
    """Return the schemes by which a client with other keys can use a scheduler."""
    found = []
    for scheme, keys in (("tls", distributed.Security.temporary()), ("tcp", None)):
        place = f"{scheme}://{address.rpartition('/')[2]}"
        try:
            with distributed.Client(place, timeout=2, security=keys) as stranger:
                found.append(f"{scheme} as {stranger.run_on_scheduler(os.getuid)}")
        except OSError:
            pass
    return found


def test_nothing_of_a_local_cluster_answers_a_stranger(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    before = listening()
    answers: dict[int, list[bytes]] = {}  # to strangers
    greetings: list[bytes] = []  # to us
    schemes: list[str] = []

    def attack(done: Progress) -> None:
        if done.cells and not answers:
            others = strangers()
            for port in listening() - before:
                answers[port] = [answer_to(port, other) for other in others]
            client = distributed.default_client()
            ours = client.security.get_connection_args("client")["ssl_context"]
            greetings.extend(answer_to(port, ours) for port in answers)
            schemes.extend(admitted(client.scheduler.address))

    es.run_study(small(), tmp_path, cluster="local", progress=attack)
    assert cell_files(tmp_path) == whole, "those with keys get what threads give"
    assert not schemes and all(greetings)
    assert len(answers) >= 3, "a scheduler, a worker and its nanny"
    found = [answer for to_port in answers.values() for answer in to_port]
    assert all(not answer or answer.startswith(ALERT) for answer in found), answers
    assert listening() <= before


def test_strangers_are_answered_where_nobody_asks_for_keys(tmp_path: Path) -> None:
    """Negative control."""
    with machines(tmp_path, workers=()) as there:
        assert answer_to(int(there.address.rpartition(":")[2]), strangers()[0])


def test_cluster_with_keys_admits_those_who_have_them(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    ours, others = write_keys(tmp_path), write_keys(tmp_path / "others")
    with machines(tmp_path, keys=ours) as there:
        assert there.address.startswith("tls://")
        es.run_study(small(), tmp_path / "mine", cluster=there.address, cluster_security=ours)
        assert cell_files(tmp_path / "mine") == whole
        monkeypatch.setattr(engine, "PATIENCE", 3.0)
        with pytest.raises(es.InvalidArgument, match=r"cluster = 'tls://.*a scheduler that answ"):
            es.run_study(small(), tmp_path / "x", cluster=there.address, cluster_security=others)
        with pytest.warns(UserWarning, match="run code"):
            refused(tmp_path, "a scheduler that answers", there.address.replace("tls", "tcp"))
        with pytest.raises(es.InvalidArgument, match=r"cluster_security = None.*ca, cert and key"):
            es.run_study(small(), tmp_path / "none", cluster=there.address)
    assert not (tmp_path / "none").exists()


PEM = "PEM files"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "a TOML file with the paths ca, cert and key"),
        ("ca = ", "a TOML file with the paths ca, cert and key"),
        ('ca = "lab.pem"', "cert is missing"),
        ('ca = "lab.pem"\ncert = 3', "cert is 3"),
        ('ca = "lab.pem"\ncert = "lab.pem"\nkee = "lab.key"', "kee is 'lab.key'"),
        ('ca = "lab.pem"\ncert = "lab.pem"\nkey = "lab.keys"', "no file is there; key is"),
        ('ca = "lab.key"\ncert = "lab.pem"\nkey = "lab.key"', PEM),
        ('ca = "lab.pem"\ncert = "lab.pem"\nkey = "others/lab.key"', PEM),
        ('ca = "lab.pem"\ncert = "lab.pem"', PEM),
    ],
)
def test_file_of_keys_that_cannot_be_used_is_named(
    text: str | None, said: str, tmp_path: Path
) -> None:
    (tmp_path / "others").mkdir()
    write_keys(tmp_path / "others")
    file = write_keys(tmp_path)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    with pytest.raises(es.InvalidArgument, match=f"cluster_security = .*{said}"):
        es.run_study(small(), tmp_path / "new", cluster="tls://127.0.0.1:9", cluster_security=file)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("cluster", [None, "local", "tcp://127.0.0.1:9"])
def test_keys_are_refused_where_none_are_asked_for(cluster: str | None, tmp_path: Path) -> None:
    keys = write_keys(tmp_path)
    with pytest.raises(es.InvalidArgument, match=r"cluster_security = .*None"):
        es.run_study(small(), tmp_path / "new", cluster=cluster, cluster_security=keys)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("package", ["cryptography", "distributed"])
def test_missing_package_is_named_before_anything_is_done(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = f"^cluster='local' needs {package}: pip install {package}$"
    with pytest.raises(es.MissingPackage, match=said):
        es.run_study(small(), tmp_path / "new", cluster="local")
    assert not (tmp_path / "new").exists()


def test_command_warns_of_a_cluster_that_is_open_to_all(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    code = "import ensample.lab.cluster as c; c.PATIENCE = 0.5; "
    code += "from ensample.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "mine.toml", "--cluster", "tcp://127.0.0.1:9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    _, warning, error = done.stderr.splitlines()
    assert warning.startswith("warning: cluster = 'tcp://127.0.0.1:9': it asks nobody who they are")
    said = "error: cluster = 'tcp://127.0.0.1:9': expected 'local' or a scheduler"
    assert done.returncode == 2 and error.startswith(said)


# Clusters that fail


@pytest.mark.long
def test_cluster_that_loses_a_worker_gives_the_same_bytes(
    tmp_path: Path, slow_whole: dict[str, bytes]
) -> None:
    keys = write_keys(tmp_path)
    lost: list[int] = []
    with machines(tmp_path, keys=keys) as there:

        def kill_one(done: Progress) -> None:
            if done.cells >= 4 and not lost:
                lost.append(done.cells)
                os.kill(there.workers[0].pid, signal.SIGKILL)

        out = tmp_path / "cluster"
        options = {"cluster": there.address, "cluster_security": keys}
        es.run_study(slow(), out, **options, progress=kill_one)  # type: ignore[arg-type]
        assert lost and lost[0] < 36 and there.workers[0].wait(10) == -signal.SIGKILL
    assert cell_files(out) == slow_whole


def test_worker_of_another_version_is_refused() -> None:
    with pytest.raises(es.InvalidArgument, match=r"workers with ensample \('99\.0', 1\)"):
        engine.run_there(b"a task of that version", ("99.0", 1))


@OPEN
def test_worker_without_ensample_is_named_and_lives(tmp_path: Path) -> None:
    start = time.monotonic()
    with machines(tmp_path, workers=[False]) as there:
        refused(tmp_path, "workers with ensample .*No module named", there.address)
        assert there.workers[0].poll() is None
    assert time.monotonic() - start < 30


@OPEN
def test_scheduler_needs_no_ensample(tmp_path: Path, whole: dict[str, bytes]) -> None:
    with machines(tmp_path, workers=[True], scheduler=False) as there:
        es.run_study(small(), tmp_path / "new", cluster=there.address)
    assert cell_files(tmp_path / "new") == whole


@OPEN
def test_scheduler_without_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 2 * engine.PATIENCE <= 30
    monkeypatch.setattr(engine, "PATIENCE", 5.0)  # on a busy machine a scheduler answers within
    with machines(tmp_path, workers=[]) as there:
        refused(tmp_path, "it has had none for 5 s", there.address)


@OPEN
def test_server_that_says_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        refused(tmp_path, "a scheduler that answers", f"tcp://127.0.0.1:{mute.getsockname()[1]}")


@pytest.mark.parametrize(
    "address", ["", "nothing", "http://127.0.0.1:9", "tcp://127.0.0.1:port", "tcp://[", "\x1b[31m"]
)
def test_address_that_is_none_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    with pytest.warns(UserWarning, match="run code"):
        refused(tmp_path, "cluster = ", address)


@OPEN
def test_cell_that_kills_its_workers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill a worker at its first cell, with a scheduler that tries no second one."""
    monkeypatch.setattr(engine, "PATIENCE", 5.0)
    for attempt in range(5):
        said = error_of_a_kill(tmp_path / str(attempt))
        if "has had none" not in said:  # it died between two cells
            break
    assert re.search(r"workers that live through cell \d+ \(\w+, sphere, .*1 of them died", said)
    assert any(cell.name in said for cell in slow().cells)


def error_of_a_kill(folder: Path) -> str:
    folder.mkdir()
    once = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with machines(folder, workers=[True], **once) as there:

        def kill(done: Progress) -> None:
            if done.cells == 2:
                os.kill(there.workers[0].pid, signal.SIGKILL)

        with pytest.raises(es.InvalidArgument) as caught:
            es.run_study(slow(), folder / "new", cluster=there.address, progress=kill)
    return str(caught.value)


@OPEN
def test_scheduler_that_is_lost_is_named_soon(tmp_path: Path) -> None:
    with machines(tmp_path) as there:

        def kill(done: Progress) -> None:
            if done.cells == 2 and there.scheduler.poll() is None:
                there.scheduler.kill()
                there.scheduler.wait()

        start = time.monotonic()
        with pytest.raises(es.InvalidArgument, match="a scheduler that stays"):
            es.run_study(slow(), tmp_path / "new", cluster=there.address, progress=kill)
        assert time.monotonic() - start < 30
    assert len(es.Results(tmp_path / "new").outcomes) == 2


class Fetched:
    """A future whose worker died before its result was fetched."""

    status = "pending"

    def __init__(self, waits: int) -> None:
        self.waits = waits

    def result(self, timeout: float) -> str:
        self.waits -= 1
        if self.waits >= 0:
            raise TimeoutError
        return "results"


class Client:
    status = "running"

    def __init__(self, **workers: int) -> None:
        self.workers = workers

    def nthreads(self) -> dict[str, int]:
        return self.workers


def test_lost_result_is_waited_for_while_there_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATIENCE", -1.0)
    address = "tcp://there"
    assert engine.result_of(Fetched(3), None, Client(a=1), address) == "results"
    with pytest.raises(es.InvalidArgument, match="a scheduler with workers, and it has had none"):
        engine.result_of(Fetched(3), None, Client(), address)
