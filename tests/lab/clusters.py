"""Real clusters on loopback: a scheduler and workers, each a process of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from distributed import Security

Process = subprocess.Popen[bytes]
LACKING = "import sys; sys.modules['ensample'] = None; "  # as if it were not installed


class Machines(NamedTuple):
    address: str
    scheduler: Process
    workers: list[Process]


def write_keys(folder: Path) -> Path:
    """Keys of a new authority, and the file that names them."""
    keys = Security.temporary()
    (folder / "lab.pem").write_text(keys.tls_client_cert)
    (folder / "lab.key").write_text(keys.tls_client_key)
    (folder / "keys.toml").write_text('ca = "lab.pem"\ncert = "lab.pem"\nkey = "lab.key"\n')
    return folder / "keys.toml"


@contextmanager
def machines(
    folder: Path,
    workers: Sequence[bool] = (True, True),
    scheduler: bool = True,
    keys: Path | None = None,
    **settings: str,
) -> Iterator[Machines]:
    """Start a cluster whose `workers` and `scheduler` have ensample or not."""
    contact = folder / "scheduler.json"
    options = ["--scheduler-file", str(contact), "--host", "127.0.0.1", "--no-dashboard"]
    if keys is not None:
        options += ["--protocol", "tls", "--tls-ca-file", str(keys.parent / "lab.pem")]
        options += [
            "--tls-cert",
            str(keys.parent / "lab.pem"),
            "--tls-key",
            str(keys.parent / "lab.key"),
        ]
    processes: list[Process] = []

    def start(module: str, has_ensample: bool, *more: str) -> None:
        code = f"{'' if has_ensample else LACKING}from distributed.cli.{module} import main; main()"
        command = [sys.executable, "-c", code, *options, *more]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, cwd=folder, env=os.environ | settings, **quiet))

    try:
        start("dask_scheduler", scheduler, "--port", "0")
        deadline = time.monotonic() + 60
        while not (contact.exists() and contact.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for has_ensample in workers:
            start("dask_worker", has_ensample, "--nthreads", "1", "--no-nanny")
        yield Machines(json.loads(contact.read_text())["address"], processes[0], processes[1:])
    finally:
        for process in processes:
            process.kill()
            process.wait()
