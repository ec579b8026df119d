"""Copies of a service's files, made while it runs."""

import tarfile
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from ensample.experiments.storage.sqlite_reader import read_only, refused
from ensample.extras import package
from ensample.files import check_file, write_whole
from ensample.service.store import FILE, experiments_in


def backed_up(data: Path, file: Path) -> list[str]:
    """The names of the experiments that the tar file has. Keys are in it too, as hashes."""
    apsw = package("apsw", "a backup")
    found = experiments_in(data)
    check_file("file", file)
    sources = [*found.values(), *([data / FILE] if (data / FILE).is_file() else [])]

    def write(target: BinaryIO) -> None:
        with (
            tempfile.TemporaryDirectory(dir=file.absolute().parent) as folder,
            tarfile.open(fileobj=target, mode="w") as tar,
        ):
            for source in sources:
                copy = Path(folder, source.name)
                copied(apsw, source, copy)
                tar.add(copy, str(source.relative_to(data)))
                copy.unlink()

    write_whole(file, write)
    return list(found)


def copied(apsw: Any, source: Path, target: Path, alone: bool = False) -> None:
    """Read within one transaction, so that writers change nothing. `alone`: nobody writes."""
    with refused(apsw, source):
        reading = read_only(apsw, source, alone)
        reading.set_busy_timeout(5_000)
        writing = apsw.Connection(str(target))
        try:
            with writing.backup("main", reading, "main") as backup:
                backup.step()  # all of it
        finally:
            writing.close()
            reading.close()
