"""One writer at a time."""

import os
from pathlib import Path
from typing import BinaryIO

from ensample.errors import InvalidArgument, StorageError

try:
    import fcntl
except ImportError:  # Windows: the database's own locks are all there is
    fcntl = None  # type: ignore[assignment]

__all__ = ["WriterLock"]


class WriterLock:
    """Held on `path-lock`, a file of its own: closing another handle of the database itself would drop its locks."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = None
        if fcntl is None or not path.parent.is_dir():
            return
        try:
            file = open(f"{os.fspath(path)}-lock", "ab")  # noqa: SIM115 (held until release)
        except OSError as error:
            raise StorageError(error.errno, error.strerror, os.fspath(path)) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InvalidArgument(
                "path", os.fspath(path), "an experiment that is not open elsewhere: it has one writer"
            ) from None
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
