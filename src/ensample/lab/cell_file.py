"""The file of a cell: Parquet, a row a run; and plain files, which are never reached by a link."""

import errno
import hashlib
import io
import itertools
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.lab.cell import DIGITS, Definition, digest
from ensample.simulation.plan import RunArrays

NAME = re.compile(rf"([0-9a-f]{{{DIGITS}}})-([1-9][0-9]{{0,9}})-([0-9a-f]{{{DIGITS}}})\.parquet")


class CellFile(NamedTuple):
    """File of runs 0 to `runs - 1` of a cell. Its name has these, and a checksum of its bytes."""

    path: Path
    digest: str  # of the cell's definition
    runs: int


def name_of(definition: Definition, results: RunArrays, content: bytes) -> str:
    """Return `<definition>-<runs>-<checksum>.parquet`."""
    return f"{digest(definition)}-{len(results.regret)}-{checksum(content)}.parquet"


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def intact_file(path: Path) -> CellFile | None:
    """Return a file whose bytes fit its name; None if it is damaged, or no file of ours."""
    name = NAME.fullmatch(path.name)
    if name is None or not is_plain(path) or checksum(read_plain(path)) != name[3]:
        return None
    return CellFile(path, name[1], int(name[2]))


def as_parquet(definition: Definition, results: RunArrays, checkpoints: list[int]) -> bytes:
    """Return columns run, regret [C] and, for numbered arms, pulls [K]."""
    import polars

    runs, marks = results.regret.shape
    regret = polars.Series(results.regret, dtype=polars.Array(polars.Float64, marks))
    columns: dict[str, Any] = {"run": np.arange(runs, dtype=np.uint32), "regret": regret}
    if results.pulls is not None:
        counts = results.pulls.astype(np.uint32)
        columns["pulls"] = polars.Series(counts, dtype=polars.Array(polars.UInt32, counts.shape[1]))
    about = {"definition": definition, "evaluation": results.evaluation, "checkpoints": checkpoints}
    metadata = {"ensample": json.dumps(about, sort_keys=True)}
    buffer = io.BytesIO()
    polars.DataFrame(columns).write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


def read(file: CellFile) -> tuple[RunArrays, list[int]]:
    """Return (results, checkpoints). How long runs took is in the journal, not here."""
    import polars

    content = read_plain(file.path)
    about = json.loads(polars.read_parquet_metadata(io.BytesIO(content))["ensample"])
    frame = polars.read_parquet(io.BytesIO(content))
    if (digest(about["definition"]), len(frame)) != (file.digest, file.runs):
        holds = f"{len(frame)} runs of {about['definition']}"
        expected = f"what its name says, and the file holds {holds}"
        raise InvalidArgument("folder", str(file.path), expected)
    regret, seconds = frame["regret"].to_numpy(), np.full(len(frame), np.nan)
    pulls = frame["pulls"].to_numpy() if "pulls" in frame.columns else None
    return RunArrays(regret, seconds, pulls, about["evaluation"]), about["checkpoints"]


def open_plain(path: Path, flags: int) -> int:
    """Return a descriptor of a regular file: no link is followed, no pipe waited for."""
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
    """Return True if a regular file is there, rather than a link, a folder, a pipe or nothing."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def set_aside(path: Path) -> None:
    """Rename `abc-6-def.parquet` to `abc-6-def.damaged`, `.link` or `.folder`, as what it is."""
    kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "damaged"
    names = itertools.chain([f".{kind}"], (f".{kind}-{count}" for count in itertools.count(2)))
    path.rename(next(free for free in map(path.with_suffix, names) if not os.path.lexists(free)))
