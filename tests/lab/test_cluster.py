"""Who may use a cluster, and what is said when one cannot be used."""

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
from lab.studies import TOML, slow, small
from lab.test_run import cell_files

OPEN = pytest.mark.filterwarnings("ignore:cluster = 'tcp")
ALERT = b"\x15"  # the first byte of what TLS says to those whom it turns away


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    es.run_study(small(), folder)
    return cell_files(folder)


def listening() -> set[int]:
    """The ports on which this process and those that it started listen."""
    us = psutil.Process()
    sockets = [
        one
        for process in (us, *us.children(recursive=True))
        for one in process.net_connections(kind="inet")
    ]
    return {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}


def answer_to(port: int, context: ssl.SSLContext | None = None) -> bytes:
    """What a stranger is told who asks for a page, plainly or through TLS."""
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
    """Without TLS, without a certificate, and with one of somebody else's."""
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    somebody: ssl.SSLContext = distributed.Security.temporary().get_connection_args("client")[
        "ssl_context"
    ]
    for context in (nobody, somebody):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return [None, nobody, somebody]


def test_nothing_of_a_local_cluster_answers_a_stranger(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    before = listening()
    answers: dict[int, list[bytes]] = {}  # to strangers
    greetings: list[bytes] = []  # to us
    admitted: list[str] = []

    def attack(done: Progress) -> None:
        if done.cells and not answers:
            all_strangers = strangers()
            answers.update(
                {
                    port: [answer_to(port, who) for who in all_strangers]
                    for port in listening() - before
                }
            )
            client = distributed.default_client()
            ours = client.security.get_connection_args("client")["ssl_context"]
            greetings.extend(answer_to(port, ours) for port in answers)
            address = client.scheduler.address
            for scheme, keys in (("tls", distributed.Security.temporary()), ("tcp", None)):
                try:
                    with distributed.Client(
                        f"{scheme}://{address.rpartition('/')[2]}", timeout=2, security=keys
                    ) as stranger:
                        admitted.append(
                            f"as {stranger.run_on_scheduler(os.getuid)} through {scheme}"
                        )
                except OSError:
                    pass

    es.run_study(small(), tmp_path, cluster="local", progress=attack)
    assert cell_files(tmp_path) == whole, "those with keys get what threads give"
    assert not admitted and all(greetings)
    assert len(answers) >= 3, "a scheduler, a worker and its nanny"
    assert all(not said or said.startswith(ALERT) for told in answers.values() for said in told), (
        answers
    )
    assert listening() <= before


def test_the_same_strangers_are_answered_where_nobody_asks_for_keys(tmp_path: Path) -> None:
    """A negative control."""
    with machines(tmp_path, workers=()) as there:
        assert answer_to(int(there.address.rpartition(":")[2]), strangers()[0])


def test_a_cluster_with_keys_admits_those_who_have_them(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    ours, others = write_keys(tmp_path), write_keys(tmp_path / "others")
    with machines(tmp_path, keys=ours) as there:
        assert there.address.startswith("tls://")
        es.run_study(small(), tmp_path / "mine", cluster=there.address, cluster_security=ours)
        assert cell_files(tmp_path / "mine") == whole
        monkeypatch.setattr(engine, "PATIENCE", 3.0)
        with pytest.raises(
            es.InvalidArgument, match=r"cluster = 'tls://.*a scheduler that answers"
        ):
            es.run_study(
                small(), tmp_path / "theirs", cluster=there.address, cluster_security=others
            )
        with (
            pytest.warns(UserWarning, match="run code"),
            pytest.raises(es.InvalidArgument, match="a scheduler that answers"),
        ):
            es.run_study(small(), tmp_path / "plain", cluster=there.address.replace("tls", "tcp"))
        with pytest.raises(es.InvalidArgument, match=r"cluster_security = None.*ca, cert and key"):
            es.run_study(small(), tmp_path / "none", cluster=there.address)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "a TOML file with ca, cert and key"),
        ("ca = ", "a TOML file with ca, cert and key"),
        ('ca = "lab.pem"', "cert is missing"),
        ('ca = "lab.pem"\ncert = 3', "cert is 3"),
        ('ca = "lab.pem"\ncert = "lab.pem"\nkee = "lab.key"', "kee is 'lab.key'"),
        ('ca = "lab.pem"\ncert = "lab.pem"\nkey = "lab.keys"', "files that are there; key is"),
        ('ca = "lab.key"\ncert = "lab.pem"\nkey = "lab.key"', "PEM files that belong together"),
        (
            'ca = "lab.pem"\ncert = "lab.pem"\nkey = "others/lab.key"',
            "PEM files that belong together",
        ),
        ('ca = "lab.pem"\ncert = "lab.pem"', "PEM files that belong together"),
    ],
)
def test_a_file_of_keys_that_cannot_be_used_is_named(
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
def test_keys_where_none_are_asked_for(cluster: str | None, tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match=r"cluster_security = .*None"):
        es.run_study(
            small(), tmp_path / "new", cluster=cluster, cluster_security=write_keys(tmp_path)
        )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("package", ["cryptography", "distributed"])
def test_a_missing_package_is_named_before_anything_is_done(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        es.MissingPackage, match=f"^cluster='local' needs {package}: pip install {package}$"
    ):
        es.run_study(small(), tmp_path / "new", cluster="local")
    assert not (tmp_path / "new").exists()


def test_the_command_warns_of_a_cluster_that_is_open_to_all(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    code = "import ensample.lab.cluster as c; c.PATIENCE = 0.5; from ensample.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "mine.toml", "--cluster", "tcp://127.0.0.1:9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    _, warning, error = done.stderr.splitlines()
    assert warning.startswith("warning: cluster = 'tcp://127.0.0.1:9': it asks nobody who they are")
    assert done.returncode == 2 and error.startswith(
        "error: cluster = 'tcp://127.0.0.1:9': expected 'local' or a scheduler"
    )


@OPEN
def test_a_worker_without_ensample_says_so_and_lives(tmp_path: Path) -> None:
    start = time.monotonic()
    with machines(tmp_path, workers=[False]) as there:
        with pytest.raises(
            es.InvalidArgument, match=r"cluster = .*workers with ensample .*No module named"
        ):
            es.run_study(small(), tmp_path / "new", cluster=there.address)
        assert there.workers[0].poll() is None
    assert time.monotonic() - start < 30


@OPEN
def test_a_scheduler_needs_no_ensample(tmp_path: Path, whole: dict[str, bytes]) -> None:
    with machines(tmp_path, workers=[True], scheduler=False) as there:
        es.run_study(small(), tmp_path / "new", cluster=there.address)
    assert cell_files(tmp_path / "new") == whole


@OPEN
def test_a_scheduler_without_workers_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 2 * engine.PATIENCE <= 30
    monkeypatch.setattr(engine, "PATIENCE", 5.0)  # on a busy machine a scheduler answers within
    with (
        machines(tmp_path, workers=[]) as there,
        pytest.raises(es.InvalidArgument, match="it has had none for 5 s"),
    ):
        es.run_study(small(), tmp_path / "new", cluster=there.address)


@OPEN
def test_something_else_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the call and says nothing."""
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(es.InvalidArgument, match="a scheduler that answers"),
    ):
        es.run_study(small(), tmp_path, cluster=f"tcp://127.0.0.1:{mute.getsockname()[1]}")


@OPEN
@pytest.mark.parametrize(
    "address", ["", "nothing", "http://127.0.0.1:9", "tcp://127.0.0.1:port", "tcp://[", "\x1b[31m"]
)
def test_an_address_that_is_none(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    with (
        pytest.warns(UserWarning, match="run code"),
        pytest.raises(es.InvalidArgument, match="cluster = "),
    ):
        es.run_study(small(), tmp_path, cluster=address)


@OPEN
def test_a_cell_that_kills_its_workers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies at its first cell, and a scheduler that tries no second one."""
    monkeypatch.setattr(engine, "PATIENCE", 5.0)
    for attempt in range(5):
        said = said_of_a_kill(tmp_path, attempt)
        if "has had none" not in said:  # it died between two cells
            break
    assert re.search(r"workers that live through cell \d+ \(\w+, sphere, .*1 of them died", said)
    assert any(cell.name in said for cell in slow().cells)


def said_of_a_kill(folder: Path, attempt: int) -> str:
    place = folder / str(attempt)
    place.mkdir()
    with machines(
        place, workers=[True], DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0"
    ) as there:

        def kill(done: Progress) -> None:
            if done.cells == 2:
                os.kill(there.workers[0].pid, signal.SIGKILL)

        with pytest.raises(es.InvalidArgument) as caught:
            es.run_study(slow(), place / "new", cluster=there.address, progress=kill)
    return str(caught.value)


class Fetched:
    """A future whose worker died before its result was fetched: it is computed again, or waits for a worker."""

    status = "pending"

    def __init__(self, waits: int) -> None:
        self.waits = waits

    def result(self, timeout: float) -> str:
        self.waits -= 1
        if self.waits >= 0:
            raise TimeoutError
        return "block"


class Client:
    status = "running"

    def __init__(self, workers: dict[str, int]) -> None:
        self.workers = workers

    def nthreads(self) -> dict[str, int]:
        return self.workers


def test_a_result_that_was_lost_is_waited_for_while_there_are_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", -1.0)
    there, nobody = (engine.Patience(Client(threads), "tcp://there") for threads in ({"a": 1}, {}))
    assert engine.result_of(Fetched(3), None, there) == "block"
    with pytest.raises(es.InvalidArgument, match="a scheduler with workers, and it has had none"):
        engine.result_of(Fetched(3), None, nobody)


@OPEN
def test_a_scheduler_that_is_lost_is_named_soon(tmp_path: Path) -> None:
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
