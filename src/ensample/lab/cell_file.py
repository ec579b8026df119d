"""The file of a cell: Parquet, a row a run."""

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.lab.definition import DIGITS, Definition, digest
from ensample.lab.files import is_plain, read_plain
from ensample.lab.work import Block

NAME = re.compile(rf"([0-9a-f]{{{DIGITS}}})-([1-9][0-9]{{0,9}})-([0-9a-f]{{{DIGITS}}})\.parquet")


class CellFile(NamedTuple):
    """Where runs 0 to `runs - 1` of a cell are. The name says it, and the checksum of all the bytes."""

    path: Path
    digest: str  # of the cell's definition
    runs: int


def name_of(definition: Definition, block: Block, content: bytes) -> str:
    """`<definition>-<runs>-<checksum>.parquet`."""
    return f"{digest(definition)}-{len(block.regret)}-{checksum(content)}.parquet"


def found_at(path: Path) -> CellFile | None:
    """A file whose bytes fit its name, or None: it is damaged, or no file of ours."""
    name = NAME.fullmatch(path.name)
    if name is None or not is_plain(path) or checksum(read_plain(path)) != name[3]:
        return None
    return CellFile(path, name[1], int(name[2]))


def as_parquet(definition: Definition, block: Block, marks: list[int]) -> bytes:
    """Columns run, regret [C] and, for numbered arms, pulls [K]."""
    import polars

    columns: dict[str, Any] = {
        "run": np.arange(len(block.regret), dtype=np.uint32),
        "regret": polars.Series(
            block.regret, dtype=polars.Array(polars.Float64, block.regret.shape[1])
        ),
    }
    if block.pulls is not None:
        counts = block.pulls.astype(np.uint32)
        columns["pulls"] = polars.Series(counts, dtype=polars.Array(polars.UInt32, counts.shape[1]))
    about = {"definition": definition, "evaluation": block.evaluation, "checkpoints": marks}
    buffer = io.BytesIO()
    polars.DataFrame(columns).write_parquet(
        buffer, metadata={"ensample": json.dumps(about, sort_keys=True)}
    )
    return buffer.getvalue()


def read(file: CellFile) -> tuple[Block, list[int]]:
    """(what the runs gave, checkpoints). How long they took is in the journal, not here."""
    import polars

    content = read_plain(file.path)
    about = json.loads(polars.read_parquet_metadata(io.BytesIO(content))["ensample"])
    frame = polars.read_parquet(io.BytesIO(content))
    if (digest(about["definition"]), len(frame)) != (file.digest, file.runs):
        holds = f"{len(frame)} runs of {about['definition']}"
        raise InvalidArgument(
            "folder", str(file.path), f"what its name says, and the file holds {holds}"
        )
    pulls = frame["pulls"].to_numpy() if "pulls" in frame.columns else None
    return Block(
        about["evaluation"], frame["regret"].to_numpy(), pulls, np.full(len(frame), np.nan)
    ), about["checkpoints"]


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]
