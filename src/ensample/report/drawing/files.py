"""Figures and texts on disk, each whole or not there."""

import io
import os
from pathlib import Path

from matplotlib.figure import Figure

from ensample.errors import InvalidArgument
from ensample.report.drawing.style import house_style

__all__ = ["rendered", "save", "written"]


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg, each whole or not at all; the same figure gives the same bytes."""
    with house_style():
        drawn = {".png": rendered(figure, "png"), ".svg": rendered(figure, "svg")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [written(folder / f"{name}{ending}", data) for ending, data in drawn.items()]
    except OSError as error:
        raise InvalidArgument("out", str(folder), f"a directory to write in: {error}") from None


def rendered(figure: Figure, kind: str, transparent: bool = False) -> bytes:
    """As PNG or SVG, without a date or a version that would change the bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata, transparent=transparent)
    return buffer.getvalue()


def written(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
