"""A folder of results: one Parquet file for each finished cell, whole or not there.

    study.json        the study and the version that ran it; study.toml is the file it came from, if there was one
    journal.jsonl     what happened: sessions (version, machine, environment) and finished cells (time they took)
    cells/0007-<checksum>.parquet

A cell's file carries the checksum of its bytes in its name and is renamed to it when it is safely on disk: a cell is finished
if and only if the file is there and its bytes fit its name. A link or a folder in its place is no file.
"""

import difflib
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, StudyError
from ensample.lab.cell import Cell
from ensample.lab.files import is_plain, open_plain, read_plain, set_aside, sync, write
from ensample.lab.journal import Journal
from ensample.lab.study import Study
from ensample.lab.work import Block
from ensample.version import NUMBERS, __version__

__all__ = ["Store"]

DIGITS = 20  # of a checksum in hexadecimal


class Store:
    """The results of one study in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"
        self.journal = Journal(folder / "journal.jsonl")

    @property
    def study_file(self) -> Path:
        return self.folder / "study.json"

    @contextmanager
    def opened(self, study: Study) -> Iterator[None]:
        """Make the folder this study's own, for this process alone."""
        with self._blamed():
            self.cells.mkdir(parents=True, exist_ok=True)
            sync(self.folder.parent)  # the new folder's name too
            lock = open_plain(self.folder / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            only_user(lock, self.folder)
            with self._blamed():
                self._claim(study)
                self._sweep()
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """The system's errors in here are the folder's."""
        try:
            yield
        except OSError as error:
            expected = f"a folder one can write in, with room ({error.strerror or error}); finished cells are safe"
            raise InvalidArgument("out", str(self.folder), expected) from error

    def _claim(self, study: Study) -> None:
        now = {"ensample": __version__, "numbers": NUMBERS} | study.describe()
        if self.study_file.exists():
            lines = difference(self.description(), now)
            if lines:
                expected = "the study that the folder holds, or another --out; they differ:\n" + "\n".join(lines)
                raise StudyError(study.source, "out", str(self.folder), expected)
        elif any(self.cells.iterdir()):
            raise StudyError(study.source, "out", str(self.folder), "a folder of this study, or a new one")
        write(self.study_file, (json.dumps(now, indent=1) + "\n").encode())
        if study.text:
            write(self.folder / "study.toml", study.text.encode())

    def description(self) -> dict[str, Any]:
        """The study that the folder holds, as data."""
        try:
            found = json.loads(self._study_text())
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidArgument("folder", str(self.folder), f"a folder of results, with study.json ({error})") from None
        if not isinstance(found, dict):
            raise InvalidArgument("folder", str(self.folder), "a folder of results, with a study in study.json")
        return found

    def _study_text(self) -> str:
        if self.study_file.exists() and not self.study_file.is_file():  # to read from a pipe would be to wait
            raise OSError("study.json is not a file")
        return self.study_file.read_text(encoding="utf-8")

    def _sweep(self) -> None:
        """Remove what a killed process left half-written, and put aside what is in the journal's place."""
        for left in (*self.cells.glob(".*.part"), *self.folder.glob(".*.part")):
            if is_plain(left):
                left.unlink()
        if os.path.lexists(self.journal.path) and not is_plain(self.journal.path):
            set_aside(self.journal.path)

    def finished(self, repair: bool = False) -> dict[int, Path]:
        """The finished cells by number; with `repair`, damaged files, links and folders are moved out of the way."""
        found: dict[int, Path] = {}
        with self._blamed():
            for path in sorted(self.cells.glob("*.parquet")):
                number, _, checksum = path.stem.partition("-")
                if number.isdecimal() and is_plain(path) and checksum_of(read_plain(path)) == checksum:
                    found[int(number)] = path
                elif repair:
                    set_aside(path)
        return found

    def write(self, cell: Cell, block: Block, marks: list[int]) -> None:
        """Keep a finished cell."""
        content = as_parquet(cell, block, marks)
        self.note(event="cell", cell=cell.number, seconds_per_round=cost(cell, block))
        with self._blamed():
            write(self.cells / f"{cell.number:04d}-{checksum_of(content)}.parquet", content)

    def note(self, **event: Any) -> None:
        """Add a line to the journal."""
        with self._blamed():
            self.journal.note(**event)


def difference(theirs: dict[str, Any], mine: dict[str, Any]) -> list[str]:
    """What differs among all that decides the numbers; words about them may change."""
    texts = (
        json.dumps(
            {key: value for key, value in side.items() if key not in ("question", "baseline", "published")},
            indent=1,
            sort_keys=True,
        )
        for side in (theirs, mine)
    )
    before, after = (text.splitlines() for text in texts)
    return list(difflib.unified_diff(before, after, "in the folder", "now", n=1, lineterm=""))


def as_parquet(cell: Cell, block: Block, marks: list[int]) -> bytes:
    """Columns run, regret [C] and, for numbered arms, pulls [K]."""
    import polars

    columns: dict[str, Any] = {
        "run": np.arange(len(block.regret), dtype=np.uint32),
        "regret": polars.Series(block.regret, dtype=polars.Array(polars.Float64, block.regret.shape[1])),
    }
    if block.pulls is not None:
        counts = block.pulls.astype(np.uint32)
        columns["pulls"] = polars.Series(counts, dtype=polars.Array(polars.UInt32, counts.shape[1]))
    about = {"cell": cell.number, "name": cell.name, "evaluation": block.evaluation, "checkpoints": marks}
    buffer = io.BytesIO()
    polars.DataFrame(columns).write_parquet(buffer, metadata={"ensample": json.dumps(about)})
    return buffer.getvalue()


def cost(cell: Cell, block: Block) -> float:
    """Seconds a round of one thread; the median of the runs, because the first may wait for a compiler."""
    return float(np.median(block.seconds)) / cell.horizon


def checksum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def only_user(lock: int, folder: Path) -> None:
    """Two processes must not fill one folder; the lock goes with the process, however it ends."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidArgument("out", str(folder), "a folder that no other process is writing to") from None
