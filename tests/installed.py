"""Copies of the package to change, and processes that run them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ensample
from forked import run_forked

__all__ = [
    "PACKAGE",
    "copied",
    "edit",
    "finish",
    "kernels_copied",
    "read_only",
    "run",
    "run_soon",
    "start",
    "without_compiling",
]

PACKAGE = Path(ensample.__file__).parent


def copied(target: Path) -> Path:
    """The package in a folder, with the bytecode that there is and no machine code; returns the package there."""
    return shutil.copytree(PACKAGE, target / "ensample", ignore=shutil.ignore_patterns("ensample-*", "*.pyc.*"))


def read_only(package: Path) -> Path:
    """No folder for machine code can be made where there is a file, not even by root."""
    shutil.rmtree(package / "kernels" / "__pycache__", ignore_errors=True)
    (package / "kernels" / "__pycache__").touch()
    return package


def kernels_copied(target: Path) -> Path:
    """The same with a package that imports nothing by itself: processes that need only kernels start sooner."""
    package = copied(target)
    (package / "__init__.py").write_text("")
    return package


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} is not in {file.name} once"
    file.write_text(text.replace(old, new))


def start(code: str, python: str | Path = sys.executable, **environment: object) -> subprocess.Popen[str]:
    """A process that runs `code`, with these variables instead of what this one has about caches."""
    variables = surroundings(environment)
    return subprocess.Popen([str(python), "-c", code], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def surroundings(given: dict[str, object]) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
    return ours | {name: str(value) for name, value in given.items()}


def finish(process: subprocess.Popen[str]) -> Any:
    """What a process printed as JSON; its errors and warnings under "said" if that is a table."""
    out, said = process.communicate()
    return answered(process.returncode, out, said)


def answered(code: int, out: str, said: str) -> Any:
    assert code == 0, said
    answer = json.loads(out)
    return {**answer, "said": said} if isinstance(answer, dict) else answer


def run(code: str, python: str | Path = sys.executable, **environment: object) -> Any:
    """The same, from the beginning to the end, in a process from scratch."""
    return finish(start(code, python, **environment))


def run_soon(code: str, **environment: object) -> Any:
    """The same in a process that has numba already."""
    done = run_forked(code, surroundings(environment))
    return answered(done.returncode, done.stdout, done.stderr)


def without_compiling(said: str) -> str:
    """What a command said, but for the line that it says where a test is the first to need some kernel."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("compiling, once for each installation"))
