"""Disks that fail: one that forgets what was not synced, one that is full. File systems of SQLite's, through apsw."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import apsw

NUMBERS = count()

Image = dict[str, bytes]
"""What is on the disk: the content of each file by name."""


class Outage(NamedTuple):
    """What a power loss between two syncs would leave, and how many answers had been given when it came."""

    image: Image
    answers: int


class Forgetful(apsw.VFS):
    """Keeps, for each moment between two syncs, what would be left of the files if the power went off then.

    What was written since the last sync of a file is lost; or, as disks may write in any order, some of it is there.
    """

    def __init__(self, seed: int = 0) -> None:
        self.name = f"forgetful-{next(NUMBERS)}"
        super().__init__(self.name, "")
        self.durable: dict[str, bytearray] = {}
        self.pending: dict[
            str, list[tuple[int, bytes] | int]
        ] = {}  # writes and truncations since the last sync
        self.outages: list[Outage] = []
        self.answers = 0  # given so far, as the test counts them
        self.rng = random.Random(seed)

    def xOpen(self, name: Any, flags: list[int]) -> "ForgetfulFile":  # noqa: N802 (SQLite's names)
        path = name if isinstance(name, str) or name is None else name.filename()
        return ForgetfulFile(self, name, flags, Path(path or "temporary").name)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(name, syncdir)
        self.pending.pop(Path(name).name, None)
        if syncdir:
            self.durable.pop(Path(name).name, None)

    def watch(self) -> None:
        """Note what a power loss right now would leave."""
        self.outages.append(
            Outage({name: bytes(data) for name, data in self.durable.items()}, self.answers)
        )
        survived = {name: bytearray(data) for name, data in self.durable.items()}
        for name, changes in self.pending.items():
            for change in changes:
                if self.rng.random() < 0.5:
                    made(survived.setdefault(name, bytearray()), change)
        self.outages.append(
            Outage({name: bytes(data) for name, data in survived.items()}, self.answers)
        )

    def sync(self, name: str) -> None:
        self.watch()
        for change in self.pending.pop(name, []):
            made(self.durable.setdefault(name, bytearray()), change)
        self.durable.setdefault(name, bytearray())
        self.watch()


class ForgetfulFile(apsw.VFSFile):
    def __init__(self, disk: Forgetful, name: Any, flags: list[int], short: str) -> None:
        super().__init__("", name, flags)
        self.disk, self.short = disk, short

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self.disk.pending.setdefault(self.short, []).append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        self.disk.pending.setdefault(self.short, []).append(size)

    def xSync(self, flags: int) -> bool:  # noqa: N802
        done = super().xSync(flags)
        self.disk.sync(self.short)
        return done


def made(data: bytearray, change: tuple[int, bytes] | int) -> None:
    """A write or a truncation."""
    if isinstance(change, int):
        del data[change:]
        return
    offset, written = change
    data.extend(bytes(max(0, offset + len(written) - len(data))))
    data[offset : offset + len(written)] = written


class Small(apsw.VFS):
    """A disk with room for so many bytes more."""

    def __init__(self) -> None:
        self.name = f"small-{next(NUMBERS)}"
        super().__init__(self.name, "")
        self.room: float = float("inf")

    def xOpen(self, name: Any, flags: list[int]) -> "SmallFile":  # noqa: N802
        return SmallFile(self, name, flags)


class SmallFile(apsw.VFSFile):
    def __init__(self, disk: Small, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        new = max(0, offset + len(data) - self.xFileSize())
        if new > self.disk.room:
            raise apsw.FullError("no room")
        self.disk.room -= new
        super().xWrite(data, offset)


class Failing(apsw.VFS):
    """A disk that fails to write, or to sync, while it is told to."""

    def __init__(self) -> None:
        self.name = f"failing-{next(NUMBERS)}"
        super().__init__(self.name, "")
        self.fails = ""  # or "write" or "sync"

    def xOpen(self, name: Any, flags: list[int]) -> "FailingFile":  # noqa: N802
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: Failing, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self.disk.fails == "write":
            raise apsw.IOError("it does not write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> bool:  # noqa: N802
        if self.disk.fails == "sync":
            raise apsw.IOError("it does not sync")
        return super().xSync(flags)


@contextmanager
def disk(kind: type[Any]) -> Iterator[Any]:
    """A file system that SQLite knows by its name as long as this lasts."""
    made_here = kind()
    try:
        yield made_here
    finally:
        made_here.unregister()


def laid_out(image: Image, folder: Path) -> Path:
    """The files of an image in a folder."""
    folder.mkdir()
    for name, data in image.items():
        (folder / name).write_bytes(data)
    return folder
