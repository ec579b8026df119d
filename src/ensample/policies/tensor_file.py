"""Named arrays in a file of the safetensors format, read with suspicion.

    8 bytes   the length of the header, little-endian
    header    JSON: {"__metadata__": {name: text}, array: {"dtype": "F64", "shape": [7, 3], "data_offsets": [0, 168]}, ...}
    data      the arrays' bytes, little-endian, one after the other without gaps

What the header declares is compared with the file before anything of that size is read or made. All is read from one open
file, and not mapped to memory: what was checked is what is used, also if another process replaces or cuts the file meanwhile.
"""

import json
import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensample.errors import SnapshotError, WrongType
from ensample.policies.plain_json import plain_json

Tensors = dict[str, NDArray[Any]]

KINDS = {
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    "BOOL": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in KINDS.items()}
LONGEST_HEADER = 100_000_000  # bytes, as the format says
MOST_DIMENSIONS = 8
LARGEST_ARRAY = 1 << 62  # bytes; only empty arrays can declare more, in their other dimensions


class Header(NamedTuple):
    """What a file says of itself; its arrays are not looked at yet."""

    metadata: dict[str, str]
    arrays: dict[str, Any]
    size: int  # of the data in bytes, as it is


class Extent(NamedTuple):
    """Where an array is."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file; a pipe or a device would not begin, or not end."""
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115 (closed below)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"expected a snapshot file ({error})") from error
    with file:
        if not os.path.isfile(file.fileno()):
            raise SnapshotError("expected a snapshot file, not a device or a pipe")
        try:
            yield file
        except OSError as error:
            raise SnapshotError(f"expected a file that can be read ({error})") from error


def read_header(file: BinaryIO) -> Header:
    """The header of a file, if it has one."""
    size = os.fstat(file.fileno()).st_size - 8
    start = file.read(8)
    if len(start) < 8:
        raise SnapshotError.about(
            "the file's length", len(start), "8 bytes or more: not a snapshot, or cut short"
        )
    length = struct.unpack("<Q", start)[0]
    if length > min(size, LONGEST_HEADER):
        raise SnapshotError.about(
            "the header's length",
            length,
            f"at most {min(size, LONGEST_HEADER)} bytes: not a snapshot, or cut short",
        )
    found = plain_json("the header", file.read(length))
    if not isinstance(found, dict):
        raise SnapshotError.about("the header", found, "an object")
    metadata = found.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(text, str) for text in metadata.values()
    ):
        raise SnapshotError.about("the header's __metadata__", metadata, "an object of texts")
    return Header(metadata, found, size - length)


def read_tensors(file: BinaryIO, header: Header) -> Tensors:
    """All arrays, once it is sure that they fill the file without gaps; read-only."""
    extents = sorted(
        (extent(name, entry) for name, entry in header.arrays.items()),
        key=lambda one: (one.begin, one.end),
    )
    reached = 0
    for one in extents:
        if one.begin != reached:
            raise SnapshotError.about(
                f"{one.name}: data_offsets", (one.begin, one.end), f"to begin at {reached}"
            )
        reached = one.end
    if reached != header.size:
        raise SnapshotError.about(
            "the data's length",
            header.size,
            f"{reached} bytes, as the header says: damaged or cut short",
        )
    try:
        data = file.read(reached + 1)
    except MemoryError:
        raise SnapshotError.about("the data's length", reached, "what fits in memory") from None
    if len(data) != reached:
        raise SnapshotError.about(
            "the data's length", len(data), f"{reached} bytes: the file was changed meanwhile"
        )
    return {one.name: array_at(one, data) for one in extents}


def extent(name: str, entry: Any) -> Extent:
    """An array's place from its entry in the header."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise SnapshotError.about(f"the header's {name!r}", entry, "dtype, shape and data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise SnapshotError.about(f"{name}: dtype", kind, f"one of {', '.join(KINDS)}")
    if not whole_numbers(shape) or len(shape) > MOST_DIMENSIONS:
        raise SnapshotError.about(
            f"{name}: shape", shape, f"at most {MOST_DIMENSIONS} whole numbers >= 0"
        )
    if not whole_numbers(offsets) or len(offsets) != 2:
        raise SnapshotError.about(f"{name}: data_offsets", offsets, "two whole numbers >= 0")
    dtype = KINDS[kind]
    if math.prod(max(length, 1) for length in shape) * dtype.itemsize > LARGEST_ARRAY:
        raise SnapshotError.about(f"{name}: shape", shape, "an array of a possible size")
    begin, end = offsets
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise SnapshotError.about(
            f"{name}: data_offsets", offsets, f"the bytes of a {kind} array of shape {shape}"
        )
    return Extent(name, dtype, tuple(shape), begin, end)


def whole_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def array_at(one: Extent, data: bytes) -> NDArray[Any]:
    values = np.frombuffer(data, one.dtype, math.prod(one.shape), one.begin).reshape(one.shape)
    if one.dtype == np.bool_ and np.any(values.view(np.uint8) > 1):
        raise SnapshotError.about(one.name, values.view(np.uint8), "bytes of 0 or 1")
    return values


def write_tensors(file: BinaryIO, arrays: Tensors, metadata: dict[str, str]) -> None:
    """Header and data; arrays of wide types first, so that each begins at a multiple of its type's width."""
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {
            "dtype": NAMES[arrays[name].dtype],
            "shape": arrays[name].shape,
            "data_offsets": (begin, end),
        }
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    file.write(struct.pack("<Q", len(content)) + content)
    for name in names:
        file.write(arrays[name].reshape(-1).view(np.uint8).data)


def storable(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """An array as files have it: contiguous, little-endian and of a known type."""
    dtype = values.dtype.newbyteorder("<")
    if dtype not in NAMES:
        raise WrongType(name, values, f"an array of one of {', '.join(KINDS)}")
    return np.asarray(values, dtype, order="C")
