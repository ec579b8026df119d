"""Figures as files and in notebooks."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ensample.errors import InvalidArgument
from ensample.files import write_whole
from ensample.report.style import house_style

NOTEBOOK_DPI, SHARPNESS = 100.0, 2.0  # pixels an inch on the page; pixels of the picture for each


class NotebookFigure(Figure):
    """Figure that notebooks show, whether or not pyplot has been imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        with house_style(**{"savefig.dpi": SHARPNESS * NOTEBOOK_DPI}):
            data = rendered(self, "png")
        width, height = (round(NOTEBOOK_DPI * float(size)) for size in self.get_size_inches())
        return data, {"width": width, "height": height}


def rendered(figure: Figure, kind: str, transparent: bool = False) -> bytes:
    """Return the figure as PNG or SVG, without a date or a version that would change the bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata, transparent=transparent)
    return buffer.getvalue()


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg; the same figure gives the same bytes."""
    with house_style():
        drawn = {f"{name}.{kind}": rendered(figure, kind) for kind in ("png", "svg")}
    return write_files(folder, drawn)


def write_files(folder: Path, files: Mapping[str, bytes], follow: bool = False) -> list[Path]:
    """Write files into a folder, each whole or not at all; they replace links unless `follow`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_whole(folder / name, data, follow=follow)
    except OSError as error:
        expected = f"a directory to write in: {error.strerror or error}"
        raise InvalidArgument("out", str(folder), expected) from None
    return [folder / name for name in files]
