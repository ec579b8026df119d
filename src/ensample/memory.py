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
CONTAINER = Path("/sys/fs/cgroup")


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
    """Return the size of the memory, or the limit of the container; None if unknown."""
    return min(
        (size for size in (system_bytes(), container_bytes()) if size is not None), default=None
    )


def system_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def container_bytes(name: str = "memory.max") -> int | None:
    try:
        return int((CONTAINER / name).read_text())
    except (OSError, ValueError):  # no limit is written as "max"
        return None


def free_megabytes() -> float | None:
    """Return the memory that is free for new work, within the limit of a container."""
    limit, used = container_bytes(), container_bytes("memory.current")
    free = [free_system_bytes(), None if limit is None or used is None else limit - used]
    known = [size for size in free if size is not None]
    return min(known) / 1e6 if known else None


def free_system_bytes() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return 1024 * int(next(found))
    except (OSError, StopIteration):
        return system_bytes()  # where nobody tells what is free
