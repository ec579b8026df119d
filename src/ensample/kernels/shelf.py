"""Folders for machine code on disk, named by what the code is made from: other sources are another folder.

A file is written in one step and checked when it is read, a folder that nobody needs any more is removed, and nothing here
raises: where no folder can be used, kernels are compiled again.
"""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np

__all__ = ["Home", "Shelf", "homes", "sources_digest", "tools_digest"]

WEEK = 7 * 24 * 3600.0
CHECK = sha256().digest_size  # bytes at the beginning of a file
FOLDER = re.compile(r"ensample-([0-9a-f]{16})-[0-9a-f]{16}")  # sources, tools
FILE = re.compile(r"[\w.]+-[0-9a-f]{16}\.code(\.[0-9a-f]{32})?")  # the last part: not yet complete
NUMBA_FILE = re.compile(r"\w.*\.py3\d+\w*\.(nbi|\d+\.nbc)")


class Home(NamedTuple):
    """Where one installation has its folders."""

    path: Path
    beside: bool  # the sources, so that code of other sources is needed by nobody


class Shelf:
    """The folder of these sources and tools, in the first home that will have it."""

    def __init__(self, sources: str, tools: str, homes: Iterable[Home]) -> None:
        self.sources = sources
        self.name = f"ensample-{sources}-{tools}"
        self.homes = list(homes)

    def read(self, file: str) -> bytes | None:
        """From any home: one that may not be written to may have been filled by somebody who could."""
        for home in self.homes if self.current() else ():
            with suppress(OSError):
                data = (home.path / self.name / file).read_bytes()
                if sha256(data[CHECK:]).digest() == data[:CHECK]:
                    with suppress(OSError):
                        os.utime(home.path / self.name)  # used today, says `needless`
                    return data[CHECK:]
        return None

    def write(self, file: str, data: bytes) -> None:
        """Into the first home that can be written to."""
        for home in self.homes if self.current() else ():
            with suppress(OSError):
                self.prepare(home)
                put(home.path / self.name / file, sha256(data).digest() + data)
                return

    def usable(self) -> bool:
        """Whether there is a place for what is written; nothing but a folder is made on the way."""
        for home in self.homes if self.current() else ():
            with suppress(OSError):
                self.prepare(home)
                if os.access(home.path / self.name, os.W_OK | os.X_OK):
                    return True
        return False

    def current(self) -> bool:
        """Whether the sources are what they were; an upgrade may come while they are imported, and a mixture fits no folder."""
        return sources_digest() == self.sources

    def prepare(self, home: Home) -> None:
        """Make the folder. Where it is new, something was upgraded, and an older folder may have become needless."""
        home.path.mkdir(parents=True, exist_ok=True)
        try:
            (home.path / self.name).mkdir()
        except FileExistsError:
            return
        with suppress(OSError):
            self.sweep(home)

    def sweep(self, home: Home) -> None:
        """Remove what nobody needs. A process that still runs older code does without: it compiles again."""
        with os.scandir(home.path) as entries:
            for entry in entries:
                with suppress(OSError):  # another process may be sweeping, too
                    if self.needless(home, entry):
                        remove_folder(Path(entry.path))
                    elif home.beside and NUMBA_FILE.fullmatch(entry.name):  # of version 0.1, by numba's own cache
                        os.unlink(entry.path)

    def needless(self, home: Home, entry: os.DirEntry[str]) -> bool:
        """Whether it is a folder of other sources that were here, or one that has not been used for a week.

        Elsewhere than beside the sources, a container with another version may have its sources under the same path.
        """
        named = FOLDER.fullmatch(entry.name)
        if not named or entry.name == self.name or not entry.is_dir(follow_symlinks=False):
            return False
        replaced = home.beside and named[1] != self.sources
        return replaced or entry.stat(follow_symlinks=False).st_mtime < time.time() - WEEK


def put(path: Path, data: bytes) -> None:
    """Write a file in one step."""
    incomplete = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        incomplete.write_bytes(data)
        os.replace(incomplete, path)
    except BaseException:
        with suppress(OSError):
            incomplete.unlink()
        raise


def remove_folder(folder: Path) -> None:
    """With our files in it; if there are others, it stays, and they do."""
    for file in folder.iterdir():
        if FILE.fullmatch(file.name):
            file.unlink(missing_ok=True)
    folder.rmdir()


def digest(parts: Iterable[bytes]) -> str:
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:16]


def sources_digest() -> str:
    """Of every file that a kernel is compiled from; empty where an importer shows none."""
    try:
        package = resources.files("ensample")
        folders = (package / "kernels", package / "simulation" / "algorithms")
        files = {
            f"{folder.name}/{file.name}": file.read_bytes()
            for folder in folders
            if folder.is_dir()
            for file in folder.iterdir()
            if file.name.endswith(".py")
        }
    except Exception:  # importers of zipped and frozen programs raise what they like
        return ""
    return digest(part for name in sorted(files) for part in (name.encode(), files[name])) if files else ""


def tools_digest() -> str:
    """Of what makes machine code from sources, and of who reads it."""
    python = f"{sys.implementation.name} {sys.version_info} {getattr(sys, 'abiflags', '')}"
    return digest(tool.encode() for tool in (python, numba.__version__, llvmlite.__version__, np.__version__))


def homes() -> Iterator[Home]:
    """Where NUMBA_CACHE_DIR says; beside the sources; in the user's cache directory, if site-packages are read-only."""
    kernels = Path(os.path.abspath(__file__)).parent
    place = digest([os.fsencode(kernels)])
    chosen = getattr(numba.config, "CACHE_DIR", "")
    if chosen:
        yield Home(Path(os.path.abspath(chosen), f"ensample-{place}"), beside=False)
    yield Home(kernels / "__pycache__", beside=True)
    if user_caches().is_absolute():
        yield Home(user_caches() / "ensample" / place, beside=False)


def user_caches() -> Path:
    """The platform's directory for what programs can make again."""
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    named = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path(os.path.expanduser("~/.cache"))
