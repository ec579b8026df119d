"""A cluster on this machine for one run, which nobody else can use.

A Dask scheduler runs what it is sent, as the user who started it, and every user of a machine can reach its loopback
addresses. So everything that listens here asks for keys that are made for the run and kept in memory; what cannot ask for
them (distributed's web pages) is not started; and workers keep what they put on disk in a folder of our own.
"""

import logging
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dask.system import CPU_COUNT
from distributed import Client, Nanny, Scheduler, Security, SpecCluster, Worker

HOST = "127.0.0.1"


class PagelessScheduler(Scheduler):
    """Without web pages, which distributed serves to anybody even where the dashboard is off."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        return


class PagelessWorker(Worker):
    """Likewise."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        return


@contextmanager
def local_client() -> Iterator[Any]:
    """A client of a new cluster: one process of one thread for each core."""
    keys = Security.temporary()
    with tempfile.TemporaryDirectory(prefix="ensample-") as scratch:  # only we may enter
        common = {"host": HOST, "protocol": "tls://", "security": keys}
        worker = common | {
            "worker_class": PagelessWorker,
            "nthreads": 1,
            "local_directory": scratch,
        }
        worker |= {"silence_logs": logging.CRITICAL}
        with deaf_to_ctrl_c():
            cluster = SpecCluster(
                scheduler={
                    "cls": PagelessScheduler,
                    "options": common | {"port": 0, "dashboard": False},
                },
                workers={number: {"cls": Nanny, "options": worker} for number in range(CPU_COUNT)},
                security=keys,
                silence_logs=logging.CRITICAL,
            )
        with cluster, Client(cluster, security=keys) as client:
            yield client


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started in here leave Ctrl-C to this one."""
    if threading.current_thread() is not threading.main_thread():  # elsewhere signals cannot be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
