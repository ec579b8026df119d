"""A folder of results: one Parquet file for each finished cell, whole or not there.

    study.json     the study and the version that ran it
    study.toml     the file it came from, if there was one
    journal.jsonl  sessions (version, machine, environment) and the times of cells
    cells/<definition>-<runs>-<checksum>.parquet

A cell is found by the digest of its definition, whatever its number and its labels: so cells stay
when the grid around them changes. A file is renamed to its name when it is safely on disk: a cell
is finished if and only if the file is there with all runs of the study, and its bytes fit the
checksum. A cell that gets more runs gets another file, and only then loses the shorter one.
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
from ensample.lab.cell_file import (
    CellFile,
    as_parquet,
    intact_file,
    is_plain,
    name_of,
    open_plain,
    set_aside,
)
from ensample.lab.changes import Changes, changes_between, outlook
from ensample.lab.journal import StudyJournal
from ensample.lab.study import Study
from ensample.simulation.plan import RunArrays
from ensample.version import NUMBERS, __version__

FORMAT = 2  # of the folder; the first one knew cells by their numbers
MADE_BY = ("ensample", "numbers", "format", "code")  # keys of study.json beside those of the study
WORDS = ("question", "baseline", "published")  # keys of a study that change no number


class StudyStore:
    """The results of one study in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells = folder / "cells"
        self.journal = StudyJournal(folder / "journal.jsonl")

    @contextmanager
    def opened(self, study: Study, grow: bool = False) -> Iterator[None]:
        """Keep the folder for this study and this process; change its study only to `grow` it."""
        with self._errors_named():
            self.cells.mkdir(parents=True, exist_ok=True)
            sync(self.folder.parent)  # the new folder's name too
            lock = open_plain(self.folder / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            lock_folder(lock, self.folder)
            with self._errors_named():
                self._claim(study, grow)
                self._tidy()
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Raise errors of the system as errors of the folder."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            expected = f"a folder one can write in, with room ({reason}); finished cells are safe"
            raise InvalidArgument("out", str(self.folder), expected) from error

    def _claim(self, study: Study, grow: bool) -> None:
        """Write the study's description, unless the folder is another study's."""
        changes = self.changes(study)
        if changes and not grow:
            expected = "the study that the folder holds, another --out, or --grow (grow=True) to"
            raise self._refusal(study, f"{expected} change it:\n{changes}\n{self.outlook(study)}")
        if changes is None and any(self.cells.iterdir()):
            raise self._refusal(study, "a folder of this study, or a new one")
        made_by = {"ensample": __version__, "numbers": NUMBERS, "format": FORMAT}
        description = made_by | {"code": study.own_code} | study.describe()
        self._write("study.json", f"{json.dumps(description, indent=1)}\n")
        if study.text:
            self._write("study.toml", study.text)
        elif changes:  # the file describes the study before
            (self.folder / "study.toml").unlink(missing_ok=True)
        if changes:
            counts = {kind: len(getattr(changes, kind)) for kind in ("added", "changed", "dropped")}
            self.journal.note(event="grown", runs=study.runs, **counts)

    def _refusal(self, study: Study, expected: str) -> StudyError:
        return StudyError(study.source, "out", str(self.folder), expected)

    def _write(self, name: str, text: str) -> None:
        write_whole(self.folder / name, text.encode(), follow=False)

    def changes(self, study: Study) -> Changes | None:
        """Return the changes from the folder's study to this one; None for a new folder."""
        if not (self.folder / "study.json").exists():
            return None
        found = self.description()
        if (found["ensample"], found["numbers"]) != (__version__, NUMBERS):
            theirs = f"{found['ensample']} (numbers {found['numbers']})"
            ours = f"{__version__} (numbers {NUMBERS})"
            expected = "another --out: the folder has results of ensample"
            raise self._refusal(study, f"{expected} {theirs}, and this is {ours}")
        # Do not build the folder's grid in the usual case that nothing has changed.
        same = deciding(found) == deciding(study.describe())
        digests = code_of(found).items()
        same &= all(study.own_code.get(module, digest) == digest for module, digest in digests)
        return Changes() if same else changes_between(self.study(), study)

    def outlook(self, study: Study) -> str:
        """Describe what running the study means here."""
        return outlook(study, {digest: file.runs for digest, file in self.held().items()})

    def study(self) -> Study:
        """Return the study that the folder holds."""
        found = self.description()
        given = {key: value for key, value in found.items() if key not in MADE_BY}
        try:
            return Study(**given, source=str(self.folder), code=code_of(found))
        except TypeError as error:
            expected = f"a folder of results; its study.json is damaged ({error})"
            raise InvalidArgument("folder", str(self.folder), expected) from None

    def description(self) -> dict[str, Any]:
        """Return the content of study.json."""
        expected = "a folder of results, with a study in study.json"
        path = self.folder / "study.json"
        try:
            if path.exists() and not path.is_file():  # reading from a pipe would wait
                raise OSError("study.json is not a file")
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidArgument("folder", str(self.folder), f"{expected} ({error})") from None
        if not isinstance(found, dict) or not all(key in found for key in MADE_BY[:2]):
            raise InvalidArgument("folder", str(self.folder), expected)
        if found.get("format", 1) != FORMAT:
            other = "the release that filled it reads this one"
            expected = f"a folder of results in format {FORMAT}; {other}"
            raise InvalidArgument("folder", str(self.folder), expected)
        return found

    def _tidy(self) -> None:
        """Remove what a killed process left half-written, and what is no file as a journal."""
        sweep(self.folder)
        sweep(self.cells)
        if os.path.lexists(self.journal.path) and not is_plain(self.journal.path):
            set_aside(self.journal.path)

    def held(self, repair: bool = False) -> dict[str, CellFile]:
        """Return the files of cells by digest, also of cells that the study no longer has.

        With `repair`, damaged files, links and folders are set aside, and files that a longer one
        has replaced are removed.
        """
        found: dict[str, CellFile] = {}
        with self._errors_named():
            for path in sorted(self.cells.glob("*.parquet")):
                file = intact_file(path)
                if file is None:
                    if repair:
                        set_aside(path)
                    continue
                both = (file, found.get(file.digest, file))
                shorter, longer = sorted(both, key=lambda one: one.runs)
                found[file.digest] = longer
                if repair and shorter != longer:
                    shorter.path.unlink()
        return found

    def finished(self, study: Study) -> set[int]:
        """Return the numbers of the cells that have all their runs."""
        full = {digest for digest, file in self.held().items() if file.runs >= study.runs}
        return {number for number, digest in enumerate(study.digests) if digest in full}

    def write(
        self,
        study: Study,
        cell: Cell,
        results: RunArrays,
        checkpoints: list[int],
        before: CellFile | None = None,
    ) -> None:
        """Store a finished cell, and remove the file of fewer runs that there was before."""
        definition = study.definition(cell)
        content = as_parquet(definition, results, checkpoints)
        # On one thread: the median over the runs of this session.
        cost = float(np.nanmedian(results.seconds)) / cell.horizon
        key = study.digests[cell.number]
        self.note(event="cell", cell=key, name=cell.name, seconds_per_round=cost)
        path = self.cells / name_of(definition, results, content)
        with self._errors_named():
            write_whole(path, content, follow=False, tidy=False)
            if before is not None:
                before.path.unlink(missing_ok=True)

    def note(self, **event: Any) -> None:
        """Add a line to the journal."""
        with self._errors_named():
            self.journal.note(**event)


def code_of(description: dict[str, Any]) -> dict[str, str]:
    """Return the hashes of modules in study.json."""
    code = description.get("code")
    pairs = code.items() if isinstance(code, dict) else ()
    return {str(module): str(digest) for module, digest in pairs}


def deciding(description: dict[str, Any]) -> str:
    """Return all that the numbers may depend on, as text that can be compared."""
    left_out = MADE_BY + WORDS
    kept = {key: value for key, value in description.items() if key not in left_out}
    return json.dumps(kept, sort_keys=True)


def lock_folder(lock: int, folder: Path) -> None:
    """Raise if another process fills the folder; its lock ends with the process."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        expected = "a folder that no other process is writing to"
        raise InvalidArgument("out", str(folder), expected) from None
