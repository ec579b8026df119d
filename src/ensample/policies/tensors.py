"""Named arrays as bytes of the safetensors format, and their checksum."""

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.errors import SnapshotError, WrongType

Tensors = dict[str, NDArray[Any]]

KINDS = "bool, 32 or 64 bit floats, or whole numbers of 8 to 64 bits"


def storable(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return an array as files have it: contiguous, little-endian and of a known type."""
    dtype = values.dtype.newbyteorder("<")
    if dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        raise WrongType(name, values, f"an array of {KINDS}")
    return np.asarray(values, dtype, order="C")


def tensors_to_bytes(tensors: Tensors, metadata: dict[str, str]) -> bytes:
    """Return the content of a safetensors file."""
    from safetensors.numpy import save  # only those who save or load wait for it

    return save(tensors, metadata)


def tensors_from_bytes(content: bytes) -> tuple[dict[str, str], Tensors]:
    """Return metadata and arrays of a safetensors file, or raise `SnapshotError`."""
    from safetensors.numpy import load

    try:
        tensors = load(content)
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
    except Exception as error:  # of the library, of NumPy, or of the header's JSON
        expected = "a safetensors file that is whole"
        raise SnapshotError(f"expected {expected} ({type(error).__name__}: {error})") from None
    for name, values in tensors.items():
        if values.dtype == np.bool_ and (values.view(np.uint8) > 1).any():
            raise SnapshotError.about(name, values.view(np.uint8), "bytes of 0 or 1")
    return metadata, tensors


def checksum(content: str, tensors: Tensors) -> str:
    """Return the SHA-256 of a text and arrays. It notices damage, but not deceit."""
    digest = hashlib.sha256(content.encode(errors="surrogatepass"))
    for name in sorted(tensors):
        values = tensors[name]
        digest.update(f"{name} {values.dtype} {values.shape}".encode(errors="surrogatepass"))
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
