"""A PostgreSQL on loopback while the tests run, started by another user than root."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

USERS = ("postgres", "nobody")


def programs() -> Path | None:
    """The newest of Debian's, or what the shell finds."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).resolve().parent if named else None


def as_user() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    for name in USERS:
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("no user to start PostgreSQL")


@contextmanager
def postgresql() -> Iterator[str]:
    """Its address. What is kept lasts as long as its process: it is not the disk that is tested."""
    where = programs()
    if where is None:
        pytest.skip("needs the Debian package postgresql")
    folder, user = Path(tempfile.mkdtemp(prefix="ensample-pg-")), as_user()
    if user:
        os.chown(folder, user["user"], user["group"])
    data = folder / "data"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
    subprocess.run(
        [where / "initdb", "-D", data, "-A", "trust", "-U", "ensample", "-N", "-E", "UTF8"],
        check=True,
        **quiet,
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": "200",
    }
    options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
    server = subprocess.Popen([where / "postgres", "-D", data, "-p", str(port), *options], **quiet)
    address = f"postgresql://ensample@127.0.0.1:{port}/postgres"
    try:
        awaited(address, server)
        yield address
    finally:
        server.terminate()  # "smart": but nobody waits for those who are connected
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def awaited(address: str, server: "subprocess.Popen[bytes]") -> None:
    import psycopg

    for _ in range(1_200):
        if server.poll() is not None:
            raise RuntimeError("PostgreSQL did not start")
        try:
            psycopg.connect(address, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise RuntimeError("PostgreSQL does not answer")
