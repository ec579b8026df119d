"""Python with numba in it, at once: forked from a process that has imported numba and has compiled something with it.

Of the second and a half of a process that calls one small kernel, all but a tenth is numba's beginning. The package is not
imported before the fork: a copy of it is found as a process from scratch would find it, by these variables and PYTHONPATH.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import NoReturn

import numba
from numba.core import config

from forking import fork_for_each_line, take_streams

__all__ = ["run_forked"]


def run_forked(code: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run `code` with these variables and no others, as `python -c` would."""
    with tempfile.TemporaryDirectory() as place:
        streams = [str(Path(place, name)) for name in ("output", "errors")]
        process = server()
        assert process.stdin is not None and process.stdout is not None
        print(json.dumps({"code": code, "environment": environment, "streams": streams}), file=process.stdin, flush=True)
        status = int(process.stdout.readline())
        return subprocess.CompletedProcess(["-c"], status, *(Path(stream).read_text() for stream in streams))


@cache
def server() -> "subprocess.Popen[str]":
    """It ends with this process, when there is nobody left to write to it."""
    code = f"import sys; sys.path.insert(1, {os.path.dirname(__file__)!r}); import forked; del sys.path[1]; forked.serve()"
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=plain)


def serve() -> None:
    numba.njit(error_model="numpy")(some_kernel)(0.5, 3)
    gc.freeze()
    fork_for_each_line(become)


def some_kernel(base: float, count: int) -> float:
    """What numba imports when it first compiles, it imports for this."""
    return min(1.0, base / count)


def become(code: str, environment: dict[str, str], streams: list[str]) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    take_streams(streams)
    status = 0
    try:
        exec(code, {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
