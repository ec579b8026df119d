"""`ensample` at a shell's prompt.

Each command is a process of its own, with its own folder, environment, output, errors and exit
code. It is forked from one that has imported what takes long: a command takes a tenth of a second
instead of one. Where it matters how Python starts, in another locale or without some packages,
there is one such process for each way to start. What asks which modules a command imports needs a
process from scratch.
"""

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import typer

from ensample.errors import EnsampleError

ENSAMPLE = [sys.executable, "-c", "from ensample.cli.main import main; main()"]
PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}
AHEAD = (
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "polars",
    "rich.progress",
    "rich.table",
    "scipy.special",
    "typer.rich_utils",
    "ensample.claims",
    "ensample.lab",
    "ensample.report.study",
)  # not ensample.cli, which looks at its terminal when it is imported


class Start(NamedTuple):
    """How Python starts."""

    environment: tuple[tuple[str, str], ...] = ()  # variables that it looks at then
    missing: tuple[str, ...] = ()  # packages that are not installed
    encoding: str = "utf-8"  # of what it prints


USUAL = Start()


def ensample(
    *arguments: object,
    folder: Path | None = None,
    program: str = "-c",
    start: Start = USUAL,
    **environment: object,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, as `subprocess.run` would, in `folder` or else in an empty one.

    `program` is the name that it is called by.
    """
    words = [program, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as place:
        empty = Path(place, "empty")
        empty.mkdir()
        streams = [Path(place, name) for name in ("output", "errors")]
        variables = surroundings(start) | {name: str(value) for name, value in environment.items()}
        asked = {
            "words": [sent(word) for word in words],
            "folder": sent(str(folder or empty)),
            "environment": {sent(name): sent(value) for name, value in variables.items()},
            "streams": [str(stream) for stream in streams],
        }
        server = forking(start)
        assert server.stdin is not None and server.stdout is not None
        print(json.dumps(asked), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        shown = [stream.read_bytes().decode(start.encoding) for stream in streams]
    return subprocess.CompletedProcess(words, code, *shown)


def sent(text: str) -> str:
    """The bytes that a process would get, one a letter: what they mean depends on its locale."""
    return os.fsencode(text).decode("latin-1")


def received(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def surroundings(start: Start) -> dict[str, str]:
    """The variables of this process, but for its locale where another one is asked for."""
    usual = {
        name: value
        for name, value in os.environ.items()
        if not (start.environment and name.startswith(("LC_", "LANG")))
    }
    return usual | dict(start.environment)


@cache
def forking(start: Start) -> "subprocess.Popen[str]":
    """Start the process that commands are forked from. It ends when this one does."""
    code = f"import sys; sys.path[1:] = {sys.path!r}; import prompt; prompt.serve({start.missing})"
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True, env=surroundings(start)
    )


def serve(missing: tuple[str, ...]) -> None:
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]
    for name in AHEAD:
        with suppress(ImportError, EnsampleError):
            importlib.import_module(name)
    simulate_once()
    typer.main.get_command(typer.Typer(callback=some_command))  # which imports more
    gc.collect()
    gc.freeze()  # otherwise collecting garbage would copy all memory into every command
    fork_for_each_line(become)


def fork_for_each_line(become: Callable[..., NoReturn]) -> None:
    """Fork a child for each line of JSON, which describes it, and print its exit code."""
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


def some_command(number: int = 3) -> None:
    """As ours, with an option that is a number."""


def simulate_once() -> None:
    """Import what the first simulation imports."""
    import ensample as es

    for recipe in (es.Greedy(), es.EnsembleSampling(3), es.ThompsonSampling()):
        es.simulate(recipe, es.problem("sphere", dim=2, arms=3), 1, threads=1)


def become(
    words: list[str], folder: str, environment: dict[str, str], streams: list[str]
) -> NoReturn:
    """The command: nothing of what it was forked from is seen by it."""
    os.chdir(received(folder))
    os.environ.clear()
    os.environ.update({received(name): received(value) for name, value in environment.items()})
    take_streams(streams)
    sys.argv = [received(word) for word in words]
    os._exit(exit_code())


def exit_code() -> Any:
    from ensample.cli.main import main

    code: Any = 0
    try:
        main()
    except SystemExit as ending:
        code = ending.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0
