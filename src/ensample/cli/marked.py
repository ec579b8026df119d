"""Pages with a part that a command writes."""

from pathlib import Path

from ensample.checks import file_path
from ensample.errors import InvalidArgument


def marked_page(path: Path, begin: str, end: str) -> str:
    """A page with a null character in the place of what stands between two lines."""
    text = file_path("markdown", path).read_text(encoding="utf-8") if path.is_file() else ""
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InvalidArgument("markdown", str(path), f"a page with the lines {begin!r} and {end!r}")
    return f"{before}\0{after}"
