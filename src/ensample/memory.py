"""Memory: arrays that begin at a cache line, and a check that something could ever fit."""

import math
import os
from pathlib import Path

import numpy as np

from ensample.errors import InvalidArgument
from ensample.types import FloatArray

SMALL = 1 << 28  # bytes that nobody asks the system about
GIB = 1 << 30
LINE = 8  # doubles in a cache line


def aligned(*shapes: tuple[int, ...]) -> list[FloatArray]:
    """Return arrays of zeros that each begin at a cache line.

    Rows that straddle two cache lines take half as long again to read.
    """
    sizes = [math.prod(shape) for shape in shapes]
    buffer = np.zeros(sum(sizes) + LINE * (1 + len(sizes)))
    start = -buffer.ctypes.data // 8 % LINE
    arrays = []
    for shape, size in zip(shapes, sizes, strict=True):
        arrays.append(buffer[start : start + size].reshape(shape))
        start += -(-size // LINE) * LINE
    return arrays


def check_memory(argument: str, value: object, numbers: int) -> None:
    """Raise, before they are made, on more numbers than all of the memory holds."""
    needed = 8 * numbers
    if needed <= SMALL:
        return
    there = memory_bytes()
    if there is not None and needed > there:
        sizes = f"{needed / GIB:,.1f} GiB or more are needed, and there are {there / GIB:,.1f} GiB"
        raise InvalidArgument(argument, value, f"what fits in memory: {sizes}")


def memory_bytes() -> int | None:
    """All of the memory, used or not, or the limit of a container where there is one; None where nobody says."""
    return min(
        (size for size in (system_bytes(), container_bytes()) if size is not None), default=None
    )


def system_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def container_bytes() -> int | None:
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # no limit is written as "max"
        return None
