"""A process that is forked for each line it reads: it imports next to nothing, so that `prompt` says what is imported."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn


def fork_for_each_line(become: Callable[..., NoReturn]) -> None:
    """Let a child become what a line of JSON says, and print its exit code, until there are no more lines."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            become(**json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def take_streams(paths: Iterable[str]) -> None:
    """Read nothing, and write output and errors to these files."""
    opened = [
        os.open(os.devnull, os.O_RDONLY),
        *(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600) for path in paths),
    ]
    for number, stream in enumerate(opened):
        os.dup2(stream, number)
