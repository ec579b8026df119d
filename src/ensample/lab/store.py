"""A folder of results: one Parquet file for each finished cell, whole or not there.

    study.json        the study and the version that ran it; study.toml is the file it came from, if there was one
    journal.jsonl     what happened: sessions (version, machine, environment) and finished cells (time they took)
    cells/<definition>-<runs>-<checksum>.parquet

A cell is found by the digest of its definition, whatever its number and its labels: so cells stay when the grid around them
changes. Its file carries the checksum of its bytes in its name and is renamed to it when it is safely on disk: a cell is
finished if and only if the file is there with all runs of the study, and its bytes fit its name. A link or a folder in its
place is no file. A cell that gets more runs gets another file, and only then loses the shorter one.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ensample.errors import InvalidArgument, StudyError
from ensample.files import sweep, sync, write_whole
from ensample.lab.cell import Cell
from ensample.lab.cell_file import CellFile, as_parquet, found_at, name_of
from ensample.lab.changes import NOTHING, Changes, changes_between, outlook
from ensample.lab.files import is_plain, open_plain, set_aside
from ensample.lab.journal import StudyJournal
from ensample.lab.study import Study
from ensample.lab.work import Block
from ensample.version import NUMBERS, __version__

FORMAT = 2  # of the folder; the first one knew cells by their numbers
MADE_BY = ("ensample", "numbers", "format", "code")  # what study.json says beside the study
WORDS = ("question", "baseline", "published")  # of a study: they change no number


class StudyStore:
    """The results of one study in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"
        self.journal = StudyJournal(folder / "journal.jsonl")

    @property
    def study_file(self) -> Path:
        return self.folder / "study.json"

    @contextmanager
    def opened(self, study: Study, grow: bool = False) -> Iterator[None]:
        """Make the folder this study's own, for this process alone; that of another study only to `grow` it."""
        with self._blamed():
            self.cells.mkdir(parents=True, exist_ok=True)
            sync(self.folder.parent)  # the new folder's name too
            lock = open_plain(self.folder / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            only_user(lock, self.folder)
            with self._blamed():
                self._claim(study, grow)
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

    def _claim(self, study: Study, grow: bool) -> None:
        changes = self.changes(study)
        if changes and not grow:
            expected = "the study that the folder holds, another --out, or --grow (grow=True) to change it:"
            said = f"{expected}\n{changes}\n{self.outlook(study)}"
            raise StudyError(study.source, "out", str(self.folder), said)
        if changes is None and any(self.cells.iterdir()):
            raise StudyError(
                study.source, "out", str(self.folder), "a folder of this study, or a new one"
            )
        now = {
            "ensample": __version__,
            "numbers": NUMBERS,
            "format": FORMAT,
            "code": study.own_code,
        } | study.describe()
        self._keep("study.json", f"{json.dumps(now, indent=1)}\n")
        if study.text:
            self._keep("study.toml", study.text)
        elif changes:  # it says what no longer is
            (self.folder / "study.toml").unlink(missing_ok=True)
        if changes:
            counts = {kind: len(getattr(changes, kind)) for kind in ("added", "changed", "dropped")}
            self.journal.note(event="grown", runs=study.runs, **counts)

    def _keep(self, name: str, text: str) -> None:
        write_whole(self.folder / name, text.encode(), follow=False)

    def changes(self, study: Study) -> Changes | None:
        """What it takes to make the study that the folder holds into this one; None for a folder that holds none."""
        if not self.study_file.exists():
            return None
        found = self.description()
        if (found["ensample"], found["numbers"]) != (__version__, NUMBERS):
            theirs, ours = (
                f"{found['ensample']} (numbers {found['numbers']})",
                f"{__version__} (numbers {NUMBERS})",
            )
            expected = (
                f"another --out: the folder has results of ensample {theirs}, and this is {ours}"
            )
            raise StudyError(study.source, "out", str(self.folder), expected)
        same = deciding(found) == deciding(
            study.describe()
        )  # the usual case, without making the other grid
        same &= all(
            study.own_code.get(module, digest) == digest
            for module, digest in self._code(found).items()
        )
        return NOTHING if same else changes_between(self.study(), study)

    def outlook(self, study: Study) -> str:
        """What running the study means here."""
        return outlook(study, {digest: file.runs for digest, file in self.held().items()})

    def study(self) -> Study:
        """The study that the folder holds."""
        found = self.description()
        given = {key: value for key, value in found.items() if key not in MADE_BY}
        try:
            return Study(**given, source=str(self.folder), code=self._code(found))
        except TypeError as error:
            expected = f"a folder of results; its study.json is damaged ({error})"
            raise InvalidArgument("folder", str(self.folder), expected) from None

    def description(self) -> dict[str, Any]:
        """The study that the folder holds, as data, and what gave its results."""
        try:
            found = json.loads(self._study_text())
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidArgument(
                "folder", str(self.folder), f"a folder of results, with study.json ({error})"
            ) from None
        if not isinstance(found, dict) or not all(key in found for key in MADE_BY[:2]):
            raise InvalidArgument(
                "folder", str(self.folder), "a folder of results, with a study in study.json"
            )
        if found.get("format", 1) != FORMAT:
            expected = (
                f"a folder of results in format {FORMAT}; the release that filled it reads this one"
            )
            raise InvalidArgument("folder", str(self.folder), expected)
        return found

    @staticmethod
    def _code(found: dict[str, Any]) -> dict[str, str]:
        code = found.get("code")
        return (
            {str(module): str(digest) for module, digest in code.items()}
            if isinstance(code, dict)
            else {}
        )

    def _study_text(self) -> str:
        if (
            self.study_file.exists() and not self.study_file.is_file()
        ):  # to read from a pipe would be to wait
            raise OSError("study.json is not a file")
        return self.study_file.read_text(encoding="utf-8")

    def _sweep(self) -> None:
        """Remove what a killed process left half-written, and put aside what is in the journal's place."""
        sweep(self.folder)
        sweep(self.cells)
        if os.path.lexists(self.journal.path) and not is_plain(self.journal.path):
            set_aside(self.journal.path)

    def held(self, repair: bool = False) -> dict[str, CellFile]:
        """What is there of each cell, by the digest of its definition; also of cells that the study no longer has.

        With `repair`, damaged files, links and folders are moved out of the way, and files that a longer one has replaced are
        removed.
        """
        found: dict[str, CellFile] = {}
        with self._blamed():
            for path in sorted(self.cells.glob("*.parquet")):
                file = found_at(path)
                if file is None:
                    if repair:
                        set_aside(path)
                    continue
                shorter, longer = sorted(
                    (file, found.get(file.digest, file)), key=lambda one: one.runs
                )
                found[file.digest] = longer
                if repair and shorter != longer:
                    shorter.path.unlink()
        return found

    def finished(self, study: Study) -> set[int]:
        """The numbers of the cells that have all their runs."""
        held = self.held()
        there = {digest for digest, file in held.items() if file.runs >= study.runs}
        return {
            cell.number
            for cell, digest in zip(study.cells, study.digests, strict=True)
            if digest in there
        }

    def write(
        self,
        study: Study,
        cell: Cell,
        block: Block,
        marks: list[int],
        before: CellFile | None = None,
    ) -> None:
        """Keep a finished cell, in the place of the fewer runs that there were before."""
        definition = study.definition(cell)
        content = as_parquet(definition, block, marks)
        self.note(
            event="cell",
            cell=study.digests[cell.number],
            name=cell.name,
            seconds_per_round=cost(cell, block),
        )
        with self._blamed():
            write_whole(
                self.cells / name_of(definition, block, content), content, follow=False, tidy=False
            )
            if before is not None:
                before.path.unlink(missing_ok=True)

    def note(self, **event: Any) -> None:
        """Add a line to the journal."""
        with self._blamed():
            self.journal.note(**event)


def deciding(description: dict[str, Any]) -> str:
    """All that the numbers may depend on, as text that can be compared."""
    return json.dumps(
        {key: value for key, value in description.items() if key not in MADE_BY + WORDS},
        sort_keys=True,
    )


def cost(cell: Cell, block: Block) -> float:
    """Return the seconds a round takes on one thread: the median over the runs of this session."""
    return float(np.nanmedian(block.seconds)) / cell.horizon


def only_user(lock: int, folder: Path) -> None:
    """Two processes must not fill one folder; the lock goes with the process, however it ends."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidArgument(
            "out", str(folder), "a folder that no other process is writing to"
        ) from None
