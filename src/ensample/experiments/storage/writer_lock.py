"""One writer at a time."""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ensample.errors import InvalidArgument, StorageError

try:
    import fcntl
except ImportError:  # Windows: the database's own locks are all there is
    fcntl = None  # type: ignore[assignment]


class WriterLock:
    """Held on `path-lock`, a file of its own: closing another handle of the database itself would
    drop its locks.

    Who lets go of it takes the file away first. So a lock counts only if it is on the file that the
    name stands for.
    """

    def __init__(self, path: Path) -> None:
        self._path = f"{os.fspath(path)}-lock"
        self._file: BinaryIO | None = None
        if fcntl is None or not path.parent.is_dir():
            return
        while self._file is None:
            try:
                self._file = self._taken()
            except BlockingIOError:
                expected = "an experiment that is not open elsewhere: it has one writer"
                raise InvalidArgument("path", os.fspath(path), expected) from None
            except OSError as error:
                raise StorageError(error.errno, error.strerror, os.fspath(path)) from error

    def _taken(self) -> BinaryIO | None:
        """The file, locked; None where it was taken away meanwhile."""
        file = open(self._path, "ab")  # noqa: SIM115 (held until release)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(self._path)):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()
        return None

    def release(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.unlink(self._path)
            self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """Close the file in the child of a fork. The parent keeps the lock while it lives."""
        if self._file is not None:
            self._file.close()
            self._file = None
