"""Files that are written whole or not at all.

A file is filled under another name in the same folder, `.ensample-<random>.part`, and renamed when
it is safely on the disk. Its writer holds a lock on it meanwhile. The system lets go of a lock when
its holder ends, however that ends, so that whoever writes to the folder next can tell what a killed
writer left from what is being written right now, by any process of any user or container. (A
process's number would be used again or mean another one in a container; an age would be a guess.)
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ensample.errors import InvalidArgument, StorageError

# Short, because the file's own name may be as long as names can be.
PART = re.compile(r"\.ensample-[0-9a-f]{16}\.part")
UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR)  # what is wrong with a path itself
NO_SYNC = errno.EACCES, errno.EINVAL  # an unreadable folder, a file system without sync


def write_whole(
    path: Path,
    content: bytes | Callable[[BinaryIO], object],
    *,
    follow: bool = True,
    tidy: bool = True,
) -> None:
    """Write a file: these bytes, or what a function writes. On any error the old file stays.

    A new file has the mode that `open` gives; one that was there keeps its mode, and its owner
    where that is allowed. A link stays a link and its target is written, unless `follow` is False:
    then the file takes the link's place. Devices, pipes and folders are refused. What the system
    does not take, as on a full disk, is a `StorageError`. Without `tidy` nothing is swept: for
    folders of many files, whose owner sweeps them once.
    """
    write = content if callable(content) else (lambda file: file.write(content))
    try:
        target, old = destination(path, follow)
        if tidy:
            sweep(target.parent)
        while not replace(target, old, write):
            pass
        sync(target.parent)
    except OSError as error:
        raise StorageError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def check_file(argument: str, path: Path) -> None:
    """Raise, before the work, unless a file can be written at `path`. Nothing is created."""
    try:
        target, _ = destination(path)
    except InvalidArgument as error:
        which = error.expected.removeprefix("a file").lstrip(", ")  # "in a folder that exists", ...
        writable = f"a file that can be written, {which}"
        expected = error.expected if which == error.expected else writable
        raise InvalidArgument(argument, os.fspath(path), expected) from None
    except OSError as error:
        expected = f"a file that can be written ({error.strerror})"
        raise InvalidArgument(argument, os.fspath(path), expected) from None
    if not os.access(target.absolute().parent, os.W_OK | os.X_OK):  # the file is renamed into it
        expected = "a file that can be written, in a folder one can write in"
        raise InvalidArgument(argument, os.fspath(path), expected)


def check_folder(argument: str, path: Path) -> None:
    """Raise, before the work, unless `path` is or can become a folder to write in."""
    nearest = next(
        place for place in (path.absolute(), *path.absolute().parents) if os.path.lexists(place)
    )
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        expected = f"a directory one can write in, and {os.fspath(nearest)!r} is none"
        raise InvalidArgument(argument, os.fspath(path), expected)


def marked_page(path: Path, begin: str, end: str) -> str:
    """Return a page with a null character in the place of what stands between two lines."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InvalidArgument("markdown", str(path), f"a page with the lines {begin!r} and {end!r}")
    return f"{before}\0{after}"


def destination(path: Path, follow: bool = True) -> tuple[Path, os.stat_result | None]:
    """Return the file that a path stands for, and its status if it exists."""
    linked = os.path.islink(path)
    target = Path(os.path.realpath(path)) if linked and follow else path
    if linked and not follow:
        return target, None
    found: os.stat_result | None = None
    try:
        found = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise InvalidArgument(
                "path", os.fspath(path), "a file in a folder that exists"
            ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in UNUSABLE:
            raise
        raise InvalidArgument("path", os.fspath(path), f"the path of a file ({error})") from None
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise InvalidArgument("path", os.fspath(path), f"a file, not {kind_of(found.st_mode)}")
    return target, found


def kind_of(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe or socket" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else "a device"


def replace(target: Path, old: os.stat_result | None, write: Callable[[BinaryIO], object]) -> bool:
    """Write and rename a new file. Return False if a sweeper took it before it was locked."""
    part = target.with_name(f".ensample-{secrets.token_hex(8)}.part")
    mode = 0o666 if old is None else 0o600  # private until it has the old file's mode
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if not lock(part, file):
                return False
            write(file)
            file.flush()
            if old is not None:
                copy_owner_and_mode(file.fileno(), old)
            os.fsync(file.fileno())
            os.replace(part, target)
        return True
    finally:
        part.unlink(missing_ok=True)


def lock(part: Path, file: BinaryIO) -> bool:
    """Lock a file for as long as it is open. Return False if a sweeper was faster."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), part.lstat())
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks, where sweepers get none either
        return True


def copy_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner and the mode of another, as far as the system allows."""
    for owner in ((old.st_uid, -1), (-1, old.st_gid)):
        with suppress(PermissionError):
            os.fchown(descriptor, *owner)
    with suppress(PermissionError):  # file systems without modes say so
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def sweep(folder: Path) -> None:
    """Remove the files that killed writers left, where that is allowed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for name in [entry.name for entry in entries if PART.fullmatch(entry.name)]:
            with suppress(OSError):
                remove_abandoned(folder / name)


def remove_abandoned(part: Path) -> None:
    import fcntl

    descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer lives
        part.unlink()
    finally:
        os.close(descriptor)


def sync(folder: Path) -> None:
    """Sync the names in a folder to the disk."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise
