"""Figures and texts on disk, each whole or not there."""

import io
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from ensample.errors import InvalidArgument
from ensample.files import write_whole
from ensample.report.drawing.style import house_style


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg, each whole or not at all; the same figure gives the same bytes."""
    with house_style():
        drawn = {".png": rendered(figure, "png"), ".svg": rendered(figure, "svg")}
    return keep(folder, {f"{name}{ending}": data for ending, data in drawn.items()})


def keep(folder: Path, files: Mapping[str, bytes], follow: bool = False) -> list[Path]:
    """Write files into a folder, which is made if it is not there. They take the place of links unless `follow`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_whole(folder / name, data, follow=follow)
    except OSError as error:
        raise InvalidArgument(
            "out", str(folder), f"a directory to write in: {error.strerror or error}"
        ) from None
    return [folder / name for name in files]


def rendered(figure: Figure, kind: str, transparent: bool = False) -> bytes:
    """As PNG or SVG, without a date or a version that would change the bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata, transparent=transparent)
    return buffer.getvalue()
