"""A process of `warm_up`: it reads names of tasks, one a line, does them and writes their names."""

import os
import signal
import sys
from typing import NoReturn, TextIO

from ensample.simulation.tasks import do

__all__ = ["main"]


def main(tasks: TextIO, done: TextIO) -> None:
    """Until there are no more lines, or the one who writes them has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started us: it ends us
    signal.signal(signal.SIGTERM, end)
    answers = os.fdopen(os.dup(done.fileno()), "w")
    sys.stdout = sys.stderr  # a task that prints must not answer
    for line in tasks:
        do(line.rstrip("\n"))
        print(line, end="", file=answers, flush=True)


def end(number: int, frame: object) -> NoReturn:
    """So that a file that is being written is removed."""
    raise SystemExit(128 + number)
