"""A Dask cluster on this machine for one run, which nobody else can use.

A Dask scheduler runs what it is sent, as the user who started it, and every user of a machine can
reach its loopback addresses. So everything that listens asks for keys that are made for the run and
kept in memory; distributed's web pages, which ask for none, are not started; and workers write to a
folder of our own.
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


class PagelessScheduler(Scheduler):
    """Scheduler without web pages, which distributed serves even where the dashboard is off."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        return


class PagelessWorker(Worker):
    """Worker without web pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        return


@contextmanager
def local_client() -> Iterator[Any]:
    """Yield a client of a new cluster: one process of one thread for each core."""
    keys = Security.temporary()
    with tempfile.TemporaryDirectory(prefix="ensample-") as scratch:
        common = {"host": "127.0.0.1", "protocol": "tls://", "security": keys}
        worker = common | {"worker_class": PagelessWorker, "nthreads": 1}
        worker |= {"local_directory": scratch, "silence_logs": logging.CRITICAL}
        scheduler = common | {"port": 0, "dashboard": False}
        with without_ctrl_c():
            cluster = SpecCluster(
                scheduler={"cls": PagelessScheduler, "options": scheduler},
                workers={number: {"cls": Nanny, "options": worker} for number in range(CPU_COUNT)},
                security=keys,
                silence_logs=logging.CRITICAL,
            )
        with cluster, Client(cluster, security=keys) as client:
            yield client


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Let processes that are started in here ignore Ctrl-C, which this process handles."""
    if threading.current_thread() is not threading.main_thread():  # only it can set signals
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
