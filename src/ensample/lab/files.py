"""What is in a folder of results: plain files, none through a link to somewhere else."""

import errno
import itertools
import os
import stat
from pathlib import Path


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of the regular file at this very place: links are not followed, and nothing waits for the end of a pipe."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{path.name} is a link, not a file") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"{path.name} is not a file")
    return descriptor


def read_plain(path: Path) -> bytes:
    with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        return file.read()


def is_plain(path: Path) -> bool:
    """Whether a regular file is there, rather than a link, a folder, a pipe or nothing."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def set_aside(path: Path) -> None:
    """Move what is there to a name that says what it is: `abc-6-def.parquet` to `abc-6-def.damaged`, `.link` or `.folder`."""
    kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "damaged"
    names = itertools.chain([f".{kind}"], (f".{kind}-{count}" for count in itertools.count(2)))
    path.rename(next(free for free in map(path.with_suffix, names) if not os.path.lexists(free)))
